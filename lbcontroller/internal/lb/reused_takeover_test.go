package lb_test

import (
	"fmt"
	"hash/fnv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// reusing is what the existing CCM leaves of a Service that names a user's CLB: its marks, a vServer group of its own on that CLB, and
// a listener that the user made for it.
func reusing() *legacy {
	l := newLegacy()
	naming(usersLB)(l.service)
	l.service.Labels[LabelLoadBalancerID] = usersLB
	l.lb.ID, l.lb.Name = usersLB, "mine"
	l.lb.Tags = []state.Tag{tag("kubernetes.reused.by.user", "true")}
	l.groups[0].LoadBalancerID = usersLB
	l.listeners[0].Attributes["Description"] = "by hand"
	return l
}

// TestTakeoverOfReusedCLB: what the existing CCM left costs one look and no write, and goes on from there. The CLB itself is never ours,
// and what others have bound to the Service's group stays.
func TestTakeoverOfReusedCLB(t *testing.T) {
	for name, test := range map[string]struct {
		change func(l *legacy)
		writes []string
	}{
		"marked":                {func(*legacy) {}, nil},
		"marked in other words": {func(l *legacy) { l.lb.Tags[0].Value = "yes" }, nil},
		"not marked":            {func(l *legacy) { l.lb.Tags = nil }, nil},
		"not marked, and something to change": {func(l *legacy) {
			l.lb.Tags = nil
			annotated(annotation.Name, "renamed")(l.service)
		}, []string{"UpdateLoadBalancer"}},
		"not marked, with as many tags as the existing CCM leaves alone": {func(l *legacy) {
			l.lb.Tags = nil
			for i := range 10 {
				l.lb.Tags = append(l.lb.Tags, tag(fmt.Sprint("t", i), "x"))
			}
		}, nil},
		"with listeners": {func(l *legacy) {
			override(l.service)
			l.listeners[0].Attributes["Description"] = "k8s/80/web/default/c-test"
		}, nil},
		"in a server group of the user's": {func(l *legacy) {
			annotated(annotation.VGroupPort, l.groups[0].ID+":80")(l.service)
			l.groups[0].Name = "by hand"
		}, nil},
		"in ten ports of others": {func(l *legacy) {
			for i := range 10 {
				l.groups = append(l.groups, &state.ServerGroup{ID: fmt.Sprint("rsp-x", i), LoadBalancerID: usersLB,
					Name: fmt.Sprintf("k8s/%d/api/default/c-test", 31000+i)})
			}
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 2, func(w *world) {
				l := reusing()
				test.change(l)
				l.seed(w)
				check(t, "writes", test.writes, w.writes())
				check(t, "hash", true, w.service().Labels[LabelHash] != strings.Repeat("a", 56))
				w.restart()
				check(t, "calls of the next start", []string{"ListServerGroups", "GetServerGroup"}, w.calls())
				w.addNode(3)
				w.settle()
				check(t, "calls for a node", []string{"ApplyServerChanges"}, w.calls())
				w.update(func(svc *corev1.Service) { delete(svc.Annotations, annotation.Prefix+annotation.ID) })
				check(t, "writes when the annotation goes", 0, len(w.cloud.Writes()))
				w.remove()
				check(t, "instances", 1, len(w.instances()))
				check(t, "servers", []string(nil), w.servers())
				check(t, "finalizers", 0, len(w.service().Finalizers))
				check(t, "protection", true, w.instances()[0].DeleteProtection == "on")
			})
		})
	}
}

// TestTakeoverOfPublishedManifests: the Services of the vendor's pages on sharing a CLB, as the existing CCM leaves
// them: with servers outside of the cluster, and with those of another cluster in the same vServer group. Nothing is
// written, and the others stay when the Service goes.
func TestTakeoverOfPublishedManifests(t *testing.T) {
	shared := func(weight int) func(l *legacy) {
		return func(l *legacy) {
			annotated(annotation.VGroupPort, l.groups[0].ID+":80")(l.service)
			annotated(annotation.Weight, fmt.Sprint(weight))(l.service)
			l.groups[0].Name = "by hand"
			for _, s := range l.groups[0].Servers {
				s.Weight = weight / 2
			}
			l.groups[0].Servers = append(l.groups[0].Servers, instanceServer("i-9", 31080, 100-weight,
				"k8s/31080/service-x/default/c-other"))
		}
	}
	for name, test := range map[string]struct {
		change func(l *legacy)
		stays  string
	}{
		"servers outside of the cluster": {func(l *legacy) {
			annotated(annotation.ForceOverride, "false")(l.service)
			l.groups[0].Servers = append(l.groups[0].Servers, instanceServer("i-9", 80, 100, ""))
		}, "i-9:80=100"},
		"the first of two clusters":  {shared(20), "i-9:31080=80"},
		"the second of two clusters": {shared(80), "i-9:31080=20"},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 2, func(w *world) {
				l := reusing()
				l.service.Spec.Ports[0].Name, l.service.Spec.Ports[0].TargetPort = "", intstr.FromInt32(80)
				test.change(l)
				l.seed(w)
				check(t, "writes", []string(nil), w.writes())
				check(t, "events", []string(nil), w.events.reasons())
				w.after(6 * time.Hour)
				w.restart()
				check(t, "writes of a check for drift and of the next start", []string(nil), w.writes())
				w.remove()
				check(t, "servers in the end", []string{test.stays}, w.servers())
			})
		})
	}
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
