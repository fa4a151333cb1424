// Package checktest tests the rules of requests, in the packages that have them.
package checktest

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/check"
)

// Case is a request and everything that is wrong with it, as "field: description". One without Want is right.
type Case struct {
	Name    string // of the case, where that of the request doesn't say it
	Request proto.Message
	Want    []string
}

// Run checks that each request is refused for exactly what is wrong with it.
func Run(t *testing.T, rules []check.Rule, cases []Case) {
	t.Helper()
	table := check.NewTable(rules)
	for _, c := range cases {
		t.Run(string(c.Request.ProtoReflect().Descriptor().Name())+" "+c.Name, func(t *testing.T) {
			Violations(t, table.Check(c.Request), c.Want)
		})
	}
}

// Violations checks that a request was refused for what is wrong with it, in any order, or not at all if nothing is.
func Violations(t *testing.T, err error, want []string) {
	t.Helper()
	var got []string
	if err != nil {
		e, ok := rpcerr.From(err)
		if !ok || e.Code != codes.InvalidArgument || e.Reason != rpcerr.InvalidField {
			t.Fatalf("got %v, want INVALID_FIELD", err)
		}
		for _, f := range e.Fields {
			got = append(got, f.Field+": "+f.Description)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(slices.Sorted(slices.Values(want)), got); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
}
