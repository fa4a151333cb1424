package cloud

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	"alicloud-controllers.dev/proto/rpcerr"
)

var (
	errBusy  = &rpcerr.Error{Code: codes.Aborted, Reason: rpcerr.ResourceBusy, RetryAfter: time.Second}
	errFinal = &rpcerr.Error{Code: codes.InvalidArgument, Reason: rpcerr.InvalidField}
)

func TestRetry(t *testing.T) {
	tests := []struct {
		name     string
		deadline time.Duration // 0: none
		answers  []error       // the last one is repeated
		attempts int           // 0: any number
		want     error
		longest  time.Duration
	}{
		{name: "success", answers: []error{nil}, attempts: 1},
		{name: "a final error", answers: []error{errFinal}, attempts: 1, want: errFinal},
		{name: "busy for a while", answers: []error{errBusy, errBusy, nil}, attempts: 3, longest: 2 * time.Second},
		{name: "busy to the deadline", deadline: 10 * time.Second, answers: []error{errBusy}, want: errBusy, longest: 10 * time.Second},
		{name: "busy without a deadline", answers: []error{errBusy}, want: errBusy, longest: patience},
		{name: "no time for another attempt", deadline: 100 * time.Millisecond, answers: []error{errBusy}, attempts: 1, want: errBusy},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if tt.deadline > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tt.deadline)
					defer cancel()
				}
				start, attempts := time.Now(), 0
				err := Retry(ctx, Busy, func(context.Context) error {
					attempts++
					return tt.answers[min(attempts, len(tt.answers))-1]
				})
				if !errors.Is(err, tt.want) {
					t.Errorf("got %v, want %v", err, tt.want)
				}
				if tt.attempts > 0 && attempts != tt.attempts {
					t.Errorf("%d attempts, want %d", attempts, tt.attempts)
				}
				if took := time.Since(start); took > tt.longest {
					t.Errorf("took %s, at most %s are right", took, tt.longest)
				}
			})
		})
	}
}

func TestRetryEndsWithItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		start := time.Now()
		if err := Retry(ctx, Busy, func(context.Context) error { return errBusy }); !Busy(err) {
			t.Errorf("got %v, want the last answer", err)
		}
		if took := time.Since(start); took > time.Second {
			t.Errorf("took %s after the caller had left", took)
		}
	})
}

type lockFunc func(ctx context.Context) error

func (f lockFunc) Lock(ctx context.Context, _ string) (func(), error) { return func() {}, f(ctx) }

func TestLockSaysThatNothingWasTried(t *testing.T) {
	late := lockFunc(func(context.Context) error { return context.DeadlineExceeded })
	if _, err := Lock(t.Context(), late, "lb-1"); !Busy(err) {
		t.Errorf("got %v, want RESOURCE_BUSY", err)
	}
	left := lockFunc(func(context.Context) error { return context.Canceled })
	if _, err := Lock(t.Context(), left, "lb-1"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the cancellation", err)
	}
}

func TestParams(t *testing.T) {
	p := Params{}.With("Empty", "").With("Name", "web").Int("Zero", 0).Int("Size", 3).
		List("Id", []string{"a", "b"}).JSONList("None", nil).JSONList("Ids", []string{"i-1", `i-"2"`})
	got := Tags(p, []*commonv1.Tag{{Key: "k", Value: "v"}, {Key: "any"}})
	want := Params{
		"Name": "web", "Size": "3", "Id.1": "a", "Id.2": "b", "Ids": `["i-1","i-\"2\""]`,
		"Tag.1.Key": "k", "Tag.1.Value": "v", "Tag.2.Key": "any",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("params (-want +got):\n%s", diff)
	}
}

// TestNumbered: each page has the items that its letters stand for.
func TestNumbered(t *testing.T) {
	tests := []struct {
		name   string
		pages  []string // in the order of the calls
		totals []int    // that each page names
		want   string   // empty: an error
		calls  string   // the numbers of the pages
	}{
		{name: "one page", pages: []string{"a"}, totals: []int{1}, want: "a", calls: "1"},
		{name: "exactly two pages", pages: []string{"ab", "cd", "ab"}, totals: []int{4, 4, 4}, want: "abcd", calls: "121"},
		{name: "something came between two pages", pages: []string{"ab", "bc", "xa", "bc"}, totals: []int{3, 4, 4, 4},
			want: "abcx", calls: "1212"},
		{
			name:  "something went, so that another was on no page",
			pages: []string{"ab", "de", "bc", "de", "bc"}, totals: []int{5, 4, 4, 4, 4}, want: "bcde", calls: "12121",
		},
		{
			name:  "something went and something came",
			pages: []string{"ab", "de", "bc", "de", "bc"}, totals: []int{4, 4, 4, 4, 4}, want: "bcde", calls: "12121",
		},
		{
			name:  "something went from the second of three pages",
			pages: []string{"ab", "cd", "f", "ab", "ce", "f", "ab", "ce"}, totals: []int{6, 6, 5, 5, 5, 5, 5, 5}, want: "abcef", calls: "12312312",
		},
		{
			name:  "something goes all the time",
			pages: []string{"ab", "cd", "bc", "de", "cd", "ef", "de", "fg"}, totals: []int{4, 4, 4, 4, 4, 4, 4, 4}, calls: "12121212",
		},
		{
			name:  "full pages that do not say how many there are",
			pages: []string{"ab", "cd", "e", "ab", "cd"}, totals: []int{0, 0, 0, 0, 0}, want: "abcde", calls: "12312",
		},
		{name: "a page that does not say how many there are", pages: []string{"a"}, totals: []int{0}, want: "a", calls: "1"},
		{name: "the last page is not there", pages: []string{"ab", ""}, totals: []int{3, 3}, calls: "12"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			calls := ""
			got, err := Numbered(t.Context(), Params{"VpcId": "vpc-1"}, 2, func(s string) string { return s },
				func(p Params) ([]string, int, error) {
					if p["VpcId"] != "vpc-1" || p["PageSize"] != "2" {
						t.Errorf("params %v", p)
					}
					calls += p["PageNumber"]
					n := len(calls) - 1
					return strings.Split(tt.pages[n], "")[:len(tt.pages[n])], tt.totals[n], nil
				})
			if strings.Join(got, "") != tt.want || (err != nil) != (tt.want == "") || calls != tt.calls {
				t.Errorf("got %q and %v by the pages %s, want %q by %s", got, err, calls, tt.want, tt.calls)
			}
		})
	}
	if none, err := Numbered(t.Context(), nil, 2, func(s string) string { return s },
		func(Params) ([]string, int, error) { return nil, 0, nil }); err != nil || len(none) > 0 {
		t.Errorf("an empty list: %v, %v", none, err)
	}
}

func TestTokened(t *testing.T) {
	var seen []string
	err := Tokened(t.Context(), Params{}, func(p Params) (string, error) {
		seen = append(seen, p["NextToken"])
		return map[string]string{"": "a", "a": "b"}[p["NextToken"]], nil
	})
	if diff := cmp.Diff([]string{"", "a", "b"}, seen); diff != "" || err != nil {
		t.Errorf("tokens (-want +got):\n%s%v", diff, err)
	}
	calls := 0
	err = Tokened(t.Context(), Params{}, func(Params) (string, error) { calls++; return strconv.Itoa(calls), nil })
	if err == nil || calls != maxPages {
		t.Errorf("a listing without end: %d calls and %v", calls, err)
	}
	calls = 0
	err = Tokened(t.Context(), Params{}, func(Params) (string, error) { calls++; return "again", nil })
	if err == nil || calls != 2 {
		t.Errorf("a listing that does not get on: %d calls and %v", calls, err)
	}
}
