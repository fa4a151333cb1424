package lb_test

import (
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// slowRead lets the next read of a CLB take so long, as one in the background may that waits for its share of the
// budget. It returns when that has begun.
func (w *world) slowRead(d time.Duration) {
	w.t.Helper()
	var begun atomic.Bool
	w.cloud.Interpose(func(_ int, method string, _ proto.Message) gatewaytest.Fault {
		if method == "GetLoadBalancer" && !begun.Swap(true) {
			<-time.After(d)
		}
		return gatewaytest.Fault{}
	})
	for range 6 * 3600 {
		if <-time.After(time.Second); begun.Load() {
			return
		}
	}
	w.t.Fatal("no CLB was read")
}

// within waits until something holds, and reports how long that took.
func within(what func() bool) time.Duration {
	start := time.Now()
	for !what() && time.Since(start) < 10*time.Minute {
		<-time.After(10 * time.Millisecond)
	}
	return time.Since(start)
}

// TestNothingWaitsForABackgroundRead: neither a pod nor a user waits while a CLB is verified that waits for its turn at
// the gateway, not either on a CLB that several Services share.
func TestNothingWaitsForABackgroundRead(t *testing.T) {
	const long, soon = 100 * time.Second, time.Second
	inWorld(t, 3, func(w *world) {
		w.pods(pod("10.0.0.1", "node-1"), pod("10.0.0.2", "node-2"))
		w.create(web(local))
		w.slowRead(long)
		w.cloud.ResetCalls()
		w.endpoints("web", pod("10.0.0.2", "node-2"))
		if took := within(func() bool { return len(w.servers()) == 1 }); took > soon {
			t.Errorf("the server of a dead pod stayed for %s", took)
		}
		w.after(time.Minute)
		check(t, "the check is made after that", true, len(w.cloud.CallsOf("GetLoadBalancer")) > 0)
		w.after(long)
	})
	inWorld(t, 2, func(w *world) {
		w.create(web())
		w.slowRead(long)
		w.patch("web", annotate(annotation.Prefix+annotation.Scheduler, "wrr"))
		if took := within(func() bool { return w.onlyListener().GetScheduler() == "wrr" }); took > soon {
			t.Errorf("a user waited for %s", took)
		}
		w.after(long)
	})
	inWorld(t, 2, func(w *world) {
		w.usersCLB(usersLB)
		w.create(web(naming(usersLB), override))
		w.create(api(81, naming(usersLB), override))
		w.slowRead(long)
		for _, name := range []string{"web", "api"} {
			svc, err := w.kube.CoreV1().Services("default").Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			port := svc.Spec.Ports[0]
			port.Name, port.Port, port.NodePort = "more", port.Port+1000, port.NodePort+1000
			svc.Spec.Ports = append(svc.Spec.Ports, port)
			if _, err := w.kube.CoreV1().Services("default").Update(t.Context(), svc, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		if took := within(func() bool { return len(w.listeners()) == 5 }); took > soon {
			t.Errorf("users of a shared CLB waited for %s: %v", took, w.listeners())
		}
		w.after(long)
	})
}
