package client

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/metadata"
)

// TestWithPriority: the innermost priority counts, other metadata stay, and the outer context keeps its own.
func TestWithPriority(t *testing.T) {
	outer := WithPriority(metadata.AppendToOutgoingContext(t.Context(), "other", "1"), User)
	inner := WithPriority(outer, Background)
	for _, tt := range []struct {
		name string
		md   func() (metadata.MD, bool)
		want metadata.MD
	}{
		{"inner", func() (metadata.MD, bool) { return metadata.FromOutgoingContext(inner) },
			metadata.MD{"other": {"1"}, PriorityKey: {"background"}}},
		{"outer", func() (metadata.MD, bool) { return metadata.FromOutgoingContext(outer) }, metadata.MD{"other": {"1"}, PriorityKey: {"user"}}},
	} {
		if got, _ := tt.md(); !cmp.Equal(tt.want, got) {
			t.Errorf("%s (-want +got):\n%s", tt.name, cmp.Diff(tt.want, got))
		}
	}
}
