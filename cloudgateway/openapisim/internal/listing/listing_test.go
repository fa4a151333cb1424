package listing

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
)

// numbered returns the ids 00, 01, …
func numbered(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("%02d", i)
	}
	return ids
}

func TestNumbered(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, number, size string
		items              int
		want               string
		page               Page
	}{
		{"first of defaults", "", "", 12, "00 01 02 03 04 05 06 07 08 09", Page{1, 10, 12}},
		{"last of defaults", "2", "", 12, "10 11", Page{2, 10, 12}},
		{"full last one", "2", "3", 6, "03 04 05", Page{2, 3, 6}},
		{"beyond the end", "3", "3", 6, "", Page{3, 3, 6}},
		{"far beyond the end", strconv.Itoa(maxNumber), "100", 6, "", Page{maxNumber, 100, 6}},
		{"nothing", "1", "5", 0, "", Page{1, 5, 0}},
	}
	for _, tt := range tests {
		c := &api.Context{Params: api.NewParams(map[string]string{"PageNumber": tt.number, "PageSize": tt.size})}
		items, page := Numbered(c, numbered(tt.items))
		if got := strings.Join(items, " "); got != tt.want || page != tt.page {
			t.Errorf("%s: %q with %+v, want %q with %+v", tt.name, got, page, tt.want, tt.page)
		}
	}
}

// pages follows tokens to the end and returns what is on each page. Between has a chance to change the items after each page.
func pages(t *testing.T, items []string, size int, between func(page int, items []string) []string) [][]string {
	t.Helper()
	var all [][]string
	token := ""
	for {
		page, next, ok := After(items, func(id string) string { return id }, token, size)
		if !ok {
			t.Fatalf("token %q is refused", token)
		}
		all = append(all, slices.Clone(page))
		if next == "" {
			return all
		}
		if token = next; between != nil {
			items = between(len(all), items)
		}
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	drop := func(gone ...string) func(int, []string) []string {
		return func(page int, items []string) []string {
			if page != 1 {
				return items
			}
			return slices.DeleteFunc(slices.Clone(items), func(id string) bool { return slices.Contains(gone, id) })
		}
	}
	tests := []struct {
		name    string
		items   []string
		between func(int, []string) []string
		want    string
	}{
		{"nothing", nil, nil, "[[]]"},
		{"one page", numbered(2), nil, "[[00 01]]"},
		{"several", numbered(5), nil, "[[00 01] [02 03] [04]]"},
		{"the one of the token is gone", numbered(5), drop("01"), "[[00 01] [02 03] [04]]"},
		{"all before it are gone", numbered(5), drop("00", "01", "02"), "[[00 01] [03 04]]"},
		{"the rest is gone", numbered(4), drop("02", "03"), "[[00 01] []]"},
		{"one came behind it", numbered(3), func(_ int, items []string) []string {
			return slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(items), "015"))))
		}, "[[00 01] [015 02]]"},
	}
	for _, tt := range tests {
		if got := fmt.Sprint(pages(t, tt.items, 2, tt.between)); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

func TestForeignTokens(t *testing.T) {
	t.Parallel()
	for _, token := range []string{"x", "2", "!!!", base64.RawURLEncoding.EncodeToString([]byte("00")),
		base64.StdEncoding.EncodeToString([]byte("after:0"))} {
		if page, next, ok := After(numbered(3), func(id string) string { return id }, token, 2); ok {
			t.Errorf("token %q gives %v, %q", token, page, next)
		}
	}
}

func TestFilters(t *testing.T) {
	t.Parallel()
	if !Match("", "a") || !Match("a", "a") || Match("a", "b") || Match("a", "") {
		t.Error("Match is wrong")
	}
	if !Among(nil, "a") || !Among([]string{"b", "a"}, "c", "a") || Among([]string{"b"}, "a") || Among([]string{"b"}) {
		t.Error("Among is wrong")
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, CommaList(" a,b ,,c,")); diff != "" || CommaList(" , ") != nil {
		t.Errorf("CommaList (-want +got):\n%s", diff)
	}
}

// FuzzTokens takes any text for a token: it is refused, or names a place, from which all that follows comes exactly once.
func FuzzTokens(f *testing.F) {
	_, next, _ := After(numbered(5), func(id string) string { return id }, "", 2)
	f.Add(next, uint8(5), uint8(2))
	f.Add("", uint8(0), uint8(1))
	f.Add("not a token", uint8(3), uint8(1))
	f.Add(base64.RawURLEncoding.EncodeToString([]byte(tokenPrefix+"zz")), uint8(3), uint8(1))
	f.Fuzz(func(t *testing.T, token string, count, size uint8) {
		items := numbered(int(count) % 100)
		page, next, ok := After(items, func(id string) string { return id }, token, 1+int(size))
		if !ok {
			return
		}
		seen := slices.Clone(page)
		for next != "" {
			if page, next, ok = After(items, func(id string) string { return id }, next, 1+int(size)); !ok || len(page) == 0 {
				t.Fatalf("the page behind %v is %v, %t", seen, page, ok)
			}
			seen = append(seen, page...)
		}
		if rest := items[len(items)-len(seen):]; !slices.Equal(seen, rest) {
			t.Errorf("token %q leads to %v, want %v", token, seen, rest)
		}
	})
}
