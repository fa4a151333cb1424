package gateway

import (
	"context"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
)

// broken is a connection whose calls fail with a text of gRPC's.
type broken struct {
	grpc.ClientConnInterface

	text string
}

func (b broken) Invoke(context.Context, string, any, any, ...grpc.CallOption) error {
	return status.Error(codes.Unavailable, b.text)
}

// TestEqualFailuresLookEqual: texts become events, which are counted up only if they are equal.
func TestEqualFailuresLookEqual(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"error reading from server: read tcp 10.0.0.1:41234->10.0.0.2:7443: " +
			"connection reset by peer": "error reading from server: read tcp 10.0.0.1->10.0.0.2:7443: " +
			"connection reset by peer (Unavailable)",
		"read tcp [fd00::1]:5->[fd00::2]:7443: use of closed connection": "read tcp [fd00::1]->[fd00::2]:7443: " +
			"use of closed connection (Unavailable)",
		"dial tcp 10.0.0.2:7443: connect: connection refused": "dial tcp 10.0.0.2:7443: connect: " +
			"connection refused (Unavailable)",
	} {
		_, err := NewClient(broken{text: text}).Capabilities.GetCapabilities(t.Context(), &commonv1.GetCapabilitiesRequest{})
		if err == nil || err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
	}
}
