package acl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc/codes"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/flow"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/slb"
)

// script answers calls in their order, with a text of JSON or an error; the last answer is repeated.
type script struct {
	answers []any
	calls   []openapi.Call
}

func (s *script) Do(_ context.Context, call openapi.Call, out any) (openapi.Result, error) {
	answer := s.answers[min(len(s.calls), len(s.answers)-1)]
	s.calls = append(s.calls, call)
	switch answer := answer.(type) {
	case error:
		return openapi.Result{}, answer
	case string:
		if out == nil {
			return openapi.Result{}, nil
		}
		return openapi.Result{}, json.Unmarshal([]byte(answer), out)
	}
	return openapi.Result{}, errors.New("the script has something else")
}

func newService(answers ...any) (*Service, *script) {
	s := &script{answers: answers}
	return New(slb.New(s, cloud.Shared{Locks: &flow.Keyed[string]{}, Logger: slog.New(slog.DiscardHandler)}, nil)), s
}

// page is an answer with some entries of a list.
func page(total int, cidrs ...string) string {
	text := ""
	for i, cidr := range cidrs {
		if i > 0 {
			text += ","
		}
		text += fmt.Sprintf(`{"AclEntryIP":%q}`, cidr)
	}
	return fmt.Sprintf(`{"AclId":"acl-1","TotalAclEntry":%d,"AclEntrys":{"AclEntry":[%s]}}`, total, text)
}

// TestPagesThatDoNotBelongTogether: where an entry may be missing, the read fails.
func TestPagesThatDoNotBelongTogether(t *testing.T) {
	tests := []struct {
		name  string
		pages []any
		want  []string // nil: UNAVAILABLE
		calls int
	}{
		{name: "no entries", pages: []any{page(0)}, want: []string{}, calls: 1},
		{name: "two pages", pages: []any{page(3, "10.2.0.0/16", "9.0.0.1"), page(3, "10.1.0.0/16"), page(3, "10.2.0.0/16", "9.0.0.1")},
			want: []string{"9.0.0.1/32", "10.1.0.0/16", "10.2.0.0/16"}, calls: 3},
		{name: "an entry was removed between them", pages: []any{page(3, "10.1.0.0/16", "10.2.0.0/16"), page(2),
			page(2, "10.2.0.0/16", "10.3.0.0/16")},
			want: []string{"10.2.0.0/16", "10.3.0.0/16"}, calls: 3},
		{name: "the same page twice", pages: []any{page(4, "10.1.0.0/16", "10.2.0.0/16")}, calls: 8},
		{name: "a page is empty", pages: []any{page(3, "10.1.0.0/16"), page(3)}, calls: 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, s := newService(tt.pages...)
			list, err := c.describe(t.Context(), "acl-1")
			if (tt.want == nil) != (rpcerr.ReasonOf(err) == rpcerr.CloudUnavailable) || tt.want != nil && err != nil {
				t.Fatalf("got %v, want entries: %t", err, tt.want != nil)
			}
			if len(s.calls) != tt.calls {
				t.Errorf("%d calls, want %d", len(s.calls), tt.calls)
			}
			for i, e := range list.GetEntries() {
				if i >= len(tt.want) || e.GetCidr() != tt.want[i] {
					t.Errorf("entry %d is %s, want %q", i, e.GetCidr(), tt.want)
				}
			}
			if err == nil && len(list.GetEntries()) != len(tt.want) {
				t.Errorf("%d entries, want %d", len(list.GetEntries()), len(tt.want))
			}
		})
	}
}

func TestWhatIsNoNetwork(t *testing.T) {
	c, _ := newService(page(1, "everything"))
	if _, err := c.describe(t.Context(), "acl-1"); err == nil ||
		err.Error() != `decode access control list acl-1: "everything" is not a network` {
		t.Errorf("got %v", err)
	}
}

// TestContradictions: the cloud says that an entry is there, and does not list it. That is not believed for ever.
func TestContradictions(t *testing.T) {
	exists := &rpcerr.Error{Code: codes.AlreadyExists, Reason: rpcerr.AlreadyExists}
	busy := &rpcerr.Error{Code: codes.Aborted, Reason: rpcerr.ResourceBusy}
	lost := &rpcerr.Error{Code: codes.Unknown, Reason: rpcerr.OutcomeUnknown}
	tests := []struct {
		name    string
		answers []any
		want    error
		calls   int
	}{
		{name: "nothing of it is there", answers: []any{exists, page(1, "10.9.0.0/16")}, want: exists, calls: 2},
		{name: "one is there, and another comes", answers: []any{exists, page(1, "10.1.0.0/16"), exists,
			page(2, "10.1.0.0/16", "10.2.0.0/16")}, calls: 4},
		{name: "busy, and lost in between", answers: []any{busy, lost, busy, "{}"}, calls: 4},
		{name: "lost, but done", answers: []any{lost, exists, page(2, "10.1.0.0/16", "10.2.0.0/16")}, calls: 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, s := newService(tt.answers...)
				_, err := c.UpdateAccessControlList(t.Context(), &slbv1.UpdateAccessControlListRequest{AclId: "acl-1",
					AddEntries: []*slbv1.AccessControlEntry{
						{Cidr: "10.1.0.0/16"}, {Cidr: "10.2.0.0/16"},
					}})
				if !errors.Is(err, tt.want) || len(s.calls) != tt.calls {
					t.Errorf("%v after %d calls, want %v after %d", err, len(s.calls), tt.want, tt.calls)
				}
			})
		})
	}
}
