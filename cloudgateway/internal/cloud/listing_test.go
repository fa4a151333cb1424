package cloud

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/internal/openapi"
)

// script answers calls in their order; nothing is an error.
type script struct{ answers []string }

func (s *script) Do(_ context.Context, _ openapi.Call, out any) (openapi.Result, error) {
	next := s.answers[0]
	s.answers = s.answers[1:]
	if next == "" {
		return openapi.Result{}, errFinal
	}
	return openapi.Result{}, json.Unmarshal([]byte(next), out)
}

// TestListing: a list is complete or an error.
func TestListing(t *testing.T) {
	read := func(kind string, answers ...string) ([]string, error) {
		list := Listing[string]{
			Action: "DescribeThings", Items: "Things.Thing", MaxResults: 2, ID: func(id string) string { return id },
			Decode: func(item []byte) (id string, err error) {
				err = Decode(item, Fields{"Id": &id})
				return id, err
			},
		}
		switch kind {
		case "numbered":
			list.PerPage = 2
		case "flat":
			list.Items, list.MaxResults = "Things", 0
		}
		api := API{Product: openapi.VPC, Caller: &script{answers: answers}}
		return list.All(t.Context(), api, nil)
	}
	const first, second = `"Things":{"Thing":[{"Id":"a"},{"Id":"b"}]}}`, `"Things":{"Thing":[{"Id":"c"}]}}`
	for _, tt := range []struct {
		name, kind string
		answers    []string
		want       []string
		err        error
	}{
		{name: "numbers", kind: "numbered", answers: []string{`{"TotalCount":3,` + first, `{"TotalCount":3,` + second,
			`{"TotalCount":3,` + first}, want: []string{"a", "b", "c"}},
		{name: "tokens", answers: []string{`{"NextToken":"t",` + first, `{"NextToken":"",` + second}, want: []string{"a", "b", "c"}},
		{name: "a flat list", kind: "flat", answers: []string{`{"Things":[{"Id":"a"}]}`}, want: []string{"a"}},
		{name: "none", answers: []string{`{}`}},
		{name: "an error on the second page", answers: []string{`{"NextToken":"t",` + first, ""}, err: errFinal},
		{name: "an error on the second number", kind: "numbered", answers: []string{`{"TotalCount":3,` + first, ""}, err: errFinal},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := read(tt.kind, tt.answers...)
			if !errors.Is(err, tt.err) {
				t.Fatalf("got %v, want %v", err, tt.err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("items (-want +got):\n%s", diff)
			}
		})
	}
}
