package controller

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// TestUnshown: what is written again as it was waits, twice as long with each time, and nothing else waits for it. In the
// first second the cache trails, and the address counts as shown.
func TestUnshown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s service
		wanted := func() *Publication {
			return &Publication{
				Notes:   Notes{Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": "d"}},
				Ingress: []corev1.LoadBalancerIngress{{IP: "47.0.0.1"}},
			}
		}
		labelled := func(svc *corev1.Service) {
			svc.Labels, svc.Annotations = map[string]string{"a": "b"}, map[string]string{"c": "d"}
		}
		write := func(what string, wait time.Duration, parts int, svc *corev1.Service) *Publication {
			t.Helper()
			p := wanted()
			now, got := s.unshown(svc, p, false)
			check(t, what+": waits", wait, got)
			check(t, what+": parts", parts, len(now))
			for which, gist := range now {
				s.shows(which, gist)
			}
			return p
		}
		write("new", 0, 2, web())
		svc := web()
		p := write("at once", time.Second, 0, svc)
		check(t, "the address counts as shown", "47.0.0.1", svc.Status.LoadBalancer.Ingress[0].IP)
		check(t, "it is left alone", true, p.KeepIngress)
		check(t, "notes are left alone", 0, len(p.Notes.Labels)+len(p.Notes.Annotations))
		<-time.After(time.Second)
		write("again", 0, 1, web(labelled))
		<-time.After(time.Second)
		svc = web(labelled)
		p = write("a second later", time.Second, 0, svc)
		check(t, "the address is another client's", 0, len(svc.Status.LoadBalancer.Ingress))
		check(t, "notes stay", 2, len(p.Notes.Labels)+len(p.Notes.Annotations))
		write("only annotations are gone", time.Second, 1, web(func(svc *corev1.Service) { svc.Labels = map[string]string{"a": "b"} }))
		write("annotations are gone again", time.Second, 0, web(func(svc *corev1.Service) { svc.Labels = map[string]string{"a": "b"} }))
		for range 12 {
			<-time.After(5 * time.Minute)
			write("for long", 0, 1, web(labelled))
		}
		write("at most", lastRestore, 0, web(labelled))
		if s.calm() {
			t.Error("a fight isn't seen")
		}
		now, wait := s.unshown(web(), wanted(), true)
		check(t, "the last time", time.Duration(len(now)), wait)
		s.forgetShown()
		write("forgotten", 0, 2, web())
	})
}
