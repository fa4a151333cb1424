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

func (t *trail) ids() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.requests)
}
