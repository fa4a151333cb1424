package openapi

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"alicloud-controllers.dev/proto/rpcerr"
)

// TestPass: another program gets the cloud's answers as they are. Only what was not carried out is sent again.
func TestPass(t *testing.T) {
	throttled := step{status: 400, code: "Throttling.User"}
	read := Call{Product: ECS, Action: "DescribeInstances", Params: map[string]string{"RegionId": "cn-hangzhou"}}
	write := Call{Product: ECS, Action: "DeleteInstance", Mutating: true, Form: map[string]string{"InstanceId": "i-1"}}
	long := func(bytes int) string { return `{"RequestId":"R-1","Name":"` + strings.Repeat("x", bytes) + `"}` }
	tests := []struct {
		name     string
		call     Call
		script   []step
		status   int
		body     string // a part of it
		reason   rpcerr.Reason
		attempts int
		changed  bool
	}{
		{"success", read, nil, 200, `"Name":"x"`, "", 1, false},
		{"an answer that is not the cloud's", read, []step{{body: "<html>"}}, 0, "", rpcerr.CloudUnavailable, 1, false},
		{"an error", write, []step{{status: 404, code: "InvalidInstanceId.NotFound"}}, 404, "InvalidInstanceId.NotFound", "", 1, true},
		{"an error of the cloud's own", read, []step{{status: 503, code: "ServiceUnavailable"}}, 503, "ServiceUnavailable", "", 1, false},
		{"throttled once", write, []step{throttled}, 200, `"Name":"x"`, "", 2, true},
		{"throttled all the time", write, []step{throttled, throttled, throttled, throttled, throttled}, 400, "Throttling.User", "", 4, false},
		{"old credentials", write, []step{{status: 400, code: "InvalidSecurityToken.Expired"}}, 200, `"Name":"x"`, "", 2, true},
		{"a lost answer of a change", write, []step{{drop: true}}, 0, "", rpcerr.OutcomeUnknown, 1, true},
		{"half an answer of a change", write, []step{{cut: true}}, 0, "", rpcerr.OutcomeUnknown, 1, true},
		{"a lost answer of a read", read, []step{{drop: true}}, 0, "", rpcerr.CloudUnavailable, 1, false},
		{"as much as there is room for", read, []step{{body: long(50 << 10)}}, 200, "xxx", "", 1, false},
		{"too much", read, []step{{body: long(70 << 10)}}, 0, "", rpcerr.CloudUnavailable, 1, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cloud := newFakeCloud(t, tt.script...)
			client := newWorld(t, cloud.host(), nil).client
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			held := 0
			got, changed, err := client.Pass(ctx, tt.call, func(bytes int) error {
				if held += bytes; held > 50<<10 {
					return errors.New("full")
				}
				return nil
			})
			if rpcerr.ReasonOf(err) != tt.reason || (err == nil) != (tt.reason == "") {
				t.Fatalf("got %v, want reason %q", err, tt.reason)
			}
			if err == nil && (got.Status != tt.status || !strings.Contains(string(got.Body), tt.body)) {
				t.Errorf("got %d %s, want %d %s", got.Status, got.Body, tt.status, tt.body)
			}
			if changed != tt.changed {
				t.Errorf("something may have been changed: %t, want %t", changed, tt.changed)
			}
			if cloud.attempts() != tt.attempts || len(cloud.bad) > 0 {
				t.Errorf("%d attempts, want %d; %v", cloud.attempts(), tt.attempts, cloud.bad)
			}
		})
	}
}

// TestPassKeepsHeaders: the cloud's headers tell tools when to try again.
func TestPassKeepsHeaders(t *testing.T) {
	cloud := newFakeCloud(t, step{status: 400, code: "Forbidden", header: http.Header{"X-Acs-Retry-After": {"1500"}}})
	got, _, err := newWorld(t, cloud.host(), nil).client.Pass(t.Context(), Call{Product: SLB, Action: "DescribeRegions",
		Format: "XML"}, func(int) error { return nil })
	if err != nil || got.Header.Get("X-Acs-Retry-After") != "1500" {
		t.Errorf("got %+v, %v", got, err)
	}
	if format := cloud.calls[0].Get("Format"); format != "XML" {
		t.Errorf("asked for %s", format)
	}
}
