package write

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc/codes"

	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/rpc"
)

// TestUnique: "there is one already" is a success only for the request that was sent before.
func TestUnique(t *testing.T) {
	errLost := &rpcerr.Error{Code: codes.Unknown, Reason: rpcerr.OutcomeUnknown}
	errExists := &rpcerr.Error{Code: codes.AlreadyExists, Reason: rpcerr.AlreadyExists}
	errUnread := errors.New("can't be read")
	tests := []struct {
		name       string
		caller     string // of an earlier attempt, whose answer was lost; "" if there was none
		sends      []error
		found      string // "" if there is none as asked for
		unread     bool
		sent       int
		made       string
		want       error
		remembered bool
	}{
		{name: "made", sends: []error{nil}, sent: 1, made: "sent", remembered: true},
		{name: "refused", sends: []error{errExists}, found: "other", sent: 1, want: errExists},
		{name: "lost, and there", sends: []error{errLost}, found: "mine", sent: 1, made: "mine", remembered: true},
		{name: "lost, and not there", sends: []error{errLost, nil}, sent: 2, made: "sent", remembered: true},
		{name: "lost, and comes later", sends: []error{errLost, errExists}, sent: 2, want: errExists, remembered: true},
		{name: "lost, and unread", sends: []error{errLost, errExists}, unread: true, sent: 2, want: errUnread, remembered: true},
		{name: "repeated", caller: "me", sends: []error{errExists}, found: "mine", sent: 1, made: "mine", remembered: true},
		{name: "repeated by another caller", caller: "other", sends: []error{errExists}, found: "mine", sent: 1, want: errExists},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				as := func(caller string) context.Context { return rpc.WithCaller(t.Context(), rpc.Caller{Name: caller}) }
				ctx, sent := as("me"), 0
				u := Unique[string]{
					Ledger: NewLedger(), Key: KeyOf(ctx, "r-1", "web"), Name: "it", Exists: rpcerr.AlreadyExists,
					Send: func(context.Context) (*string, error) {
						sent++
						if err := tt.sends[min(sent, len(tt.sends))-1]; err != nil {
							return nil, err
						}
						return new("sent"), nil
					},
					Find: func(context.Context) (*string, error) {
						switch {
						case tt.unread:
							return nil, errUnread
						case tt.found == "":
							return nil, nil //nolint:nilnil // Absence is an answer.
						}
						return new(tt.found), nil
					},
				}
				if tt.caller != "" {
					if err := u.Ledger.Begin(KeyOf(as(tt.caller), "r-1", "web"), Begun{}); err != nil {
						t.Fatal(err)
					}
				}
				made, err := u.Run(ctx)
				if !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) {
					t.Errorf("got %v, want %v", err, tt.want)
				}
				if err == nil && *made != tt.made || sent != tt.sent {
					t.Errorf("made %v with %d calls, want %q with %d", made, sent, tt.made, tt.sent)
				}
				if _, remembered := u.Ledger.Get(u.Key); remembered != tt.remembered {
					t.Errorf("remembered %t, want %t", remembered, tt.remembered)
				}
			})
		})
	}
}
