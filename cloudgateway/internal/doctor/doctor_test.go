package doctor

import (
	"context"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"alicloud-controllers.dev/cloudgateway/internal/config"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/openapi/metadata"
	"alicloud-controllers.dev/cloudgateway/internal/rampolicy"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestGoodHealth(t *testing.T) {
	p := newPatient(t)
	p.onInstance()
	before, err := p.sim.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	report := p.examine()
	// Instances of the simulated cloud are in no group unless a test puts them there.
	if diff := cmp.Diff(map[string]Result{"security groups": Skipped}, unwell(report)); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	if text := written(t, report); !strings.HasSuffix(text, "\nNo check failed.\n") || strings.Contains(text, "What to do") {
		t.Errorf("report:\n%s", text)
	}
	after, err := p.sim.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(before), string(after)); diff != "" {
		t.Errorf("the examination changed the cloud (-before +after):\n%s", diff)
	}
	tried := map[string]bool{}
	for _, call := range p.sim.Calls(0) {
		tried[call.Product+":"+call.Action] = true
		if call.Effect || strings.HasPrefix(call.Code, "Missing") && call.Action != "" {
			t.Errorf("%s answered %s, effect %t: it must be complete and without effect", call.Action, call.Code, call.Effect)
		}
	}
	for _, row := range rampolicy.Rows() {
		action := string(row.Product) + ":" + row.Action // RAM has another name for a product.
		if buys := action == "vpc:AllocateEipAddress"; tried[action] == buys {
			t.Errorf("%s was tried: %t", action, tried[action])
		}
	}
}

func TestFeatures(t *testing.T) {
	p := newPatient(t)
	p.Features = []rampolicy.Feature{rampolicy.Nodes}
	var tried []string
	for _, f := range p.examine().Findings {
		if action, ok := strings.CutPrefix(f.Check, "permission "); ok {
			tried = append(tried, action)
		}
	}
	want := []string{"vpc:DescribeVpcAttribute", "ecs:DescribeInstances", "ecs:DescribeNetworkInterfaces",
		"ecs:ModifyNetworkInterfaceAttribute"}
	if diff := cmp.Diff(want, tried); diff != "" {
		t.Errorf("tried (-want +got):\n%s", diff)
	}
}

// TestOptionalFeatures: what only some Services need is a warning with what it is for, unless somebody asks for it.
func TestOptionalFeatures(t *testing.T) {
	forbidden := fault.Rule{Product: "slb", Action: "SetBackendServers", Error: &fault.Error{
		Status: 403, Code: "Forbidden.RAM", Message: "User not authorized to operate on the specified resource.",
	}}
	const advice = "1. Attach the policy deploy/ram-policies/default-server-groups.json to " +
		"acs:ram::1000000000000001:root: it lacks slb:SetBackendServers."
	for _, tt := range []struct {
		name               string
		features, optional []rampolicy.Feature
		want               Result
		advice             string
	}{
		{"by default", rampolicy.Used(config.API{}), rampolicy.Optional(), Warning, advice +
			" Without it all works but this: The nodes of a Service are in"},
		{"asked for", []rampolicy.Feature{rampolicy.DefaultServerGroups}, nil, Failed, advice + "\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPatient(t)
			p.Features, p.Optional = tt.features, tt.optional
			p.inject(forbidden)
			report := p.examine()
			want := map[string]Result{"permission slb:SetBackendServers": tt.want, "region": Skipped}
			if diff := cmp.Diff(want, unwell(report)); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			if (report.Failed() > 0) != (tt.want == Failed) {
				t.Errorf("%d checks failed", report.Failed())
			}
			var text strings.Builder
			if _, err := report.WriteTo(&text); err != nil || !strings.Contains(text.String(), tt.advice) {
				t.Errorf("the report lacks %q: %v\n%s", tt.advice, err, &text)
			}
		})
	}
}

func TestDiseases(t *testing.T) {
	forbidden := func(product, action string) fault.Rule {
		return fault.Rule{Product: product, Action: action, Error: &fault.Error{
			Status: 403, Code: "Forbidden.RAM", Message: "User not authorized to operate on the specified resource.",
		}}
	}
	permissionsOf := func(product openapi.Product, result Result) map[string]Result {
		found := map[string]Result{}
		for _, row := range rampolicy.Rows() {
			untried := result != Skipped && row.Name() == "vpc:AllocateEipAddress"
			if (product == "" || row.Product == product) && !untried {
				found["permission "+row.Name()] = result
			}
		}
		return found
	}
	with := func(found map[string]Result, more map[string]Result) map[string]Result {
		maps.Copy(found, more)
		return found
	}
	tests := []struct {
		name   string
		infect func(p *patient)
		want   map[string]Result // beside the region, which can't be checked here
		texts  []string
	}{
		{
			name: "permissions refused",
			infect: func(p *patient) {
				p.inject(forbidden("slb", "CreateLoadBalancer"), forbidden("slb", "TagResources"), forbidden("vpc", "*RouteEntries"))
			},
			want: map[string]Result{
				"permission slb:CreateLoadBalancer": Failed, "permission slb:TagResources": Failed,
				"permission vpc:CreateRouteEntries": Failed, "permission vpc:DeleteRouteEntries": Failed,
			},
			texts: []string{
				"1. Attach the policy deploy/ram-policies/load-balancers.json to acs:ram::1000000000000001:root: it lacks " +
					"slb:CreateLoadBalancer, slb:TagResources.\n",
				"2. Attach the policy deploy/ram-policies/routes.json to acs:ram::1000000000000001:root: it lacks " +
					"vpc:CreateRouteEntries, vpc:DeleteRouteEntries.\n",
				"\n4 of ",
			},
		},
		{
			name:   "everything refused",
			infect: func(p *patient) { p.inject(forbidden("", "")) },
			want:   with(permissionsOf("", Failed), map[string]Result{"identity": Warning, "vpc": Warning, "rate limits": Skipped}),
			texts:  []string{"to the gateway's identity: it lacks slb:DescribeLoadBalancers, "},
		},
		{
			name:   "wrong secret",
			infect: func(p *patient) { p.Source = p.key("LTAIgood", "wrong-secret") },
			want:   with(permissionsOf("", Skipped), map[string]Result{"identity": Failed, "vpc": Skipped, "rate limits": Skipped}),
			texts:  []string{"1. Replace the AccessKey secret: it is not that of LTAIgood.\n"},
		},
		{
			name:   "unknown key",
			infect: func(p *patient) { p.Source = p.key("LTAIbad", "good-secret") },
			want:   with(permissionsOf("", Skipped), map[string]Result{"identity": Failed, "vpc": Skipped, "rate limits": Skipped}),
			texts:  []string{"1. Replace the AccessKey: the cloud does not know LTAIbad.\n"},
		},
		{
			name:   "disabled key",
			infect: func(p *patient) { p.Source = p.key("LTAIoff", "good-secret") },
			want:   with(permissionsOf("", Skipped), map[string]Result{"identity": Failed, "vpc": Skipped, "rate limits": Skipped}),
			texts:  []string{"1. Enable the AccessKey LTAIoff in RAM, or replace it.\n"},
		},
		{
			name:   "no secret",
			infect: func(p *patient) { p.Source = p.key("LTAIgood", "") },
			want:   with(permissionsOf("", Skipped), map[string]Result{"credentials": Failed, "vpc": Skipped, "rate limits": Skipped}),
			texts:  []string{"/secret is empty", "1. Give the gateway credentials: "},
		},
		{
			name:   "no way to STS",
			infect: func(p *patient) { p.sts.Endpoints = nowhere },
			want:   map[string]Result{"identity": Warning},
			texts:  []string{"\nNo check failed.\n"},
		},
		{
			name:   "wrong secret and no way to STS",
			infect: func(p *patient) { p.sts.Endpoints = nowhere; p.Source = p.key("LTAIgood", "wrong-secret") },
			want:   with(permissionsOf("", Skipped), map[string]Result{"identity": Warning, "vpc": Failed, "rate limits": Skipped}),
			texts:  []string{"1. Replace the AccessKey secret: it is not that of LTAIgood.\n"},
		},
		{
			name:   "no way to SLB",
			infect: func(p *patient) { p.OpenAPI.Endpoints[openapi.SLB] = "127.0.0.1:1" },
			want:   with(permissionsOf(openapi.SLB, Skipped), map[string]Result{"endpoint slb": Failed}),
			texts:  []string{"connection refused", "1. Open the way to the endpoint: "},
		},
		{
			name:   "no way to the certificates of NLB",
			infect: func(p *patient) { p.OpenAPI.Endpoints[openapi.CAS] = "127.0.0.1:1" },
			want:   with(permissionsOf(openapi.CAS, Skipped), map[string]Result{"endpoint cas": Warning}),
			texts:  []string{"connection refused", "1. Open the way to the endpoint: "},
		},
		{
			name: "nobody uses CAS, to which there is no way",
			infect: func(p *patient) {
				p.OpenAPI.Endpoints[openapi.CAS] = "127.0.0.1:1"
				p.Features = rampolicy.Used(config.API{})
			},
			want:  map[string]Result{},
			texts: []string{"\nNo check failed.\n"},
		},
		{
			name: "unknown host",
			infect: func(p *patient) {
				p.OpenAPI.Endpoints[openapi.ECS] = "ecs.invalid"
				p.OpenAPI.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
					if host, _, err := net.SplitHostPort(address); err != nil || net.ParseIP(host) == nil {
						return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
					}
					return (&net.Dialer{}).DialContext(ctx, network, address)
				}
			},
			want:  with(permissionsOf(openapi.ECS, Skipped), map[string]Result{"endpoint ecs": Failed}),
			texts: []string{"1. Check DNS, region and endpoints: "},
		},
		{
			name:   "wrong VPC",
			infect: func(p *patient) { p.VpcID = "vpc-2" },
			want:   map[string]Result{"vpc": Failed},
			texts:  []string{"1. Correct vpcID or region: the account has no vpc-2 in cn-hangzhou.\n"},
		},
		{
			name:   "no VPC configured",
			infect: func(p *patient) { p.VpcID = "" },
			want:   map[string]Result{"vpc": Skipped},
		},
		{
			name:   "clock ahead",
			infect: func(p *patient) { p.Now = func() time.Time { return time.Now().Add(20 * time.Minute) } },
			want:   map[string]Result{"clock": Failed},
			texts:  []string{" ahead of the cloud, so the cloud refuses every request", "1. Set the clock of this machine, e.g. with NTP.\n"},
		},
		{
			name:   "clock a little behind",
			infect: func(p *patient) { p.Now = func() time.Time { return time.Now().Add(-2 * time.Minute) } },
			want:   map[string]Result{"clock": Warning},
			texts:  []string{" behind the cloud; from 15m0s on"},
		},
		{
			name:   "throttled",
			infect: func(p *patient) { p.inject(throttled("TagResources")) },
			want: map[string]Result{
				"permission slb:TagResources": Warning, "permission vpc:TagResources": Warning,
				"permission ecs:TagResources": Warning, "permission nlb:TagResources": Warning,
			},
			texts: []string{"1. Run the doctor again: not every permission could be tried.\n", "\nNo check failed.\n"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := newPatient(t)
			tt.infect(p)
			report := p.examine()
			tt.want["region"] = Skipped
			if diff := cmp.Diff(tt.want, unwell(report)); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
			text := written(t, report)
			for _, want := range tt.texts {
				if !strings.Contains(text, want) {
					t.Errorf("the report lacks %q:\n%s", want, text)
				}
			}
			for _, secret := range []string{"good-secret", "wrong-secret", "Signature="} {
				if strings.Contains(text, secret) {
					t.Errorf("the report holds %q", secret)
				}
			}
		})
	}
}

func throttled(action string) fault.Rule {
	return fault.Rule{Action: action, Error: &fault.Error{Status: 400, Code: "Throttling.User",
		Message: "Request was denied due to user flow control."}}
}

func TestOnAnInstance(t *testing.T) {
	t.Run("in another region", func(t *testing.T) {
		p := newPatient(t)
		p.onInstance()
		p.Metadata = items{"region-id": "cn-beijing"}
		report := p.examine()
		if diff := cmp.Diff(map[string]Result{"region": Failed}, unwell(report)); diff != "" {
			t.Errorf("findings (-want +got):\n%s", diff)
		}
		if text := written(t, report); !strings.Contains(text, "1. Set region to cn-beijing, or run the gateway in cn-hangzhou.\n") {
			t.Errorf("report:\n%s", text)
		}
	})
	t.Run("in another VPC", func(t *testing.T) {
		p := newPatient(t)
		p.Metadata = items{"region-id": "cn-hangzhou", "vpc-id": "vpc-other"}
		report := p.examine()
		if diff := cmp.Diff(map[string]Result{"region": Warning}, unwell(report)); diff != "" {
			t.Errorf("findings (-want +got):\n%s", diff)
		}
	})
	// ECS does not refuse those who may not see an instance; it shows nothing.
	t.Run("that is not visible", func(t *testing.T) {
		p := newPatient(t)
		p.onInstance()
		p.inject(fault.Rule{Action: "DescribeInstances", Empty: true})
		report := p.examine()
		if diff := cmp.Diff(map[string]Result{"permission ecs:DescribeInstances": Failed, "security groups": Skipped},
			unwell(report)); diff != "" {
			t.Errorf("findings (-want +got):\n%s", diff)
		}
		if i := slices.IndexFunc(report.Findings, func(f Finding) bool { return f.Result == Failed }); !strings.Contains(
			report.Findings[i].Todo, "ecs:DescribeInstances") {
			t.Errorf("what to do is %q", report.Findings[i].Todo)
		}
	})
}

// items is a metadata service.
type items map[string]string

func (m items) Get(_ context.Context, item string) (string, error) {
	if text, ok := m[item]; ok {
		return text, nil
	}
	return "", metadata.ErrNotFound
}

// TestRateLimitHeader: what products say of their rate limits is in the report, so that it can be told to us.
func TestRateLimitHeader(t *testing.T) {
	p := newPatient(t)
	p.onInstance()
	if text := written(t, p.examine()); !strings.Contains(text, "no product tells what is left of a rate limit") {
		t.Errorf("report:\n%s", text)
	}
	w := httptest.NewRecorder()
	p.sim.Handler("admin").ServeHTTP(w, httptest.NewRequest(http.MethodPut, "/admin/limits",
		strings.NewReader(`{"enabled":true,"rateLimitHeader":true}`)))
	if w.Code != http.StatusOK {
		t.Fatal(w.Body)
	}
	if text := written(t, p.examine()); !strings.Contains(text, "slb says Limit:") || !strings.Contains(text, "ecs says Limit:") {
		t.Errorf("report:\n%s", text)
	}
}
