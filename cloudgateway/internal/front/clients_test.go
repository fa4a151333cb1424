package front

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"alicloud-controllers.dev/proto/rpcerr"
)

// TestThrottlingIsUnderstood: the tools that docs/openapi-front.md names have rules of their own for what they
// repeat, read in their sources: each takes the front's answer for throttling, and the message has the true reason.
func TestThrottlingIsUnderstood(t *testing.T) {
	t.Parallel()
	rules := map[string]func(code string, header func(string) string) bool{
		"Terway and the CSI driver, which compare the whole code": func(code string, _ func(string) string) bool { return code == "Throttling" },
		"Terraform, by a regular expression": func(code string, _ func(string) string) bool {
			return regexp.MustCompile(`Throttling`).MatchString(code)
		},
		"Karpenter, by the word": func(code string, _ func(string) string) bool { return strings.Contains(code, "Throttling") },
		"darabonba, by three codes": func(code string, _ func(string) string) bool {
			return slices.Contains([]string{"Throttling", "Throttling.User", "Throttling.Api"}, code)
		},
		"aliyun CLI, by the header": func(_ string, header func(string) string) bool { return header("x-acs-retry-after") != "" },
	}
	for name, err := range map[string]error{
		"the account's limit": &rpcerr.Error{Code: codes.ResourceExhausted, Reason: rpcerr.Throttled, RetryAfter: time.Second,
			Message: "the rate limit has no room before the call's deadline"},
		"connections": because(reasonConnections, &rpcerr.Error{Code: codes.ResourceExhausted, RetryAfter: time.Second,
			Message: "tool has 256 connections in use, the most that a caller may have"}),
	} {
		r := refusalOf(err)
		answer := httptest.NewRecorder()
		r.write(answer, "R", false)
		var d struct{ Code, Message string }
		if err := json.Unmarshal(answer.Body.Bytes(), &d); err != nil {
			t.Fatal(err)
		}
		for client, understands := range rules {
			if !understands(d.Code, answer.Header().Get) {
				t.Errorf("%s: %s does not understand %s", name, client, answer.Body)
			}
		}
		if e, ok := rpcerr.From(err); ok && !strings.Contains(d.Message, e.Message) {
			t.Errorf("%s: the message is %q", name, d.Message)
		}
		if r.why != map[string]string{"the account's limit": reasonLimit, "connections": reasonConnections}[name] {
			t.Errorf("%s counts as %q", name, r.why)
		}
	}
}

// TestFailuresOfTheGateway: what its parts give as an error, as tools see it. None but a defect of the gateway is called one.
func TestFailuresOfTheGateway(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"499 ClientClosedRequest": context.Canceled,
		"503 ServiceUnavailable":  fmt.Errorf("find out whether instance i-1 is in the scope of tool: %w", context.DeadlineExceeded),
		"500 InternalError":       errors.New("nobody has thought of it"),
		"400 Throttling": fmt.Errorf("find out whether instance i-1 is in the scope of tool: %w",
			&rpcerr.Error{Code: codes.ResourceExhausted, Reason: rpcerr.Throttled}),
	} {
		if r := refusalOf(err); fmt.Sprint(r.status, " ", r.code) != want {
			t.Errorf("%v: %d %s, want %s", err, r.status, r.code, want)
		}
	}
}

// TestShownBy: what is forgotten after a change.
func TestShownBy(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"ecs:RunInstances": "ecs", "ecs:AttachNetworkInterface": "ecs", "ecs:AssignPrivateIpAddresses": "ecs",
		"ecs:DeleteInstances":        "ecs nlb slb vpc",
		"ecs:DetachNetworkInterface": "ecs nlb slb vpc", "vpc:AssociateEipAddress": "ecs nlb slb vpc", "vpc:CreateVSwitch": "vpc",
		"slb:SetLoadBalancerName": "slb", "slb:DeleteLoadBalancer": "ecs slb vpc", "nlb:UpdateLoadBalancerAttribute": "nlb",
		"nlb:UpdateLoadBalancerZones": "ecs nlb vpc", "nlb:TagResources": "nlb",
		"ecs:CreateRouteEntry": "ecs nlb slb vpc", "ecs:DeleteVSwitch": "ecs nlb slb vpc", "ecs:AttachDisk": "ecs",
	} {
		product, action, _ := strings.Cut(name, ":")
		if got := strings.Join(shownBy(product, action), " "); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
