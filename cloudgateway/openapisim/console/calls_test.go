package console

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/journal"
	"alicloud-controllers.dev/cloudgateway/openapisim/limit"
)

func TestFilter(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		q    query
		want []int64
	}{
		{"all", query{}, []int64{9, 8, 7, 6, 5, 4, 3, 2, 1}},
		{"product", query{Product: "vpc"}, []int64{7}},
		{"part of an action", query{Action: "describe"}, []int64{9, 8, 1}},
		{"caller", query{Caller: "terra"}, []int64{7}},
		{"errors", query{Errors: true}, []int64{8, 7, 6, 5}},
		{"writes", query{Writes: true}, []int64{7, 6, 5, 4, 3, 2}},
		{"everything at once", query{Product: "slb", Action: "group", Caller: "gateway", Errors: true, Writes: true}, []int64{6, 5}},
		{"nothing", query{Action: "fly"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := walk(small().Backward(), tt.q, noon())
			var got []int64
			for _, c := range d.calls.Items {
				got = append(got, c.Seq)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if d.calls.Matching != len(tt.want) || d.calls.Kept != 9 || d.counts.current() != 3 || d.counts.failed != 2 {
				t.Errorf("%d of %d match, %d in this minute, %d failed", d.calls.Matching, d.calls.Kept, d.counts.current(), d.counts.failed)
			}
		})
	}
}

func TestViewParams(t *testing.T) {
	t.Parallel()
	got := viewParams(map[string]string{
		"Action": "A", "SignatureNonce": "n", "AccessKeyId": "k", "Timestamp": "t",
		"PrivateKey": "do not show", "LoadBalancerId": "lb-1", "Long": strings.Repeat("é", 2*maxParam), "UserPassword": "do not show",
	})
	want := "LoadBalancerId=lb-1 Long=" + strings.Repeat("é", maxParam) + "… PrivateKey=(hidden) UserPassword=(hidden)"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	many := map[string]string{}
	for n := range 26 {
		many[string(rune('A'+n))] = strings.Repeat("x", maxParam)
	}
	if got := viewParams(many); len(got) > maxParams+maxParam+10 || !strings.HasSuffix(got, " …") {
		t.Errorf("many parameters give %d bytes: %s", len(got), got)
	}
}

func TestRates(t *testing.T) {
	t.Parallel()
	f := small()
	v := viewRates(walk(f.Backward(), query{}, noon()).counts, true, f.limits, query{})
	want := []rate{
		{
			Product: "slb", Action: "CreateVServerGroup", Peak: 5, Throttled: 2, PerMinute: 3, Limit: "3/min", LimitY: plotHeight - 3*plotHeight/5,
			Bars: []bar{{X: 120, Width: barWidth, TakenY: 9, Taken: 13, ThrottledY: 1, Refused: 8}},
		},
		{Product: "slb", Action: "DescribeRegions", Now: 1, Peak: 1, PerMinute: 600, Limit: "10/s",
			Bars: []bar{{X: 140, Width: barWidth, TakenY: 20, Taken: 2, ThrottledY: 20}}},
		{
			Product: "slb", Action: "DescribeLoadBalancerAttribute", Now: 1, Peak: 1, LimitY: plotHeight,
			Bars: []bar{{X: 140, Width: barWidth, Taken: plotHeight}},
		},
		{Product: "vpc", Action: "CreateRouteEntry", Now: 1, Peak: 1, LimitY: plotHeight,
			Bars: []bar{{X: 140, Width: barWidth, Taken: plotHeight}}},
	}
	if diff := cmp.Diff(want, v.Items); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	v = viewRates(walk(f.Backward(), query{}, noon()).counts, false, f.limits, query{Product: "slb", Action: "describe"})
	if len(v.Items) != 2 || !v.LimitsOff {
		t.Errorf("filtered, without limits: %+v", v)
	}
}

// Calls outside of the plot, also those of a clock that was set back, are left out. Of many actions a few are shown.
func TestRatesAreBounded(t *testing.T) {
	t.Parallel()
	c := newCounts(noon())
	for _, before := range []time.Duration{-time.Minute, 16 * time.Minute, minutes * time.Minute} {
		c.add(&journal.Call{Time: noon().Add(-before), Action: "A"})
	}
	if len(c.action) != 0 {
		t.Errorf("counted %v", c.action)
	}
	for n := range maxRemembered + 100 {
		c.add(&journal.Call{Time: noon(), Action: strings.Repeat("A", n%97) + string(rune('a'+n%25)) + time.Duration(n).String()})
	}
	v := viewRates(c, true, nil, query{})
	if len(c.action) != maxRemembered || len(v.Items) != ratesShown || v.More != maxRemembered-ratesShown {
		t.Errorf("%d actions remembered, %d shown, %d more", len(c.action), len(v.Items), v.More)
	}
}

func TestLimitText(t *testing.T) {
	t.Parallel()
	tests := []struct {
		limit     limit.Limit
		text      string
		perMinute int
	}{
		{limit.Limit{}, "", 0},
		{limit.Limit{Calls: 3000, Window: api.Duration(time.Minute)}, "3\u202f000/min", 3000},
		{limit.Limit{Calls: 5, Window: api.Duration(time.Second)}, "5/s", 300},
		{limit.Limit{Calls: 5, Window: api.Duration(10 * time.Second)}, "5/10s", 30},
	}
	for _, tt := range tests {
		got := viewRate(actionKey{}, new([minutes]minute), tt.limit)
		if got.Limit != tt.text || got.PerMinute != tt.perMinute {
			t.Errorf("%+v: %q, %d a minute; want %q, %d", tt.limit, got.Limit, got.PerMinute, tt.text, tt.perMinute)
		}
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1 000", 1234567: "1 234 567", -1: "-1", -123: "-123", -1234: "-1 234"} {
		if got := strings.ReplaceAll(count(n), "\u202f", " "); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
