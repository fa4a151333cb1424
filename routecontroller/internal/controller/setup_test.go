package controller_test

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubetesting "k8s.io/client-go/testing"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/kube/kubetest"

	"alicloud-controllers.dev/routecontroller/internal/controller"
)

// unready gives the conditions of readiness that do not hold, each with its reason and what to do.
func (w *world) unready(t *testing.T) string {
	t.Helper()
	var lines []string
	for _, c := range w.started.Checks() {
		if err := c.Check(t.Context()); err != nil {
			lines = append(lines, c.Name+": "+err.Error()+"; next step: "+c.Remedy)
		}
	}
	return strings.Join(lines, "\n")
}

// TestWrongSetUps: whatever is wrong with an installation, an event or a condition of readiness says so with the next
// step, and there is a series that an alert of the chart looks at: readiness_check for conditions, which have one each,
// and otherwise the routes by state.
func TestWrongSetUps(t *testing.T) {
	t.Parallel()
	forbidden := &rpcerr.Error{Code: codes.PermissionDenied, Reason: rpcerr.CloudForbidden, Message: "the policy lacks the action"}
	tests := []struct {
		name    string
		edit    func(*controller.Config)
		nodes   func(all []*corev1.Node)
		prepare func(w *world)
		unready []string // parts of the line of readiness; none: the replica is ready
		event   []string // the beginning of an event, and a part of it
		state   string   // in which routes are then
	}{
		{
			name: "no rights in the cluster",
			prepare: func(w *world) {
				w.Client.PrependReactor("list", "nodes", func(kubetesting.Action) (bool, runtime.Object, error) {
					return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "", nil)
				})
			},
			unready: []string{"caches: nodes are not listed yet: ", "forbidden", "the chart's RBAC"},
		},
		{
			name:    "no rights in the cloud to find the tables",
			prepare: func(w *world) { w.refuse("ListRouteTables", forbidden) },
			unready: []string{"tables: route tables are not found yet: list the route tables of vpc-test: ", "the policy lacks the action"},
			event:   []string{"route-controller SyncRouteFailed: ", "by cloudgateway doctor"},
		},
		{
			name:    "no rights in the cloud to make routes",
			prepare: func(w *world) { w.refuse("BatchCreateRouteEntries", forbidden) },
			event:   []string{"node-0 CreateRouteFailed: ", "by cloudgateway doctor"}, state: "missing",
		},
		{
			name: "wrong region",
			edit: func(cfg *controller.Config) { cfg.Scope.Region = "cn-beijing" },
			event: []string{
				`node-0 CreateRouteFailed: spec.providerID "cn-hangzhou.i-0" is of another region than the route tables (cn-beijing)`,
				"else label it service.alibabacloud.com/exclude-node",
			}, state: "unusable",
		},
		{
			name:    "a VPC that is not there",
			edit:    func(cfg *controller.Config) { cfg.VPCID = "vpc-other" },
			unready: []string{"tables: route tables are not found yet: vpc-other has no route table; check vpcID"},
			event:   []string{"route-controller SyncRouteFailed: vpc-other has no route table", "check vpcID"},
		},
		{
			name: "another VPC",
			edit: func(cfg *controller.Config) { cfg.VPCID = "vpc-other" },
			prepare: func(w *world) {
				w.cloud.Sim.Update(func(c *state.Cloud) {
					c.Vpcs["vpc-other"] = &state.Vpc{ID: "vpc-other", CidrBlock: "172.16.0.0/12"}
					c.RouteTables[tableB] = &state.RouteTable{ID: tableB, VpcID: "vpc-other", Type: "System"}
				})
				w.refuse("BatchCreateRouteEntries", &rpcerr.Error{
					Code: codes.InvalidArgument, Reason: rpcerr.InvalidField, Message: "InvalidNexthop: the next hop is not in the VPC of the route table",
				})
			},
			event: []string{"node-0 CreateRouteFailed: ", "the next hop is not in the VPC of the route table"}, state: "missing",
		},
		{
			name: "no ranges of pods",
			nodes: func(all []*corev1.Node) {
				for _, n := range all {
					n.Spec.PodCIDR, n.Spec.PodCIDRs = "", nil
				}
			},
			event: []string{"node-0 CreateRouteFailed: spec.podCIDR is not set",
				"kube-controller-manager sets it with --allocate-node-cidrs"}, state: "unusable",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			registry := prometheus.NewRegistry()
			edit := func(cfg *controller.Config) {
				cfg.Registerer = registry
				if cfg.VPCID = vpcID; tt.edit != nil {
					tt.edit(cfg)
				}
			}
			all := makeNodes(2)
			if tt.nodes != nil {
				tt.nodes(all)
			}
			run(t, edit, all, tt.prepare, func(w *world) {
				w.Pass(10 * time.Minute)
				line := w.unready(t)
				if (line == "") != (len(tt.unready) == 0) {
					t.Errorf("not ready, since %q", line)
				}
				for _, part := range tt.unready {
					if !strings.Contains(line, part) {
						t.Errorf("not ready, since %q, want %q", line, part)
					}
				}
				if len(tt.event) > 0 {
					if got := w.Events.Matching(tt.event[0]); len(got) == 0 || !strings.Contains(got[0], tt.event[1]) {
						t.Errorf("events %q, want %q", w.Events.Matching(""), tt.event)
					}
				}
				if got := kubetest.Metric(t, registry, "routecontroller_routes"); tt.state != "" && got[tt.state] != 2 {
					t.Errorf("routes by state %v, want 2 that are %s", got, tt.state)
				}
			})
		})
	}
}
