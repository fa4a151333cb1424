package console

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParseQuery(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", maxTerm)
	tests := []struct{ in, want string }{
		{"", ""},
		{"search=+LB-1+", "search=lb-1"},
		{"product=slb&action=Create&caller=Me&errors=1&writes=on", "action=create&caller=me&errors=1&product=slb&writes=1"},
		{"balancers=3&routes=1&instances=0", "balancers=3"},
		{"balancers=many&routes=-4&instances=99999999999999999999", ""},
		{"elephants=1", ""},
		{"search=%ff%3Cb%3E", "search=%3Cb%3E"},
		{"search=" + long, "search=" + url.QueryEscape(long[:maxTerm])},
	}
	for _, tt := range tests {
		values, err := url.ParseQuery(tt.in)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, parseQuery(values).String()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.in, diff)
		}
	}
}

// Every query string is understood, and what is understood is written so that it is understood again in the same way.
func TestQueryRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		values := url.Values{}
		for _, name := range []string{"search", "product", "action", "caller", "errors", "writes", listBalancers, listRoutes, listInstances} {
			if rapid.Bool().Draw(t, "has "+name) {
				values.Set(name, rapid.OneOf(rapid.String(), rapid.StringMatching(`[0-9]{1,3}`)).Draw(t, name))
			}
		}
		once := parseQuery(values)
		again, err := url.ParseQuery(once.String())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(once, parseQuery(again)); diff != "" {
			t.Fatalf("%q (-once +twice):\n%s", once, diff)
		}
	})
}

func TestPaginate(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name        string
		items, page int
		want        pager
	}{
		{"nothing", 0, 0, pager{List: "l"}},
		{"one page", 3, 0, pager{List: "l", First: 1, Last: 3, Total: 3}},
		{"first", 7, 1, pager{List: "l", First: 1, Last: 3, Total: 7, Next: "?l=2"}},
		{"middle", 7, 2, pager{List: "l", First: 4, Last: 6, Total: 7, Previous: "?", Next: "?l=3"}},
		{"last", 7, 3, pager{List: "l", First: 7, Last: 7, Total: 7, Previous: "?l=2"}},
		{"behind the last", 7, 9, pager{List: "l", First: 7, Last: 7, Total: 7, Previous: "?l=2"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			items, got := paginate(query{Pages: map[string]int{"l": tt.page}}, "l", make([]int, tt.items), 3)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("pager (-want +got):\n%s", diff)
			}
			if want := max(0, got.Last-got.First+1); got.Total > 0 && len(items) != want {
				t.Errorf("%d items, want %d", len(items), want)
			}
		})
	}
}
