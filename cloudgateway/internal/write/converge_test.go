package write

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	"alicloud-controllers.dev/proto/rpcerr"
)

// TestConverge plays a change of a thing that is "old" and shall be "new". What a look sees and what a write is answered come from
// scripts, of which the last line is repeated.
func TestConverge(t *testing.T) {
	errPrecise := errors.New("precise refusal")
	errDoubtful := errors.New("is so already, or not")
	errUnread := errors.New("can't be read")
	errBusy := &rpcerr.Error{Code: codes.Aborted, Reason: rpcerr.ResourceBusy}
	errLost := &rpcerr.Error{Code: codes.Unknown, Reason: rpcerr.OutcomeUnknown}
	tests := []struct {
		name      string
		looks     []string // "" fails
		sends     []error
		awaits    bool // the write was made before
		lookFirst bool
		want      string
		err       error
		reason    rpcerr.Reason
		steps     []string
		took      time.Duration
	}{
		{name: "done at once", looks: []string{"new"}, want: "new", steps: []string{"send", "look"}},
		{name: "done in a while", looks: []string{"old", "between", "new"}, want: "new", steps: []string{"send", "look",
			"look", "look"}, took: 2 * time.Second},
		{name: "nothing to do", looks: []string{"new"}, lookFirst: true, want: "new", steps: []string{"look"}},
		{name: "something to do", looks: []string{"old", "new"}, lookFirst: true, want: "new", steps: []string{"look", "send", "look"}},
		{
			name: "another change first", looks: []string{"between", "old", "new"}, lookFirst: true, want: "new",
			steps: []string{"look", "look", "send", "look"}, took: 2 * time.Second,
		},
		{name: "awaited", awaits: true, looks: []string{"old", "new"}, want: "new", steps: []string{"look", "look"}, took: time.Second},
		{
			name: "busy", looks: []string{"old", "old", "new"}, sends: []error{errBusy, nil}, want: "new",
			steps: []string{"send", "look", "send", "look", "look"}, took: 2 * time.Second,
		},
		{name: "lost and done", looks: []string{"new"}, sends: []error{errLost}, want: "new", steps: []string{"send", "look"}},
		{
			name: "lost and not done", looks: []string{"old", "new"}, sends: []error{errLost, nil}, want: "new",
			steps: []string{"send", "look", "send", "look"}, took: time.Second,
		},
		{name: "refused", looks: []string{"old"}, sends: []error{errPrecise}, err: errPrecise, steps: []string{"send"}},
		{name: "doubted and so", looks: []string{"new"}, sends: []error{errDoubtful}, want: "new", steps: []string{"send", "look"}},
		{name: "doubted and not so", looks: []string{"old"}, sends: []error{errDoubtful}, want: "old", err: errDoubtful,
			steps: []string{"send", "look"}},
		{name: "hopeless", looks: []string{"broken"}, want: "broken", err: errPrecise, steps: []string{"send", "look"}},
		{name: "unread", looks: []string{""}, reason: rpcerr.OutcomeUnknown, steps: []string{"send", "look"}},
		{name: "unread before anything was sent", looks: []string{""}, lookFirst: true, err: errUnread, steps: []string{"look"}},
		{
			name: "unread while busy", looks: []string{""}, sends: []error{errBusy}, err: errUnread, steps: []string{"send", "look"},
		},
		{
			name: "for ever under way", looks: []string{"between"}, want: "between", reason: rpcerr.ResourceBusy, took: 3 * time.Second,
			steps: []string{"send", "look", "look", "look", "look"},
		},
		{
			name: "for ever busy", looks: []string{"old"}, sends: []error{errBusy}, want: "old", reason: rpcerr.ResourceBusy,
			took: 3 * time.Second, steps: []string{"send", "look", "send", "look", "send", "look", "send", "look"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
				defer cancel()
				var steps []string
				nth := func(step string) int {
					steps = append(steps, step)
					return len(slices.DeleteFunc(slices.Clone(steps), func(s string) bool { return s != step })) - 1
				}
				ch := Converge[string]{
					Name: "the change", LookFirst: tt.lookFirst,
					Look: func(context.Context) (string, error) {
						seen := tt.looks[min(nth("look"), len(tt.looks)-1)]
						if seen == "" {
							return "", errUnread
						}
						return seen, nil
					},
					Judge: func(seen string) (Verdict, error) {
						if seen == "broken" {
							return Failed, errPrecise
						}
						return map[string]Verdict{"old": Todo, "between": Waiting, "new": Done}[seen], nil
					},
					Doubtful: func(err error) bool { return errors.Is(err, errDoubtful) },
				}
				if !tt.awaits {
					ch.Send = func(context.Context, string) error {
						if n := nth("send"); len(tt.sends) > 0 {
							return tt.sends[min(n, len(tt.sends)-1)]
						}
						return nil
					}
				}
				start := time.Now()
				got, err := ch.Run(ctx)
				if got != tt.want || tt.err != nil && !errors.Is(err, tt.err) || rpcerr.ReasonOf(err) != tt.reason ||
					(err == nil) != (tt.err == nil && tt.reason == "") {
					t.Errorf("got %q, %v, want %q, %v%s", got, err, tt.want, tt.err, tt.reason)
				}
				if diff := cmp.Diff(tt.steps, steps); diff != "" {
					t.Errorf("steps (-want +got):\n%s", diff)
				}
				if took := time.Since(start); took != tt.took {
					t.Errorf("took %s, want %s", took, tt.took)
				}
			})
		})
	}
}

// TestSlowerLooks: what takes minutes is looked at more and more seldom, up to the slowest; what takes a moment each second.
func TestSlowerLooks(t *testing.T) {
	for slowest, want := range map[time.Duration][]int{0: {0, 1, 2, 3, 4, 5, 6, 7}, 4 * PollInterval: {0, 1, 3, 6, 10, 14, 18, 22}} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			var looks []int
			_, err := Converge[int]{
				Name: "the change", Slowest: slowest,
				Send: func(context.Context, int) error { return nil },
				Look: func(context.Context) (int, error) {
					looks = append(looks, int(time.Since(start)/PollInterval))
					return len(looks), nil
				},
				Judge: func(n int) (Verdict, error) {
					if n < len(want) {
						return Waiting, nil
					}
					return Done, nil
				},
			}.Run(t.Context())
			if err != nil || !slices.Equal(looks, want) {
				t.Errorf("at most %s between two looks: %v, %v, want %v", slowest, looks, err, want)
			}
		})
	}
}
