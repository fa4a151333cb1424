package rpc

import (
	"context"
	"slices"
	"sync"
)

// trail collects what a handler did on behalf of its caller, for the audit log.
type trail struct {
	mu       sync.Mutex
	requests []string
	replayed bool
}

type trailKey struct{}

// NoteCloudRequest leaves the id of a request to the cloud in the audit line of the method being handled, so that the line can be
// found in the cloud's own audit log and the other way round.
func NoteCloudRequest(ctx context.Context, id string) {
	t, ok := ctx.Value(trailKey{}).(*trail)
	if !ok || id == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.requests = append(t.requests, id)
}

// NoteReplay leaves in the audit line of the method being handled that it did nothing: the caller got the result of an earlier
// request.
func NoteReplay(ctx context.Context) {
	if t, ok := ctx.Value(trailKey{}).(*trail); ok {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.replayed = true
	}
}

// attrs are what was noted.
func (t *trail) attrs() []any {
	t.mu.Lock()
	defer t.mu.Unlock()
	var attrs []any
	if t.replayed {
		attrs = append(attrs, "replayed", true)
	}
	if len(t.requests) > 0 {
		attrs = append(attrs, "cloudRequestIds", slices.Clone(t.requests))
	}
	return attrs
}
