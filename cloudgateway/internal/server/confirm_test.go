package server

import (
	"strings"
	"testing"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
)

// TestConfirmAbsent releases an instance, and asks about it and others: what each answer is and which calls it costs.
func TestConfirmAbsent(t *testing.T) {
	w := newWorld(t)
	if _, err := w.Instances.DeleteInstance(t.Context(), &ecsv1.DeleteInstanceRequest{InstanceId: instanceID(7), Force: true}); err != nil {
		t.Fatal(err)
	}
	witnesses := []string{instanceID(10), instanceID(11), instanceID(12)}
	for _, tt := range []struct {
		name    string
		request *ecsv1.ConfirmAbsentRequest
		faults  []fault.Rule
		want    string
		calls   string
	}{
		{
			name: "one is gone", request: &ecsv1.ConfirmAbsentRequest{InstanceIds: []string{instanceID(7), instanceID(8)}, WitnessIds: witnesses},
			want: "PRESENCE_ABSENT PRESENCE_PRESENT", calls: "DescribeInstances DescribeNetworkInterfaces DescribeNetworkInterfaces",
		},
		{
			name: "none is gone", request: &ecsv1.ConfirmAbsentRequest{InstanceIds: []string{instanceID(8)}, WitnessIds: witnesses},
			want: "PRESENCE_PRESENT", calls: "DescribeInstances",
		},
		{
			name: "another region", request: &ecsv1.ConfirmAbsentRequest{InstanceIds: []string{instanceID(7)}, RegionId: "cn-beijing"},
			want: "REGION_MISMATCH",
		},
		{
			name: "an instance without witnesses", request: &ecsv1.ConfirmAbsentRequest{InstanceIds: []string{instanceID(7)}},
			want: "NOTHING_FOUND", calls: "DescribeInstances",
		},
		{
			name: "no right to list interfaces", request: &ecsv1.ConfirmAbsentRequest{InstanceIds: []string{instanceID(7)}, WitnessIds: witnesses},
			faults: []fault.Rule{{Action: "DescribeNetworkInterfaces", Error: &fault.Error{Status: 403, Code: "Forbidden.RAM", Message: "no"}}},
			want:   "CLOUD_FORBIDDEN", calls: "DescribeInstances DescribeNetworkInterfaces",
		},
		{
			name: "throttled", request: &ecsv1.ConfirmAbsentRequest{InstanceIds: []string{instanceID(7), instanceID(8)}, WitnessIds: witnesses},
			faults: []fault.Rule{{Action: "DescribeInstances", Error: &fault.Error{Status: 400, Code: "Throttling", Message: "slow down"}}},
			want:   "THROTTLED THROTTLED", calls: "DescribeInstances",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w.strike(t, tt.faults...)
			before := len(w.actions(true))
			answer, err := w.Instances.ConfirmAbsent(t.Context(), tt.request)
			if err != nil {
				t.Fatal(err)
			}
			var words []string
			for i, result := range answer.GetResults() {
				if asked := tt.request.GetInstanceIds()[i]; result.GetRequested() != asked {
					t.Errorf("result %d is of %q, want %s", i, result.GetRequested(), asked)
				}
				word := result.GetPresence().String()
				if result.GetError() != nil {
					word = result.GetError().GetReason()
				}
				words = append(words, word)
			}
			if got := strings.Join(words, " "); got != tt.want {
				t.Errorf("got %s, want %s: %v", got, tt.want, answer)
			}
			if got := strings.Join(w.actions(true)[before:], " "); got != tt.calls {
				t.Errorf("calls %s, want %s", got, tt.calls)
			}
		})
	}
	if _, err := w.Instances.ConfirmAbsent(t.Context(), &ecsv1.ConfirmAbsentRequest{}); rpcerr.ReasonOf(err) != rpcerr.InvalidField {
		t.Errorf("no ids: %v", err)
	}
}
