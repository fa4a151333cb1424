package controller_test

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubetesting "k8s.io/client-go/testing"

	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway/gatewaytest"
	"alicloud-controllers.dev/services/kube/kubetest"
	"alicloud-controllers.dev/services/nodes"

	"alicloud-controllers.dev/nodecontroller/internal/controller"
)

// TestWrongSetUps: whatever is wrong with an installation, an event or a condition of readiness says so with the next
// step, and there is a series that an alert of the chart looks at: readiness_check for conditions, which have one each,
// and otherwise the nodes that wait.
func TestWrongSetUps(t *testing.T) {
	t.Parallel()
	refuseAll := func(reason rpcerr.Reason, message string) func(w *world) {
		return func(w *world) {
			furnished(2)(w)
			w.cloud.Interpose(func(int, string, proto.Message) gatewaytest.Fault {
				return gatewaytest.Fault{Before: &rpcerr.Error{Code: codes.PermissionDenied, Reason: reason, Message: message}}
			})
		}
	}
	byAddress := func(w *world) {
		furnished(2)(w)
		for _, name := range []string{"node-0", "node-1"} {
			w.UpdateNode(name, func(n *corev1.Node) {
				n.Spec.ProviderID = ""
				n.Annotations = map[string]string{nodes.AnnotationProvidedIP: "192.168.0.1"}
			})
		}
	}
	tests := []struct {
		name    string
		edit    func(*controller.Config)
		prepare func(w *world)
		unready []string // parts of the line of readiness; none: the replica is ready
		event   []string // the beginning of an event, and a part of it
	}{
		{
			name: "no rights in the cluster",
			prepare: func(w *world) {
				furnished(2)(w)
				w.Client.PrependReactor("list", "nodes", func(kubetesting.Action) (bool, runtime.Object, error) {
					return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "", nil)
				})
			},
			unready: []string{"caches: nodes are not listed yet: ", "forbidden", "the chart's RBAC"},
		},
		{
			name: "no rights in the cluster to approve certificates",
			edit: func(cfg *controller.Config) { cfg.ApproveServing = true },
			prepare: func(w *world) {
				w.Client.PrependReactor("list", "certificatesigningrequests", func(kubetesting.Action) (bool, runtime.Object, error) {
					return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "certificatesigningrequests"}, "", nil)
				})
			},
			unready: []string{"caches: certificate signing requests are not listed yet: ", "forbidden", "the chart's RBAC"},
		},
		{
			name: "no rights in the cloud", prepare: refuseAll(rpcerr.CloudForbidden, "the policy lacks ecs:DescribeInstances"),
			event: []string{"node-0 SyncNodeFailed: ", "by cloudgateway doctor"},
		},
		{
			name: "no rights at the gateway", prepare: refuseAll(rpcerr.CallerForbidden, "nodecontroller may not get instances"),
			event: []string{"node-0 SyncNodeFailed: ", "nodecontroller may not get instances"},
		},
		{
			name: "wrong region", prepare: furnished(2), edit: func(cfg *controller.Config) { cfg.Region = "cn-beijing" },
			event: []string{
				`node-0 SyncNodeFailed: spec.providerID "cn-hangzhou.i-0" names region cn-hangzhou, but this controller works for cn-beijing`,
				"start the kubelet with --provider-id=cn-beijing.i-0",
			},
		},
		{
			name: "wrong VPC", prepare: byAddress, edit: func(cfg *controller.Config) { cfg.VPCID = "vpc-other" },
			event: []string{"node-0 SyncNodeFailed: there is no instance in vpc-other with address 192.168.0.1",
				"start the kubelet with --provider-id=cn-hangzhou."},
		},
		{
			name: "no VPC", edit: func(cfg *controller.Config) { cfg.VPCID = "" },
			prepare: func(w *world) {
				byAddress(w)
				w.move(region, "")
			},
			event: []string{"node-0 SyncNodeFailed: the gateway does not know its VPC", "set vpcID in the configuration"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			registry := prometheus.NewRegistry()
			edit := func(cfg *controller.Config) {
				cfg.Registerer = registry
				if tt.edit != nil {
					tt.edit(cfg)
				}
			}
			run(t, edit, tt.prepare, func(w *world) {
				w.Pass(10 * time.Minute)
				var line string
				for _, c := range w.started.Checks() {
					if err := c.Check(t.Context()); err != nil {
						line += c.Name + ": " + err.Error() + "; next step: " + c.Remedy
					}
				}
				if (line == "") != (len(tt.unready) == 0) {
					t.Errorf("not ready, since %q", line)
				}
				for _, part := range tt.unready {
					if !strings.Contains(line, part) {
						t.Errorf("not ready, since %q, want %q", line, part)
					}
				}
				if len(tt.event) == 0 {
					return
				}
				if got := w.Events.Matching(tt.event[0]); len(got) == 0 || !strings.Contains(got[0], tt.event[1]) {
					t.Errorf("events %q, want %q", w.Events.Matching(""), tt.event)
				}
				if got := kubetest.Metric(t, registry, "nodecontroller_nodes")["uninitialized"]; got != 2 {
					t.Errorf("%v nodes are uninitialized, want 2", got)
				}
			})
		})
	}
}
