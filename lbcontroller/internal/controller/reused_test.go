package controller

import (
	"fmt"
	"hash/fnv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

const usersLB = "lb-users"

// reusing is what the existing CCM leaves of a Service that names a user's CLB: its marks, a vServer group of its own on that CLB, and
// a listener that the user made for it.
func reusing() *legacy {
	l := newLegacy()
	annotated(annotation.ID, usersLB)(l.service)
	l.service.Labels[LabelLoadBalancerID] = usersLB
	l.lb.LoadBalancerId, l.lb.Name = usersLB, "mine"
	l.lb.Tags = []*commonv1.Tag{tag("kubernetes.reused.by.user", "true")}
	l.groups[0].LoadBalancerID = usersLB
	l.listeners[0].Key.LoadBalancerId, l.listeners[0].Config.Description = usersLB, new("by hand")
	return l
}

// checkUsersCLB makes sure that the user's CLB is as it was but for our servers.
func (w *world) checkUsersCLB(servers ...string) {
	w.t.Helper()
	check(w.t, "instances", 1, len(w.instances()))
	check(w.t, "tags", "kubernetes.reused.by.user", w.instances()[0].GetTags()[0].GetKey())
	check(w.t, "servers", servers, w.servers())
	check(w.t, "protection", true, w.instances()[0].GetDeleteProtection())
}

// TestReusedCLBIsNeverDeleted: a Service that names a CLB of the user's publishes the address of that CLB, and the existing CCM has
// written its id on the Service. It isn't ours for all that: not when the Service goes, not when its annotation goes, and not when
// the tag of the existing CCM is missing.
func TestReusedCLBIsNeverDeleted(t *testing.T) {
	both := []string{"i-1:30080=100", "i-2:30080=100"}
	for name, change := range map[string]func(l *legacy){
		"marked as reused": func(*legacy) {},
		"unmarked":         func(l *legacy) { l.lb.Tags = nil },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 2, func(w *world) {
				l := reusing()
				change(l)
				l.seed(w)
				w.events.take()
				w.update(func(svc *corev1.Service) { delete(svc.Annotations, annotation.Prefix+annotation.ID) })
				events := strings.Join(w.events.take(), "\n")
				if !strings.Contains(events, usersLB) || !strings.Contains(events, "was not created for this Service") {
					t.Errorf("events when the annotation goes: %s", events)
				}
				w.remove()
				check(t, "writes", 0, len(w.cloud.Writes()))
				check(t, "instances", 1, len(w.instances()))
				check(t, "servers", both, w.servers())
				check(t, "finalizers", 0, len(w.service().Finalizers))
			})
		})
	}
	inWorld(t, 2, func(w *world) {
		reusing().seed(w)
		w.events.take()
		w.remove()
		check(t, "writes", 0, len(w.cloud.Writes()))
		w.checkUsersCLB(both...)
		check(t, "finalizers", 0, len(w.service().Finalizers))
		events := strings.Join(w.events.take(), "\n")
		if !strings.Contains(events, "Warning PreservedOnDelete CLB lb-users was not created for this Service and stays as it is") {
			t.Errorf("events: %s", events)
		}
	})
}

// TestReusedCLBKeepsItsServersRight: what the annotation asks for beyond that isn't supported, and costs one event and no write.
func TestReusedCLBKeepsItsServersRight(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		reusing().seed(w)
		check(t, "calls", []string{"GetLoadBalancer"}, w.calls())
		check(t, "events", []string{"SyncLoadBalancerFailed"}, w.events.reasons())
		w.addNode(3)
		w.settle()
		check(t, "calls for a node", []string{"ApplyServerChanges"}, w.calls())
		w.checkUsersCLB("i-1:30080=100", "i-2:30080=100", "i-3:30080=100")
		w.update(func(svc *corev1.Service) { svc.Spec.Ports[0].NodePort = 31000 })
		check(t, "calls for another port", []string(nil), w.calls())
		w.remove()
		check(t, "writes of the deletion", 0, len(w.cloud.Writes()))
		w.checkUsersCLB("i-1:30080=100", "i-2:30080=100", "i-3:30080=100")
	})
}

// TestReusedCLBIsReadSeldom: whatever the Service's share of the interval is between the checks for drift.
func TestReusedCLBIsReadSeldom(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		l := reusing()
		for n := 0; ; n++ { // The share comes from the UID; look for a tiny one.
			h := fnv.New32a()
			l.service.UID = types.UID(fmt.Sprint("reused-", n))
			h.Write([]byte(l.service.UID))
			if h.Sum32() < 1<<16 {
				break
			}
		}
		l.seed(w)
		w.calls()
		w.after(24 * time.Hour)
		if calls := w.calls(); len(calls) < 4 || len(calls) > 8 {
			t.Errorf("%d calls in a day, with checks about every four hours: %v", len(calls), calls[:min(len(calls), 10)])
		}
	})
}
