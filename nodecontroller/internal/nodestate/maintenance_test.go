package nodestate_test

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"

	"alicloud-controllers.dev/nodecontroller/internal/nodestate"
)

func TestAnnounce(t *testing.T) {
	t.Parallel()
	const scheduled, executing, inquiring = "Scheduled", "Executing", "Inquiring"
	now := time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC)
	event := func(id, kind string, status string, in time.Duration) *ecsv1.InstanceEvent {
		return &ecsv1.InstanceEvent{EventId: id, EventType: kind, Status: status, NotBeforeTime: timestamppb.New(now.Add(in))}
	}
	plan := func(events ...*ecsv1.InstanceEvent) nodestate.Plan { return nodestate.Plan{Events: events} }
	untimed := event("e-1", "SystemMaintenance.Reboot", scheduled, 0)
	untimed.NotBeforeTime = nil
	const reboot = "SystemMaintenance.Reboot"
	const said = "SystemMaintenance.Reboot (e-1), not before 2026-12-01T12:00:00Z"
	there := func(status, reason, message string) *corev1.NodeCondition {
		return &corev1.NodeCondition{Type: "MaintenancePlanned", Status: corev1.ConditionStatus(status), Reason: reason, Message: message,
			LastTransitionTime: metav1.NewTime(now.Add(-time.Hour))}
	}
	for name, tt := range map[string]struct {
		there *corev1.NodeCondition
		plan  nodestate.Plan
		want  string // status, reason and message; "" for no change
	}{
		"nothing":       {nil, plan(), ""},
		"nothing, ever": {there("False", "NoSystemEvent", "x"), plan(), ""},
		"in ten hours":  {nil, plan(event("e-1", reboot, scheduled, 10*time.Hour)), "True SystemEventScheduled " + said},
		"said already":  {there("True", "SystemEventScheduled", said), plan(event("e-1", reboot, scheduled, 10*time.Hour)), ""},
		"in five minutes": {nil, plan(event("e-1", reboot, scheduled, 5*time.Minute)),
			"True SystemEventImminent SystemMaintenance.Reboot (e-1), not before 2026-12-01T02:05:00Z"},
		"a second more than five minutes": {nil, plan(event("e-1", reboot, scheduled, 5*time.Minute+time.Second)),
			"True SystemEventScheduled SystemMaintenance.Reboot (e-1), not before 2026-12-01T02:05:01Z"},
		"under way": {there("True", "SystemEventScheduled", said), plan(event("e-1", reboot, executing, time.Hour)),
			"True SystemEventImminent SystemMaintenance.Reboot (e-1), under way"},
		"at no time": {nil, plan(untimed), "True SystemEventScheduled SystemMaintenance.Reboot (e-1), at a time that is not known"},
		"waits for a consent": {nil, plan(event("e-1", reboot, inquiring, 0)),
			"True SystemEventScheduled SystemMaintenance.Reboot (e-1), waits for your consent"},
		"that interrupts nothing": {nil, plan(event("e-1", "SystemMaintenance.CleanInactiveDisks", executing, 0)),
			"True SystemEventScheduled SystemMaintenance.CleanInactiveDisks (e-1), under way"},
		"spot": {nil, nodestate.Plan{Reclaimed: true}, "True SystemEventImminent the spot instance is released within minutes"},
		"the first of many, and the order of the answer does not count": {nil, plan(event("e-4", reboot, scheduled, 4*time.Hour),
			event("e-2", reboot, scheduled, 2*time.Hour), event("e-3", reboot, scheduled, 2*time.Hour), event("e-1", reboot, executing, 0)),
			"True SystemEventImminent SystemMaintenance.Reboot (e-1), under way; " +
				"SystemMaintenance.Reboot (e-2), not before 2026-12-01T04:00:00Z; " +
				"SystemMaintenance.Reboot (e-3), not before 2026-12-01T04:00:00Z; 1 more"},
		"over":            {there("True", "SystemEventImminent", said), plan(), "False NoSystemEvent The cloud plans nothing for the instance"},
		"somebody else's": {there("True", "Firmware", "by the admins"), plan(event("e-1", reboot, executing, 0)), ""},
		"somebody else's that is over": {there("False", "Firmware", "by the admins"), plan(event("e-1", reboot, executing, 0)),
			"True SystemEventImminent SystemMaintenance.Reboot (e-1), under way"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			node := &corev1.Node{}
			if tt.there != nil {
				node.Status.Conditions = []corev1.NodeCondition{*tt.there}
			}
			change := nodestate.Announce(node, tt.plan, now, 5*time.Minute)
			got := ""
			if c := change.Condition; c != nil {
				got = string(c.Status) + " " + c.Reason + " " + c.Message
				kept := tt.there != nil && tt.there.Status == c.Status
				if kept != c.LastTransitionTime.Equal(&metav1.Time{Time: now.Add(-time.Hour)}) {
					t.Errorf("transition at %s, kept should be %v", c.LastTransitionTime, kept)
				}
			}
			if got != tt.want {
				t.Errorf("change %q, want %q", got, tt.want)
			}
		})
	}
}
