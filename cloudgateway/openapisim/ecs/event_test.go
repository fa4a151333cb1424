package ecs_test

import (
	"strings"
	"testing"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/ecs"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func TestDescribeInstanceHistoryEvents(t *testing.T) {
	t.Parallel()
	cloud := newCloud()
	soon := time.Date(2026, 12, 1, 2, 0, 0, 0, time.UTC)
	for _, e := range []state.InstanceEvent{
		{ID: "e-1", InstanceID: "i-1", Type: "SystemMaintenance.Reboot", Status: "Scheduled", NotBefore: soon},
		{ID: "e-2", InstanceID: "i-2", Type: "SystemFailure.Redeploy", Status: "Executing", NotBefore: soon},
		{ID: "e-3", InstanceID: "i-1", Type: "SystemMaintenance.Reboot", Status: "Executed", NotBefore: soon},
		{ID: "e-4", InstanceID: "i-3", Type: "SystemMaintenance.Stop", Status: "Inquiring"},
	} {
		cloud.InstanceEvents[e.ID] = &e
	}
	for _, tt := range []struct {
		name   string
		params []string
		want   string // ids of events, or an error code
	}{
		{"those that are over, without a status", nil, "e-3"},
		{"those that are not", []string{"InstanceEventCycleStatus.1", "Scheduled", "InstanceEventCycleStatus.2", "Executing",
			"InstanceEventCycleStatus.3", "Inquiring"}, "e-1 e-2 e-4"},
		{"one status", []string{"EventCycleStatus", "Scheduled"}, "e-1"},
		{"the list counts", []string{"EventCycleStatus", "Scheduled", "InstanceEventCycleStatus.1", "Executing"}, "e-2"},
		{"unknown status", []string{"InstanceEventCycleStatus.1", "Soon"}, "InvalidParameter"},
		{"of an instance", []string{"EventCycleStatus", "Scheduled", "InstanceId", "i-2"}, ""},
		{"of instances", []string{"InstanceEventCycleStatus.1", "Scheduled", "InstanceEventCycleStatus.2", "Executing",
			"ResourceId.1", "i-2", "ResourceId.2", "i-3"}, "e-2"},
		{"of a type", []string{"InstanceEventCycleStatus.1", "Scheduled", "InstanceEventCycleStatus.2", "Executing", "InstanceEventType.1",
			"SystemMaintenance.Reboot"}, "e-1"},
		{"of hosts", []string{"EventCycleStatus", "Scheduled", "ResourceType", "ddh"}, ""},
		{"by id", []string{"EventId.1", "e-3"}, "e-3"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			answer, got := apitest.New(t, ecs.Product(), cloud).Call("DescribeInstanceHistoryEvents", tt.params...)
			if got == "" {
				got = strings.Join(apitest.List(answer, "EventId", "InstanceSystemEventSet", "InstanceSystemEventType"), " ")
			}
			if got != tt.want {
				t.Errorf("events %q, want %q", got, tt.want)
			}
		})
	}
}
