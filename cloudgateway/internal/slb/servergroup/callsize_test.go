package servergroup

import (
	"testing"

	"google.golang.org/grpc/codes"

	"alicloud-controllers.dev/proto/rpcerr"
)

// A refusal teaches the size of the calls of its action, once, and never less than the cloud says.
func TestCallSizes(t *testing.T) {
	t.Parallel()
	refusal := func(text string) error {
		return &rpcerr.Error{Code: codes.ResourceExhausted, Reason: rpcerr.ServerLimit, CloudCode: "TooManyBackendServers", Message: text}
	}
	const unnamed, named = "Too many backend servers.", "The number of backend servers exceeds max supported number: 8."
	tests := []struct {
		name, text string
		size       int
		want       int
		smaller    bool
	}{
		{"no number in the text", unnamed, 40, 20, true},
		{"the documented number refused", unnamed, 20, 40, false},
		{"a number in the text", named, 40, 8, true},
		{"a call that keeps to the number", named, 8, 40, false},
		{"nonsense", "exceeds max supported number: 0", 40, 40, false},
	}
	for _, tt := range tests {
		sizes := newCallSizes(40)
		if got := sizes.learn("AddVServerGroupBackendServers", tt.size, refusal(tt.text)); got != tt.smaller {
			t.Errorf("%s: a smaller call is allowed: %t, want %t", tt.name, got, tt.smaller)
		}
		if got := sizes.of("AddVServerGroupBackendServers"); got != tt.want {
			t.Errorf("%s: %d servers per call, want %d", tt.name, got, tt.want)
		}
		if got := sizes.of("RemoveVServerGroupBackendServers"); got != 40 {
			t.Errorf("%s: %d servers per call of another action, want 40", tt.name, got)
		}
	}
}
