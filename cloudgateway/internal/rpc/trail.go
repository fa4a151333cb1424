package rpc

import (
	"context"
	"slices"
	"sync"

	"alicloud-controllers.dev/proto/rpcerr"
)

// trail collects what a handler did on behalf of its caller, for the audit log.
type trail struct {
	mu       sync.Mutex
	requests []string
	replayed bool
	changed  bool
}

type trailKey struct{}

// trails are those of the methods being handled for which something is done under the context: one as a rule.
func trails(ctx context.Context) []*trail {
	all, _ := ctx.Value(trailKey{}).([]*trail)
	return all
}

// Together makes a context for a call to the cloud that is made for several methods being handled, each of which notes
// what is noted under it.
func Together(ctx context.Context, methods []context.Context) context.Context {
	var all []*trail
	for _, method := range methods {
		for _, t := range trails(method) {
			if !slices.Contains(all, t) {
				all = append(all, t)
			}
		}
	}
	return context.WithValue(ctx, trailKey{}, all)
}

// NoteCloudRequest leaves the id of a request to the cloud in the audit line of the method being handled, so that the line can be
// found in the cloud's own audit log and the other way round.
func NoteCloudRequest(ctx context.Context, id string) {
	if id == "" {
		return
	}
	id = bounded(id)
	for _, t := range trails(ctx) {
		t.note(func() { t.requests = append(t.requests, id) })
	}
}

// NoteReplay leaves in the audit line of the method being handled that it did nothing: the caller got the result of an earlier
// request.
func NoteReplay(ctx context.Context) {
	for _, t := range trails(ctx) {
		t.note(func() { t.replayed = true })
	}
}

// NoteCloudChange notes that a request which may change the cloud was sent for the method being handled. Its failure no
// longer means that nothing was; see rpcerr.Error.Unsent.
func NoteCloudChange(ctx context.Context) {
	for _, t := range trails(ctx) {
		t.note(func() { t.changed = true })
	}
}

func (t *trail) note(what func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	what()
}

// correct makes an error about one request that of a method that has sent another one before: then something was sent,
// and who repeats the method on the next replica may do that a second time.
func (t *trail) correct(err error) error {
	e, ok := rpcerr.From(err)
	if !ok || !t.sent() || !e.Unsent && e.Reason != rpcerr.NotActive {
		return err
	}
	sent := *e
	sent.Unsent = false
	if e.Reason == rpcerr.NotActive {
		sent.Code, sent.Reason, sent.RetryAfter = rpcerr.OutcomeUnknown.Code(), rpcerr.OutcomeUnknown, 0
		sent.Message = "a part of the change was made: " + e.Message
	}
	return &sent
}

// sent reports whether a request was sent that may change the cloud.
func (t *trail) sent() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.changed
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
