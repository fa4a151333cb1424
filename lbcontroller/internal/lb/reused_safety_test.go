package lb_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
)

// TestNoteThatTheCacheDoesNotShow: a user changes his mind while a change is under way for the first CLB, of which the cache doesn't show
// yet that it was noted. Nothing of the Service is left there, wherever it goes.
func TestNoteThatTheCacheDoesNotShow(t *testing.T) {
	for name, mind := range map[string]map[string]any{
		"another load balancer": annotate(annotation.Prefix+annotation.ID, "lb-next"),
		"none": {
			"metadata": map[string]any{"annotations": map[string]any{annotation.Prefix + annotation.ID: nil}},
			"spec":     map[string]any{"type": corev1.ServiceTypeClusterIP},
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, func(w *world) {
				w.usersCLB(usersLB)
				w.usersCLB("lb-next")
				w.create(web(naming("lb-missing"), override))
				w.lag(func() time.Duration { return time.Second })
				w.restart()
				w.after(10 * time.Minute)
				w.patch("web", annotate(annotation.Prefix+annotation.ID, usersLB))
				w.after(900 * time.Millisecond)
				w.patch("web", mind)
				w.after(10 * time.Minute)
				check(t, "the first", []string{usersListener, usersGroup}, w.parts(usersLB))
				for _, event := range w.events.take() {
					if strings.Contains(event, "changed meanwhile") || strings.Contains(event, "modified") {
						t.Errorf("an event reports a race: %s", event)
					}
				}
				if name == "none" {
					check(t, "finalizers", 0, len(w.service().Finalizers))
					return
				}
				check(t, "ingress", 1, len(w.service().Status.LoadBalancer.Ingress))
				w.clearStatus()
				w.after(time.Minute)
				check(t, "the first", []string{usersListener, usersGroup}, w.parts(usersLB))
				check(t, "the second", true, slices.Contains(w.parts("lb-next"), ourListener))
			})
		})
	}
}

// TestStaleCacheBuysNothing: no CLB is made for what the cache shows of a Service that has named another since.
func TestStaleCacheBuysNothing(t *testing.T) {
	for name, change := range map[string]map[string]any{
		"names a load balancer": annotate(annotation.Prefix+annotation.ID, usersLB),
		"wants none":            {"spec": map[string]any{"type": corev1.ServiceTypeClusterIP}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, func(w *world) {
				w.usersCLB(usersLB)
				w.lag(func() time.Duration { return time.Second })
				w.restart()
				if err := w.kube.Tracker().Add(web()); err != nil {
					t.Fatal(err)
				}
				w.after(900 * time.Millisecond)
				w.patch("web", change)
				w.after(time.Minute)
				check(t, "creations", false, slices.Contains(w.calls(), "CreateLoadBalancer"))
				check(t, "instances", 1, len(w.instances()))
			})
		})
	}
}

// TestNoteIsNotOverwritten: a note of claims that the cache doesn't show is not replaced by what follows from an older one.
func TestNoteIsNotOverwritten(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web(func(svc *corev1.Service) { svc.Spec.Type = corev1.ServiceTypeClusterIP }))
		w.patch("web", annotate(annotation.Claims, "lb-1"))
		old := w.service()
		w.patch("web", annotate(annotation.Claims, "lb-2"))
		change := controller.Notes{Annotations: map[string]string{annotation.Claims: "lb-3"}, Exact: []string{annotation.Claims}}
		p := controller.Writer{Client: w.kube, Finalizer: Finalizer}
		_, err := p.Note(t.Context(), old, change)
		for what, err := range map[string]error{"note": err, "status": p.Publish(t.Context(), old, controller.Publication{Notes: change})} {
			check(t, what, true, controller.Superseded(err))
		}
		check(t, "note", "lb-2", w.service().Annotations[annotation.Claims])
		if err := p.Publish(t.Context(), w.service(), controller.Publication{Notes: change}); err != nil {
			t.Error(err)
		}
		check(t, "note of the latest", "lb-3", w.service().Annotations[annotation.Claims])
	})
}

// TestEditsFasterThanTheCache: a user changes his mind while a change is under way, of which the cache doesn't show yet
// what was noted. Nothing that the first annotation put on the CLB stays there.
func TestEditsFasterThanTheCache(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web())
		w.lag(func() time.Duration { return time.Second })
		w.restart()
		edit := func(annotations map[string]any) {
			w.patch("web", map[string]any{"metadata": map[string]any{"annotations": annotations}})
		}
		edit(map[string]any{annotation.Prefix + annotation.AdditionalTags: "team=blue", annotation.Prefix + annotation.EstablishedTimeout: "60"})
		w.after(900 * time.Millisecond)
		edit(map[string]any{
			annotation.Prefix + annotation.AdditionalTags: "owner=red", annotation.Prefix + annotation.EstablishedTimeout: nil,
			annotation.Prefix + annotation.Scheduler: "wrr",
		})
		w.after(600 * time.Millisecond)
		// When the next pass ends, the cache shows what it has noted itself.
		w.cloud.Interpose(func(int, string, proto.Message) gatewaytest.Fault {
			<-time.After(10 * time.Second)
			return gatewaytest.Fault{}
		})
		w.after(5 * time.Minute)
		check(t, "tags", []string{"", "red"}, []string{tagOf(w.instances()[0], "team"), tagOf(w.instances()[0], "owner")})
		w.cloud.Lock()
		defer w.cloud.Unlock()
		for _, l := range clbListeners(w.cloud.Cloud) {
			if timeout := l.Attributes["EstablishedTimeout"]; timeout == "60" || l.Attributes["Scheduler"] != "wrr" {
				t.Errorf("timeout %s, scheduler %s", timeout, l.Attributes["Scheduler"])
			}
		}
	})
}

// TestFinalizerThatTheCacheDoesNotShow: the Service is read anew to set the finalizer, and wants none any more, or another CLB. Nothing is
// made for what it was.
func TestFinalizerThatTheCacheDoesNotShow(t *testing.T) {
	for name, change := range map[string]map[string]any{
		"another": annotate(annotation.Prefix+annotation.ID, "lb-next"),
		"none":    {"spec": map[string]any{"type": corev1.ServiceTypeClusterIP}},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, func(w *world) {
				w.usersCLB(usersLB)
				w.usersCLB("lb-next")
				w.lag(func() time.Duration { return time.Second })
				w.restart()
				if err := w.kube.Tracker().Add(web(naming(usersLB), override)); err != nil {
					t.Fatal(err)
				}
				w.after(900 * time.Millisecond)
				w.patch("web", change)
				w.after(time.Minute)
				for _, c := range w.cloud.Writes() {
					if strings.Contains(fmt.Sprint(c.Request), usersLB) {
						t.Errorf("%s changes the load balancer of before: %v", c.Method, c.Request)
					}
				}
				check(t, "finalizers", name == "another", isHeld(w.service()))
			})
		})
	}
}
