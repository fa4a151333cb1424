package controller_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway/gatewaytest"
	"alicloud-controllers.dev/services/kube/kubetest"
	"alicloud-controllers.dev/services/nodes"

	"alicloud-controllers.dev/nodecontroller/internal/controller"
)

// maintained lets nodes tell what is planned.
func maintained(cfg *controller.Config) {
	cfg.Maintenance = &controller.Maintenance{Interval: time.Minute, Lead: 5 * time.Minute}
}

// plan lets the cloud announce a reboot of an instance; a zero time takes it back.
func (w *world) plan(instance string, at time.Time) {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	delete(w.cloud.InstanceEvents, "e-"+instance)
	if !at.IsZero() {
		w.cloud.InstanceEvents["e-"+instance] = &state.InstanceEvent{
			ID: "e-" + instance, InstanceID: instance, Type: "SystemMaintenance.Reboot", NotBefore: at, Status: "Scheduled",
		}
	}
}

// planned is what a node says about maintenance: status and reason.
func (w *world) planned(name string) string {
	c := condition(w.Node(name), nodes.ConditionMaintenancePlanned)
	return strings.TrimSpace(string(c.Status) + " " + c.Reason)
}

// TestMaintenanceIsAnnounced follows the reboot of one of 120 instances over two hours.
func TestMaintenanceIsAnnounced(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	edit := func(cfg *controller.Config) { maintained(cfg); cfg.Registerer = registry }
	run(t, edit, furnished(120), func(w *world) {
		w.Pass(10 * time.Minute)
		w.cloud.ResetCalls()
		w.Client.ClearActions()
		at := time.Now().Add(time.Hour)
		w.plan("i-7", at)
		w.Pass(61 * time.Second)
		if got := w.planned("node-7"); got != "True SystemEventScheduled" {
			t.Errorf("a minute after the announcement: %q", got)
		}
		want := "node-7 MaintenancePlanned: SystemMaintenance.Reboot (e-i-7), not before " + at.UTC().Format(time.RFC3339)
		if got := w.Events.Matching("MaintenancePlanned"); len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("events %q, want one: %s", got, want)
		}
		w.Pass(53 * time.Minute)
		if got := w.planned("node-7"); got != "True SystemEventScheduled" {
			t.Errorf("six minutes before: %q", got)
		}
		w.Pass(2 * time.Minute)
		if got := w.planned("node-7"); got != "True SystemEventImminent" {
			t.Errorf("four minutes before: %q", got)
		}
		if diff := cmp.Diff(map[string]float64{"scheduled": 0, "imminent": 1},
			kubetest.Metric(t, registry, "nodecontroller_planned_maintenance_nodes")); diff != "" {
			t.Errorf("metric (-want +got):\n%s", diff)
		}
		w.plan("i-7", time.Time{})
		w.Pass(61 * time.Second)
		if got := w.planned("node-7"); got != "False NoSystemEvent" {
			t.Errorf("when it is over: %q", got)
		}
		if got := w.planned("node-8"); got != "" {
			t.Errorf("another node: %q", got)
		}
		// One call a minute for all nodes, three patches, and nothing for nodes without an event.
		if n := w.calls("ListInstanceEvents"); n < 57 || n > 59 {
			t.Errorf("%d calls in 58 minutes", n)
		}
		if got := w.Patches(); len(got) != 3 {
			t.Errorf("patches %v", got)
		}
	})
}

// TestSpotInstanceIsReclaimed: no event reports that, but a lock of the instance.
func TestSpotInstanceIsReclaimed(t *testing.T) {
	t.Parallel()
	run(t, maintained, func(w *world) {
		furnished(3)(w)
		w.cloud.Lock()
		defer w.cloud.Unlock()
		w.cloud.Instances["i-1"].SpotStrategy, w.cloud.Instances["i-2"].SpotStrategy = "SpotAsPriceGo", "NoSpot"
	}, func(w *world) {
		w.Pass(2 * time.Minute)
		w.cloud.Lock()
		w.cloud.Instances["i-1"].LockReasons = []string{"Recycling"}
		w.cloud.Unlock()
		w.Pass(61 * time.Second)
		if got := w.planned("node-1"); got != "True SystemEventImminent" {
			t.Errorf("a minute after the lock: %q", got)
		}
		// An instance that can't be read keeps what was said.
		w.unreadable(map[string]error{"i-1": &rpcerr.Error{Code: codes.Unavailable, Reason: rpcerr.CloudUnavailable, Message: "no"}})
		w.Pass(3 * time.Minute)
		if got := w.planned("node-1"); got != "True SystemEventImminent" {
			t.Errorf("unread: %q", got)
		}
	})
}

// TestMaintenanceUnread: an older gateway has no such method, the role no such permission, the cloud no answer. What was said stays.
func TestMaintenanceUnread(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]*rpcerr.Error{
		"older gateway": {Code: codes.Unimplemented, Message: "unknown method ListInstanceEvents"},
		"no permission": {Code: codes.PermissionDenied, Reason: rpcerr.CloudForbidden, Message: "Forbidden.RAM"},
		"cloud away":    {Code: codes.Unavailable, Reason: rpcerr.CloudUnavailable, Message: "no answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, maintained, furnished(3), func(w *world) {
				w.plan("i-1", time.Now().Add(time.Hour))
				w.Pass(2 * time.Minute)
				w.plan("i-1", time.Time{})
				w.cloud.Interpose(func(_ int, method string, _ proto.Message) gatewaytest.Fault {
					if method != "ListInstanceEvents" {
						return gatewaytest.Fault{}
					}
					return gatewaytest.Fault{Before: err}
				})
				w.Pass(20 * time.Minute)
				if got := w.planned("node-1"); got != "True SystemEventScheduled" {
					t.Errorf("node-1 says %q", got)
				}
				if got := w.Events.Matching("MaintenanceUnread"); len(got) != 1 || !strings.Contains(got[0], err.Message) {
					t.Errorf("events %q, want one", got)
				}
				w.cloud.Interpose(nil)
				w.Pass(10 * time.Minute)
				if got := w.planned("node-1"); got != "False NoSystemEvent" {
					t.Errorf("node-1 says %q when it can be read again", got)
				}
			})
		})
	}
}

// TestMaintenanceSwitchedOff takes back what was said, asks the cloud nothing, and leaves what others say.
func TestMaintenanceSwitchedOff(t *testing.T) {
	t.Parallel()
	say := func(reason string) func(*corev1.Node) {
		return func(n *corev1.Node) {
			n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{
				Type: nodes.ConditionMaintenancePlanned, Status: corev1.ConditionTrue, Reason: reason, Message: "x"})
		}
	}
	run(t, nil, func(w *world) {
		furnished(3)(w)
		w.plan("i-2", time.Now().Add(time.Minute))
		w.UpdateNode("node-0", say("SystemEventImminent"))
		w.UpdateNode("node-1", say("FirmwareUpdate"))
	}, func(w *world) {
		w.Pass(10 * time.Minute)
		for name, want := range map[string]string{"node-0": "False NoSystemEvent", "node-1": "True FirmwareUpdate", "node-2": ""} {
			if got := w.planned(name); got != want {
				t.Errorf("%s says %q, want %q", name, got, want)
			}
		}
		if n := w.calls("ListInstanceEvents"); n != 0 {
			t.Errorf("%d calls", n)
		}
	})
}

// TestMaintenanceOfOthers: the event of an instance that a kubelet claims, and of a node that is excluded, is none of ours.
func TestMaintenanceOfOthers(t *testing.T) {
	t.Parallel()
	run(t, maintained, furnished(4), func(w *world) {
		at := time.Now().Add(time.Hour)
		for _, id := range []string{"i-1", "i-2", "i-3", "i-99"} {
			w.plan(id, at)
		}
		w.UpdateNode("node-1", func(n *corev1.Node) {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: nodes.TaintForeign, Effect: corev1.TaintEffectNoSchedule})
		})
		w.UpdateNode("node-2", func(n *corev1.Node) { n.Labels[nodes.LabelExclude] = "" })
		w.Pass(90 * time.Second)
		for name, want := range map[string]string{"node-0": "", "node-1": "", "node-2": "", "node-3": "True SystemEventScheduled"} {
			if got := w.planned(name); got != want {
				t.Errorf("%s says %q, want %q", name, got, want)
			}
		}
		w.UpdateNode("node-3", func(n *corev1.Node) { n.Labels[nodes.LabelExclude] = "" })
		w.Pass(90 * time.Second)
		if got := w.planned("node-3"); got != "False NoSystemEvent" {
			t.Errorf("node-3 says %q when it left our hands", got)
		}
	})
}
