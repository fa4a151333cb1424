package lb_test

import (
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/types"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// TestFailedLookupKeepsNoDeadPods: network interfaces that can't be looked up keep neither pods that are gone nor those that are known.
func TestFailedLookupKeepsNoDeadPods(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		for _, ip := range []string{"10.0.0.1", "10.0.0.2", "10.0.0.3"} {
			w.addENI("eni-"+ip, ip)
		}
		w.pods(pod("10.0.0.1", "node-1"), pod("10.0.0.2", "node-1"))
		w.create(web(eniMode))
		w.after(11 * time.Minute) // What is known has to be looked up again.
		var failing atomic.Bool
		failing.Store(true)
		w.cloud.Interpose(func(_ int, method string, _ proto.Message) gatewaytest.Fault {
			if failing.Load() && method == "BatchGetNetworkInterfaces" {
				return gatewaytest.Fault{Before: rpcerr.Errorf(rpcerr.Throttled, "no room").WithRetry(30 * time.Second)}
			}
			return gatewaytest.Fault{}
		})
		w.events.take()
		w.pods(pod("10.0.0.2", "node-1"), pod("10.0.0.3", "node-2"))
		check(t, "servers", []string{"eni-10.0.0.2:8080=100"}, w.servers())
		w.hasEvents("the lookup", "SyncLoadBalancerFailed", "no room")
		w.after(10 * time.Minute)
		check(t, "servers after a while", []string{"eni-10.0.0.2:8080=100"}, w.servers())
		failing.Store(false)
		w.after(time.Minute)
		check(t, "servers when it works again", []string{"eni-10.0.0.2:8080=100", "eni-10.0.0.3:8080=100"}, w.servers())
		check(t, "conditions", []string{"LoadBalancerReady=True Published", "Synced=True Synced"}, w.conditions())
	})
}

// TestAnotherEIP: an EIP that is taken off isn't published for long, as it may be another's soon.
func TestAnotherEIP(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.create(web(annotated(annotation.AddressType, "intranet")))
		id := w.instances()[0].GetLoadBalancerId()
		bind := func(eip, ip string) {
			w.cloud.Lock()
			clear(w.cloud.Eips)
			w.cloud.Eips[eip] = &vpcv1.Eip{AllocationId: eip, IpAddress: ip, InstanceType: "SlbInstance", InstanceId: id}
			w.cloud.Unlock()
		}
		bind("eip-1", "198.51.100.7")
		w.update(annotated(annotation.ExternalIPType, "eip"))
		check(t, "published", "198.51.100.7", w.service().Status.LoadBalancer.Ingress[0].IP)
		w.calls()
		bind("eip-2", "198.51.100.8")
		w.after(time.Minute)
		check(t, "published after another is bound", "198.51.100.8", w.service().Status.LoadBalancer.Ingress[0].IP)
		check(t, "calls", []string{"ListEips"}, w.calls())
	})
}

// TestLabelFight: a tool that takes the controller's labels off is answered more and more seldom, and an event says so.
func TestLabelFight(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.create(web())
		w.calls()
		w.events.take()
		for range 3600 {
			if w.service().Labels[LabelHash] != "" {
				patch := []byte(`{"metadata":{"labels":{"` + LabelHash + `":null}}}`)
				if _, err := w.kube.CoreV1().Services("default").Patch(t.Context(), "web", types.MergePatchType, patch,
					metav1.PatchOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			<-time.After(time.Second)
		}
		if n := len(w.calls()); n > 40 {
			t.Errorf("%d calls in an hour", n)
		}
		w.hasEvents("the fight", "StatusContested", LabelHash)
		w.after(time.Hour)
		check(t, "the label when it is over", true, w.service().Labels[LabelHash] != "")
	})
}
