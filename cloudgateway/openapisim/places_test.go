package openapisim_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/auth/credentials"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// Each account has a cloud of its own in each region. A request is for the account of its key and the region that it names.
func TestAccountsAndRegions(t *testing.T) {
	t.Parallel()
	sim := newCloud(t, openapisim.Config{
		Regions: []string{"cn-beijing"}, SmallWorld: true,
		Accounts: []openapisim.Account{{ID: "2", AccessKeys: []openapisim.AccessKey{{ID: "second", Secret: "s"}}}},
	})
	for _, port := range []string{"all", "vpc"} {
		first, second := newClient(t, sim), newClientWith(t, sim, credentials.NewAccessKeyCredential("second", "s"))
		for _, tt := range []struct {
			client          *client
			account, region string
			vpc             string
		}{
			{first, "", "", "vpc-1"}, {first, "", "cn-beijing", "vpc-seed"}, {second, "2", "cn-hangzhou", "vpc-seed"},
			{second, "2", "cn-beijing", "vpc-seed"},
		} {
			place := sim.At(tt.account, tt.region)
			place.ClearCalls()
			r := tt.client.request("vpc", "DescribeVpcs")
			r.Domain = sim.Endpoint(port)
			if tt.region != "" {
				r.QueryParams["RegionId"] = tt.region
			}
			answer, code := tt.client.do(r)
			if code != "" || len(place.Calls(0)) != 1 || !strings.Contains(r.String(), "DescribeVpcs") && answer == nil {
				t.Errorf("%s %s at %s: %q, calls %v", tt.account, tt.region, port, code, place.Calls(0))
			}
			place.View(func(c *state.Cloud) {
				if c.Vpcs[tt.vpc] == nil {
					t.Errorf("%s %s has no %s", tt.account, tt.region, tt.vpc)
				}
			})
		}
	}
	c := newClient(t, sim)
	regions := c.must("ecs", "DescribeRegions")
	if got := len(regions["Regions"].(map[string]any)["Region"].([]any)); got != 2 {
		t.Errorf("%d regions", got)
	}
	if _, code := c.call("vpc", "DescribeVpcs", "RegionId", "eu-central-1"); code != "InvalidRegionId.NotFound" {
		t.Errorf("an unknown region: %q", code)
	}
	for path, want := range map[string]int{
		"/at/cn-beijing/admin/state": 200, "/at/2/cn-beijing/admin/state": 200, "/at/2/cn-beijing/console": 200,
		"/at/nowhere/admin/state": 404, "/at/": 404,
	} {
		status, body := admin(t, sim, http.MethodGet, path, "")
		if status != want || strings.HasSuffix(path, "2/cn-beijing/admin/state") && !strings.Contains(body, `"account":"2"`) {
			t.Errorf("%s: %d %.100s", path, status, body)
		}
	}
	if sim.At("3", "") != nil {
		t.Error("there is a third account")
	}
}

// A reset takes everything to where it was at the start.
func TestReset(t *testing.T) {
	t.Parallel()
	sim := newCloud(t, openapisim.Config{Regions: []string{"cn-beijing"}, SmallWorld: true, LimitsOff: true})
	c := newClient(t, sim)
	before, err := sim.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	settings := sim.Settings()
	c.must("slb", "CreateLoadBalancer")
	sim.At("", "cn-beijing").Update(func(c *state.Cloud) { clear(c.Vpcs) })
	admin(t, sim, http.MethodPut, "/admin/limits",
		`{"enabled": true, "actions": {"slb/DescribeLoadBalancers": {"calls": 1, "window": "60s"}}, "settings": {"nlbJob": "9s"}}`)
	admin(t, sim, http.MethodPut, "/admin/faults", `{"faults": [{"action": "*", "drop": true}]}`)
	admin(t, sim, http.MethodPut, "/admin/clock", `{"set": "2030-01-01T00:00:00Z"}`)
	if status, body := admin(t, sim, http.MethodPost, "/admin/reset", ""); status != http.StatusNoContent {
		t.Fatalf("%d %s", status, body)
	}
	after, err := sim.Snapshot()
	if err != nil || string(after) != string(before) {
		t.Errorf("%v\n%s, was\n%s", err, after, before)
	}
	if len(sim.Calls(0)) != 0 || len(sim.Faults()) != 0 || sim.Settings() != settings || sim.Now().Year() == 2030 {
		t.Errorf("calls %v, faults %v, settings %+v, time %v", sim.Calls(0), sim.Faults(), sim.Settings(), sim.Now())
	}
	for range 3 {
		c.must("slb", "DescribeLoadBalancers")
	}
	sim.At("", "cn-beijing").View(func(c *state.Cloud) {
		if len(c.Vpcs) != 1 {
			t.Errorf("the other region has %d VPCs", len(c.Vpcs))
		}
	})
}

// Beginners need no key; what a known key may not do is refused all the same.
func TestAnyCredentials(t *testing.T) {
	t.Parallel()
	sim := newCloud(t, openapisim.Config{
		AnyCredentials: true, AccessKeys: []openapisim.AccessKey{{ID: "reader", Secret: "s", Deny: []string{"*:Create*"}}},
	})
	stranger := newClientWith(t, sim, credentials.NewAccessKeyCredential("test", "test"))
	stranger.must("slb", "CreateLoadBalancer")
	if _, code := newClientWith(t, sim, credentials.NewAccessKeyCredential("reader", "wrong")).call("slb",
		"CreateLoadBalancer"); code != "Forbidden.RAM" {
		t.Errorf("a key without the right: %q", code)
	}
	response, err := http.Get("http://" + sim.Endpoint("all") + "/?Action=DescribeVpcs&Version=2016-04-28&RegionId=cn-hangzhou")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	defer http.DefaultClient.CloseIdleConnections()
	if response.StatusCode != http.StatusOK {
		t.Errorf("no signature at all: %s", response.Status)
	}
}
