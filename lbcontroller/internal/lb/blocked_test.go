package lb_test

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway/gatewaytest"
)

// TestOneListenerStays: a listener that the cloud doesn't delete keeps no other one, nor the vServer groups of others.
func TestOneListenerStays(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.create(web(func(svc *corev1.Service) {
			for port := int32(81); port <= 83; port++ {
				svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: fmt.Sprint("p", port), Port: port,
					NodePort: 30000 + port, Protocol: corev1.ProtocolTCP})
			}
		}))
		w.cloud.Interpose(func(_ int, _ string, req proto.Message) gatewaytest.Fault {
			if d, ok := req.(*slbv1.DeleteListenerRequest); ok && d.GetKey().GetPort() == 81 {
				return gatewaytest.Fault{Before: rpcerr.Errorf(rpcerr.InvalidState, "in use")}
			}
			return gatewaytest.Fault{}
		})
		w.update(func(svc *corev1.Service) { svc.Spec.Ports = svc.Spec.Ports[:1] })
		w.after(time.Hour)
		check(t, "listeners", []string{"80/TCP", "81/TCP"}, w.listeners())
		check(t, "servers", []string{"i-1:30080=100", "i-1:30081=100", "i-2:30080=100", "i-2:30081=100"}, w.servers())
		w.hasEvents("the one that stays", "SyncLoadBalancerFailed", "in use")
	})
}
