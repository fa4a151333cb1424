package nlb_test

import (
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	simapi "alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/services/gateway/gatewaytest"
)

// TestLongCreation: an NLB that the cloud doesn't end to make is looked for once, and then looked at by its id, after
// 10 seconds at first, then when as much time again has passed, at least every 5 minutes. It serves once it is there.
func TestLongCreation(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		const takes, most = 2 * time.Hour, 5 * time.Minute
		w.set(func(s *simapi.Settings) { s.NLBActive, s.NLBJob = takes, time.Second })
		var lock sync.Mutex
		begun, made, searches, looks := time.Now(), 0, 0, []time.Duration(nil)
		w.cloud.Interpose(func(_ int, method string, _ proto.Message) gatewaytest.Fault {
			lock.Lock()
			defer lock.Unlock()
			switch method {
			case "nlb.CreateLoadBalancer":
				made++
			case "nlb.ListLoadBalancers":
				searches++
			case "nlb.GetLoadBalancer":
				looks = append(looks, time.Since(begun))
			}
			return gatewaytest.Fault{}
		})
		w.create(web())
		w.after(takes - time.Minute)
		lock.Lock()
		check(t, "creations", 1, made)
		check(t, "searches", 1, searches)
		if len(looks) < 20 || len(looks) > 30 {
			t.Errorf("%d looks in two hours: %v", len(looks), looks)
		}
		first, last := looks[0], looks[1]
		for _, look := range looks[2:] {
			// Times to the next attempt are spread by up to a fifth.
			wait, least := look-last, min(max(10*time.Second, last-first), most)
			if wait < least || wait > least+least/5+time.Second {
				t.Errorf("a look after %v, %v after the one before, want %v to a fifth more: %v", look, wait, least,
					looks)
			}
			last = look
		}
		lock.Unlock()
		w.after(time.Minute + most + most/5)
		check(t, "published", 1, len(w.service().Status.LoadBalancer.Ingress))
		lock.Lock()
		defer lock.Unlock()
		check(t, "creations in the end", 1, made)
	})
}
