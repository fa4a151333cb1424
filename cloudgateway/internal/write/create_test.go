package write

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	"alicloud-controllers.dev/proto/rpcerr"
)

// TestCreate: what has no token is sent again only if it is known that there is nothing yet, and what was there before is not taken for it.
func TestCreate(t *testing.T) {
	errFinal := errors.New("refused")
	errLost := &rpcerr.Error{Code: codes.Unknown, Reason: rpcerr.OutcomeUnknown}
	errBusy := &rpcerr.Error{Code: codes.Aborted, Reason: rpcerr.ResourceBusy}
	tests := []struct {
		name         string
		sends        []error    // the last one is repeated
		looks        [][]string // ids, of which the first look sees what was there before; nil fails
		unmistakable bool
		sent         int
		made         string
		want         error
		reason       rpcerr.Reason
		remembered   bool
	}{
		{name: "made", sends: []error{nil}, looks: [][]string{{}}, sent: 1, made: "sent", remembered: true},
		{name: "refused", sends: []error{errFinal}, looks: [][]string{{}}, sent: 1, want: errFinal},
		{name: "busy", sends: []error{errBusy, nil}, looks: [][]string{{}}, sent: 2, made: "sent", remembered: true},
		{name: "lost, and there", sends: []error{errLost}, looks: [][]string{{}, {"a"}}, sent: 1, made: "a", remembered: true},
		{name: "lost, and not there", sends: []error{errLost, nil}, looks: [][]string{{}, {}}, sent: 2, made: "sent", remembered: true},
		{name: "lost twice", sends: []error{errLost}, looks: [][]string{{}, {}, {"a"}}, sent: 2, made: "a", remembered: true},
		{name: "lost, and one was there before", sends: []error{errLost, nil}, looks: [][]string{{"a"}, {"a"}}, sent: 2,
			made: "sent", remembered: true},
		{name: "lost, and another was there before", sends: []error{errLost}, looks: [][]string{{"a"}, {"a", "b"}}, sent: 1,
			made: "b", remembered: true},
		{
			name: "lost, and two came", sends: []error{errLost}, looks: [][]string{{}, {"a", "b"}}, sent: 1,
			reason: rpcerr.OutcomeUnknown, remembered: true,
		},
		{name: "lost, and unread", sends: []error{errLost}, looks: [][]string{{}, nil}, sent: 1, reason: rpcerr.OutcomeUnknown, remembered: true},
		{name: "unread before", looks: [][]string{nil}, want: errFinal},
		{name: "unmistakable", sends: []error{nil}, unmistakable: true, sent: 1, made: "sent", remembered: true},
		{name: "unmistakable, lost", sends: []error{errLost}, looks: [][]string{{"a"}}, unmistakable: true, sent: 1, made: "a", remembered: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				sent, looked := 0, 0
				c := Create[string]{
					Ledger: NewLedger(), Key: KeyOf(t.Context(), "r-1", "web"), Name: "it", Unmistakable: tt.unmistakable,
					Send: func(context.Context) (*string, error) {
						sent++
						if err := tt.sends[min(sent, len(tt.sends))-1]; err != nil {
							return nil, err
						}
						return new("sent"), nil
					},
					Find: func(context.Context) (found []*string, err error) {
						looked++
						if tt.looks[looked-1] == nil {
							return nil, errFinal
						}
						for _, id := range tt.looks[looked-1] {
							found = append(found, &id)
						}
						return found, nil
					},
					ID: func(id *string) string { return *id },
				}
				made, err := c.Run(t.Context())
				if tt.want != nil && !errors.Is(err, tt.want) || rpcerr.ReasonOf(err) != tt.reason ||
					(err == nil) != (tt.want == nil && tt.reason == "") {
					t.Errorf("got %v, want %v%s", err, tt.want, tt.reason)
				}
				if sent != tt.sent || looked != len(tt.looks) {
					t.Errorf("%d calls and %d looks, want %d and %d", sent, looked, tt.sent, len(tt.looks))
				}
				if made != nil && *made != tt.made || made == nil && tt.made != "" {
					t.Errorf("made %v, want %q", made, tt.made)
				}
				if _, remembered := c.Ledger.Get(c.Key); remembered != tt.remembered {
					t.Errorf("remembered %t, want %t", remembered, tt.remembered)
				}
			})
		})
	}
}

// TestRepeatedCreation: a repetition goes on with what the first attempt made, and makes it anew if it is gone.
func TestRepeatedCreation(t *testing.T) {
	for _, gone := range []bool{false, true} {
		sent := 0
		c := Create[string]{
			Ledger: NewLedger(), Key: KeyOf(t.Context(), "r-1", "web"),
			Send: func(context.Context) (*string, error) { sent++; return new(fmt.Sprint(sent)), nil },
			Find: func(context.Context) ([]*string, error) { return nil, nil },
			Read: func(_ context.Context, id string) (*string, error) {
				if gone {
					return nil, nil //nolint:nilnil // Absence is an answer.
				}
				return &id, nil
			},
			ID: func(id *string) string { return *id },
		}
		for range 2 {
			if _, err := c.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if want := map[bool]int{false: 1, true: 2}[gone]; sent != want {
			t.Errorf("gone %t: sent %d times, want %d", gone, sent, want)
		}
	}
}

// TestLedgerForgetsNothing: a full ledger refuses what is new, and goes on to know what was begun.
func TestLedgerForgetsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := NewLedger()
		l.size = 2
		key := func(id string) Key { return KeyOf(t.Context(), id, "web") }
		for _, id := range []string{"1", "2", "2"} {
			if err := l.Begin(key(id), Begun{ID: id}); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.Begin(key("3"), Begun{}); rpcerr.ReasonOf(err) != rpcerr.Throttled {
			t.Errorf("got %v, want THROTTLED", err)
		}
		for _, id := range []string{"1", "2"} {
			if begun, ok := l.Get(key(id)); !ok || begun.ID != id {
				t.Errorf("%s is forgotten", id)
			}
		}
		l.End(key("1"))
		if err := l.Begin(key("3"), Begun{}); err != nil {
			t.Errorf("after the end of another: %v", err)
		}
		<-time.After(ledgerLife)
		if _, ok := l.Get(key("2")); ok {
			t.Error("is remembered for ever")
		}
		if err := l.Begin(key("4"), Begun{}); err != nil {
			t.Errorf("after the life of the others: %v", err)
		}
	})
}
