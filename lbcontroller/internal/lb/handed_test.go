package lb_test

import (
	"testing"
	"time"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
)

// TestHandedOverIsNotDeleted: marks on the CLB decide who has it, not those that are remembered. An operator gives it
// to another cluster or to people before the Service goes.
func TestHandedOverIsNotDeleted(t *testing.T) {
	retag := func(lb *slbv1.LoadBalancer, key, value string) {
		for _, tag := range lb.GetTags() {
			if tag.GetKey() == key {
				tag.Value = value
				return
			}
		}
		lb.Tags = append(lb.Tags, tag(key, value))
	}
	tests := map[string]func(lb *slbv1.LoadBalancer){
		"another cluster": func(lb *slbv1.LoadBalancer) { retag(lb, ownership.TagCluster, "c-other") },
		"people":          func(lb *slbv1.LoadBalancer) { retag(lb, ownership.TagReused, "true") },
		"another Service": func(lb *slbv1.LoadBalancer) { retag(lb, ownership.TagService, "a0123") },
	}
	for name, change := range tests {
		for _, warm := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				inWorld(t, 2, func(w *world) {
					withRecords(w)
					w.create(web())
					w.after(time.Hour)
					w.cloud.Lock()
					for _, lb := range w.cloud.LoadBalancers {
						change(lb)
					}
					w.cloud.Unlock()
					if !warm {
						w.restart()
					}
					w.cloud.ResetCalls()
					w.remove()
					check(t, "instances left", 1, len(w.instances()))
					check(t, "writes", 0, len(w.cloud.Writes()))
					check(t, "finalizers", 0, len(w.service().Finalizers))
				})
			})
		}
	}
}
