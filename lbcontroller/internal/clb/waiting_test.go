package clb

import (
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/gateway/gatewaytest"
)

// slow makes every call take its time. One to a CLB waits besides until the last one has taken effect, as in the gateway.
func (w *world) slow(latency, busy time.Duration) {
	var mu sync.Mutex
	free := map[string]time.Time{} // when the next write to a CLB may begin
	w.cloud.Interpose(func(_ int, _ string, request proto.Message) gatewaytest.Fault {
		wait := latency
		id := ""
		switch r := request.(type) {
		case interface{ GetLoadBalancerId() string }:
			id = r.GetLoadBalancerId()
		case interface{ GetKey() *slbv1.ListenerKey }:
			id = r.GetKey().GetLoadBalancerId()
		}
		if id != "" {
			mu.Lock()
			begin := time.Now()
			if free[id].After(begin) {
				begin = free[id]
			}
			wait += time.Until(begin)
			free[id] = begin.Add(latency + busy)
			mu.Unlock()
		}
		<-time.After(wait)
		return gatewaytest.Fault{}
	})
}

// TestWaitingHoldsNobodyUp: 300 Services with 200 nodes have their addresses about as soon as one has, though each waits for its CLB.
func TestWaitingHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	const services = 300
	took := func(n int) (last time.Duration) {
		inWorld(t, 200, func(w *world) {
			w.slow(50*time.Millisecond, 300*time.Millisecond)
			start := time.Now()
			for i := range n {
				svc := numbered(i)
				if _, err := w.kube.CoreV1().Services(svc.Namespace).Create(t.Context(), svc, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			for ; ; w.after(50 * time.Millisecond) {
				served := 0
				for _, svc := range w.services() {
					if len(svc.Status.LoadBalancer.Ingress) > 0 {
						served++
					}
				}
				if served == n {
					last = time.Since(start)
					break
				}
				if time.Since(start) > time.Hour {
					t.Fatalf("%d of %d Services have an address after an hour", served, n)
				}
			}
		})
		return last
	}
	one, all := took(1), took(services)
	t.Logf("one Service has its address after %s, %d after %s", one, services, all)
	if all > 2*one {
		t.Errorf("%d Services take %s, one takes %s: more than twice as long", services, all, one)
	}
}
