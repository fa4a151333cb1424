package doctor

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/internal/config"
	"alicloud-controllers.dev/cloudgateway/internal/flow"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/rampolicy"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/openapisim/limit"
)

func per(calls int, window time.Duration) flow.Limit { return flow.Limit{Calls: calls, Window: window} }

// TestCompare: what counts is whether the gateway could send more in a window of the cloud's than the account has.
func TestCompare(t *testing.T) {
	t.Parallel()
	const s, m, h = time.Second, time.Minute, time.Hour
	for _, tt := range []struct {
		ours, account flow.Limit
		want          Result
		set           flow.Limit // for the account's
	}{
		{per(60, m), per(60, m), OK, per(60, m)},
		{per(60, m), per(59, m), Warning, per(59, m)},
		{per(60, m), per(61, m), Hint, per(61, m)},
		{per(10, s), per(9, s), Warning, per(9, s)},
		{per(10, s), per(600, m), OK, per(600, m)},
		{per(10, s), per(599, m), Warning, per(599, m)},
		{per(600, m), per(10, s), Warning, per(10, s)}, // All 600 could go in one second.
		{per(10, m), per(10, s), Hint, per(10, s)},
		{per(60, m), per(100, 10*s), Hint, per(10, s)},
		{per(60, m), per(5, 10*s), Warning, per(5, m)},
		{per(60, m), per(3600, h), OK, per(60, m)},
		{per(60, m), per(100, h), Warning, per(1, m)},
		{per(1, m), per(1, h), Warning, per(1, m)},
	} {
		if got := compare(tt.ours, tt.account); got != tt.want {
			t.Errorf("%s of ours, %s of the account's: %s, want %s", shown(tt.ours), shown(tt.account), got, tt.want)
		}
		if got := override(tt.account); got != tt.set {
			t.Errorf("for %s of the account's: set %s, want %s", shown(tt.account), shown(got), shown(tt.set))
		}
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	used := []limited{{openapi.SLB, "CreateLoadBalancer", per(60, time.Minute)}}
	const lower = "rate limit slb/CreateLoadBalancer warning"
	of := func(code, name string, limit flow.Limit) quota {
		return quota{product: openapi.SLB, code: code, name: name, limit: limit}
	}
	for _, tt := range []struct {
		name   string
		quotas []quota
		want   string
	}{
		{"by the code", []quota{of("CreateLoadBalancer", "", per(30, time.Minute))}, "rate limits ok, " + lower},
		{"by the name", []quota{of("q_1", "API: CreateLoadBalancer (2014-05-15)", per(30, time.Minute))}, "rate limits ok, " + lower},
		{"by a part of the code", []quota{of("slb_2014-05-15_CreateLoadBalancer", "", per(30, time.Minute))}, "rate limits ok, " + lower},
		{"in another script", []quota{of("q_1", "\u63a5\u53e3CreateLoadBalancer\u9650\u901f", per(30, time.Minute))}, "rate limits ok, " + lower},
		{"the lowest of several", []quota{
			of("CreateLoadBalancer", "", per(60, time.Minute)), of("CreateLoadBalancer", "", per(30, time.Minute)),
			of("CreateLoadBalancer", "", per(90, time.Minute)),
		}, "rate limits ok, " + lower},
		{"of a longer name", []quota{of("CreateLoadBalancerTCPListener", "", per(30, time.Minute))}, "rate limits skipped"},
		{"of another product", []quota{{product: openapi.NLB, code: "CreateLoadBalancer", limit: per(30, time.Minute)}}, "rate limits skipped"},
		{"not understood", []quota{of("CreateLoadBalancer", "", flow.Limit{})}, "rate limits skipped"},
		{"the same", []quota{of("CreateLoadBalancer", "", per(60, time.Minute))}, "rate limits ok"},
		{"none", nil, "rate limits skipped"},
	} {
		var got []string
		for _, f := range judge("rate limits", used, tt.quotas) {
			got = append(got, f.Check+" "+string(f.Result))
		}
		if diff := cmp.Diff(tt.want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestReadQuota(t *testing.T) {
	t.Parallel()
	for item, want := range map[string]flow.Limit{
		`{"TotalQuota":30,"Period":{"PeriodValue":60,"PeriodUnit":"second"}}`:       per(30, time.Minute),
		`{"TotalQuota":"30.0","Period":{"PeriodValue":"1","PeriodUnit":"MINUTES"}}`: per(30, time.Minute),
		`{"TotalQuota":5,"Period":{"PeriodValue":1,"PeriodUnit":"day"}}`:            per(5, 24*time.Hour),
		`{"TotalQuota":30}`: {},
		`{"TotalQuota":0,"Period":{"PeriodValue":60,"PeriodUnit":"second"}}`:  {},
		`{"TotalQuota":-1,"Period":{"PeriodValue":60,"PeriodUnit":"second"}}`: {},
		`{"TotalQuota":30,"Period":{"PeriodValue":1,"PeriodUnit":"moon"}}`:    {},
		`{"TotalQuota":30,"Period":{"PeriodValue":0,"PeriodUnit":"second"}}`:  {},
	} {
		if got, err := readQuota([]byte(item)); err != nil || got.limit != want {
			t.Errorf("%s: %s, want %s: %v", item, shown(got.limit), shown(want), err)
		}
	}
}

// set makes limits of the simulated account.
func (p *patient) set(calls map[string]int) {
	p.t.Helper()
	table := limit.Table{}
	for action, n := range calls {
		table[action] = limit.Limit{Calls: n}
		if n > 0 {
			table[action] = limit.Limit{Calls: n, Window: api.Duration(time.Minute)}
		}
	}
	if err := p.sim.SetLimits(table); err != nil {
		p.t.Fatal(err)
	}
}

// TestQuotaCenter: a quota of the account that was raised is a hint, one that is lower a warning, with the key to set; what Quota Center
// does not have is named.
func TestQuotaCenter(t *testing.T) {
	t.Parallel()
	p := newPatient(t)
	p.set(map[string]int{"slb/CreateLoadBalancer": 30, "vpc/CreateRouteEntries": 900, "ecs/DescribeInstances": 0, "ecs/RunInstances": 1})
	p.Limits["slb/DeleteLoadBalancer"] = per(100, time.Minute) // As the configuration has it.
	p.Features, p.Optional = rampolicy.Used(config.API{}), rampolicy.Optional()
	report := p.examine()
	want := map[string]Result{
		"region": Skipped, "rate limit slb/CreateLoadBalancer": Warning, "rate limit slb/DeleteLoadBalancer": Warning,
		"rate limit vpc/CreateRouteEntries": Hint,
	}
	if diff := cmp.Diff(want, unwell(report)); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	out := written(t, report)
	for _, want := range []string{
		"3 differ; not in Quota Center: ecs/DescribeInstances\n", "\nNo check failed.\n",
		"the gateway keeps to 60 calls in 60s, the account has 30 calls in 60s\n",
		"Set budget.overrides.slb/CreateLoadBalancer to {calls: 30, window: 60s}: beyond that the cloud refuses calls.\n",
		"Set budget.overrides.slb/DeleteLoadBalancer to {calls: 90, window: 60s}: ",
		"Set budget.overrides.vpc/CreateRouteEntries to {calls: 900, window: 60s}, and the gateway uses what the account has.\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the report lacks %q:\n%s", want, out)
		}
	}
}

// TestQuotaCenterCannotBeRead: the gateway works without, so that is no failure. Of a part of them nothing is concluded.
func TestQuotaCenterCannotBeRead(t *testing.T) {
	for _, tt := range []struct {
		name   string
		infect func(p *patient)
		want   string
	}{
		{"refused", func(p *patient) {
			p.inject(fault.Rule{Product: "quotas", Error: &fault.Error{
				Status: 403, Code: "Forbidden.RAM", Message: "User not authorized to operate on the specified resource.",
			}})
		}, "not compared with Quota Center: quotas:ListProductQuotas is not permitted; for that, attach the policy " +
			"deploy/ram-policies/rate-limits.json to acs:ram::1000000000000001:root\n"},
		{"not every product", func(p *patient) {
			p.inject(fault.Rule{Product: "quotas", Nth: 2, Error: &fault.Error{Status: 400, Code: "Throttling.User", Message: "Too many."}})
		}, "not compared with Quota Center: "},
		{"no way", func(p *patient) { p.OpenAPI.Endpoints[openapi.Quotas] = "127.0.0.1:1" }, "not compared with Quota Center: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPatient(t)
			p.Features = rampolicy.Used(config.API{})
			p.set(map[string]int{"slb/CreateLoadBalancer": 30})
			tt.infect(p)
			report := p.examine()
			if diff := cmp.Diff(map[string]Result{"region": Skipped, "rate limits": Skipped}, unwell(report)); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			if out := written(t, report); !strings.Contains(out, tt.want) || strings.Contains(out, "What to do") {
				t.Errorf("the report lacks %q, or has something to do:\n%s", tt.want, out)
			}
		})
	}
}
