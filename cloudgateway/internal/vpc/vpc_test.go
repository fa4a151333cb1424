package vpc

import (
	"testing"

	"alicloud-controllers.dev/cloudgateway/internal/write"
)

// TestUntilGone: only what is not there is gone, whatever the cloud says about its status.
func TestUntilGone(t *testing.T) {
	for _, tt := range []struct {
		exists bool
		status string
		want   write.Verdict
	}{{false, "", write.Done}, {true, Available, write.Todo}, {true, "Deleting", write.Waiting},
		{true, "Pending", write.Waiting}, {true, "", write.Waiting}} {
		if got := UntilGone(tt.exists, tt.status); got != tt.want {
			t.Errorf("exists %t, status %q: verdict %d, want %d", tt.exists, tt.status, got, tt.want)
		}
	}
}
