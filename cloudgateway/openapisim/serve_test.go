package openapisim_test

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/auth/credentials"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/requests"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func TestRefusedRequests(t *testing.T) {
	t.Parallel()
	sim := newCloud(t, openapisim.Config{AccessKeys: []openapisim.AccessKey{
		{ID: openapisim.DefaultAccessKeyID, Secret: openapisim.DefaultAccessKeySecret},
		{ID: "second", Secret: "second"}, {ID: "disabled", Secret: "s", Disabled: true},
	}})
	id, secret := openapisim.DefaultAccessKeyID, openapisim.DefaultAccessKeySecret
	tests := []struct {
		name       string
		credential [2]string
		change     func(*requests.CommonRequest)
		want       string
	}{
		{"accepted", [2]string{id, secret}, nil, ""},
		{"second key", [2]string{"second", "second"}, nil, ""},
		{"wrong secret", [2]string{id, "wrong"}, nil, "SignatureDoesNotMatch"},
		{"unknown key", [2]string{"nobody", secret}, nil, "InvalidAccessKeyId.NotFound"},
		{"disabled key", [2]string{"disabled", "s"}, nil, "InvalidAccessKeyId.Inactive"},
		{"unknown action", [2]string{id, secret}, func(r *requests.CommonRequest) { r.ApiName = "CreateElephant" }, "InvalidAction.NotFound"},
		{"unknown version", [2]string{id, secret}, func(r *requests.CommonRequest) { r.Version = "1999-01-01" }, "InvalidVersion"},
		{"unknown region", [2]string{id, secret}, func(r *requests.CommonRequest) { r.QueryParams["RegionId"] = "cn-mars" },
			"InvalidRegionId.NotFound"},
		{"parameter", [2]string{id, secret}, func(r *requests.CommonRequest) { r.QueryParams["RouteTableId"] = "" }, "MissingParameter"},
		{"unknown action without a key", [2]string{"nobody", "x"}, func(r *requests.CommonRequest) { r.ApiName = "X" }, "InvalidAction.NotFound"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newClientWith(t, sim, credentials.NewAccessKeyCredential(tt.credential[0], tt.credential[1]))
			before, err := sim.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			sim.ClearCalls()
			r := c.request("vpc", "CreateRouteEntry",
				"RouteTableId", tableID, "DestinationCidrBlock", "10.0.0.0/24", "NextHopId", "i-1")
			if tt.change != nil {
				tt.change(r)
			}
			if tt.name == "second key" {
				r.QueryParams["DestinationCidrBlock"] = "10.0.1.0/24"
			}
			_, code := c.do(r)
			if code != tt.want && !strings.HasPrefix(code, tt.want+"\n") {
				t.Errorf("code %q, want %q", code, tt.want)
			}
			after, err := sim.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			if changed := string(before) != string(after); changed != (tt.want == "") {
				t.Errorf("state changed: %v", changed)
			}
			calls := sim.Calls(0)
			if len(calls) != 1 || calls[0].Code != tt.want || calls[0].Effect != (tt.want == "") {
				t.Errorf("journal %+v", calls)
			}
		})
	}
}

// signed is a request as the SDK would send it.
func signed(t *testing.T, c *client, r *requests.CommonRequest) *http.Request {
	t.Helper()
	r.TransToAcsRequest()
	if err := c.sdk.BuildRequestWithSigner(r, nil); err != nil {
		t.Fatal(err)
	}
	out := httptest.NewRequest(r.GetMethod(), r.BuildUrl(), r.GetBodyReader())
	out.Header.Set("User-Agent", "tester/1")
	return out
}

func serve(sim *openapisim.Simulator, product string, r *http.Request) (int, string) {
	w := httptest.NewRecorder()
	sim.Handler(product).ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func TestReplayIsRefused(t *testing.T) {
	t.Parallel()
	sim := newCloud(t, openapisim.Config{})
	c := newClient(t, sim)
	r := signed(t, c, c.request("ecs", "DescribeInstances"))
	again := r.Clone(t.Context())
	if status, body := serve(sim, "ecs", r); status != 200 {
		t.Fatal(body)
	}
	status, body := serve(sim, "ecs", again)
	if status != 400 || !strings.Contains(body, `"Code":"SignatureNonceUsed"`) {
		t.Errorf("replay: %d %s", status, body)
	}
	if calls := sim.Calls(0); calls[0].Caller != "tester/1" || calls[1].Code != "SignatureNonceUsed" {
		t.Errorf("journal %+v", calls)
	}
}

// A nonce is used up also by a call that fails, so that bytes sent twice are refused whatever happened to the first ones.
func TestReplayOfAFailedCallIsRefused(t *testing.T) {
	t.Parallel()
	sim := newCloud(t, openapisim.Config{})
	c := newClient(t, sim)
	r := signed(t, c, c.request("slb", "DeleteLoadBalancer", "LoadBalancerId", "lb-none"))
	again := r.Clone(t.Context())
	if status, body := serve(sim, "slb", r); status != 404 {
		t.Fatal(status, body)
	}
	if _, body := serve(sim, "slb", again); !strings.Contains(body, "SignatureNonceUsed") {
		t.Error(body)
	}
}

func TestClockSkew(t *testing.T) {
	t.Parallel()
	for skew, want := range map[time.Duration]string{
		0: "", 14 * time.Minute: "", -14 * time.Minute: "", 16 * time.Minute: "InvalidTimeStamp.Expired",
		-16 * time.Minute: "InvalidTimeStamp.Expired",
	} {
		sim := newCloud(t, openapisim.Config{Now: func() time.Time { return time.Now().Add(skew) }})
		if _, code := newClient(t, sim).call("ecs", "DescribeInstances"); code != want {
			t.Errorf("skew %v: %q, want %q", skew, code, want)
		}
		sim.Advance(time.Hour) // the virtual clock has nothing to do with it
		if _, code := newClient(t, sim).call("ecs", "DescribeInstances"); code != want {
			t.Errorf("skew %v, virtual clock advanced: %q, want %q", skew, code, want)
		}
	}
}

func TestXML(t *testing.T) {
	t.Parallel()
	sim := newCloud(t, openapisim.Config{})
	c := newClient(t, sim)
	ask := func(product, action string, params ...string) (int, string) {
		r := c.request(product, action, params...)
		r.AcceptFormat = "XML"
		return serve(sim, product, signed(t, c, r))
	}
	status, body := ask("vpc", "DescribeVSwitches")
	for _, want := range []string{"<DescribeVSwitchesResponse><RequestId>",
		"<VSwitches><VSwitch><VSwitchId>vsw-1</VSwitchId>", "<TotalCount>1</TotalCount>"} {
		if status != 200 || !strings.Contains(body, want) {
			t.Errorf("%d, no %s in %s", status, want, body)
		}
	}
	status, body = ask("vpc", "DescribeVpcAttribute", "VpcId", "vpc-none")
	if status != 404 || !strings.Contains(body, "<Code>InvalidVpcId.NotFound</Code>") {
		t.Errorf("%d %s", status, body)
	}
}

// The journal says what was sent, but not what nobody else may know.
func TestJournalHoldsNoSecrets(t *testing.T) {
	t.Parallel()
	sim := newCloud(t, openapisim.Config{})
	c := newClient(t, sim)
	c.call("slb", "UploadServerCertificate", "ServerCertificate", "public", "PrivateKey", "hush")
	c.call("slb", "UploadServerCertificate", "ServerCertificate", "public", "privatekey", "hush")
	c.call("sts", "AssumeRoleWithOIDC", "RoleSessionName", "public", "OIDCToken", "hush")
	c.call("cas", "UploadUserCertificate", "Name", "public", "Cert", "c", "Key", "hush")
	c.call("cas", "UploadUserCertificate", "Name", "public", "Cert", "-----BEGIN EC PRIVATE KEY-----\nhush", "Key", "swapped")
	_, calls := admin(t, sim, http.MethodGet, "/admin/calls", "")
	secrets := []string{"hush", "swapped", openapisim.DefaultAccessKeySecret}
	shown := func(secret string) bool { return strings.Contains(calls, secret) }
	if slices.ContainsFunc(secrets, shown) || strings.Count(calls, "public") != 5 {
		t.Error(calls)
	}
}

// 200 calls within one minute of the virtual clock: 90 succeed, 110 are throttled, the next minute is a new one.
func TestThrottling(t *testing.T) {
	t.Parallel()
	sim := newCloud(t, openapisim.Config{})
	sim.SetTime(time.Date(2026, 1, 1, 12, 0, 30, 0, time.UTC))
	lb := newClient(t, sim).must("slb", "CreateLoadBalancer", "AddressType", "intranet", "VSwitchId", "vsw-1",
		"InstanceChargeType", "PayByCLCU")["LoadBalancerId"].(string)
	results := map[string]int{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 4 {
		c := newClient(t, sim)
		wg.Go(func() {
			for range 50 {
				_, code := c.call("slb", "CreateVServerGroup", "LoadBalancerId", lb)
				mu.Lock()
				results[code]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if results[""] != 90 || results["Throttling.User"] != 110 {
		t.Errorf("results %v", results)
	}
	sim.Advance(30 * time.Second)
	newClient(t, sim).must("slb", "CreateVServerGroup", "LoadBalancerId", lb)
	groups := 0
	sim.View(func(c *state.Cloud) { groups = len(c.ServerGroups) })
	if groups != 91 {
		t.Errorf("%d groups", groups)
	}
}

func TestRetryAfterHeader(t *testing.T) {
	t.Parallel()
	sim := newCloud(t, openapisim.Config{})
	sim.SetTime(time.Date(2026, 1, 1, 12, 0, 50, 0, time.UTC))
	c := newClient(t, sim)
	for _, on := range []string{"false", "true"} {
		status, body := admin(t, sim, http.MethodPut, "/admin/limits",
			`{"retryAfterHeader":`+on+`,"actions":{"ecs/DescribeInstances":{"calls":1,"window":"60s"}}}`)
		if status != 200 {
			t.Fatal(body)
		}
		c.must("ecs", "DescribeInstances")
		w := httptest.NewRecorder()
		sim.Handler("ecs").ServeHTTP(w, signed(t, c, c.request("ecs", "DescribeInstances")))
		want := map[string]string{"false": "", "true": "10001"}[on]
		if w.Code != 400 || w.Header().Get("x-acs-retry-after") != want {
			t.Errorf("header on=%s: %d, %q", on, w.Code, w.Header().Get("x-acs-retry-after"))
		}
	}
}

// TestRateLimitHeader: the header says what is left of the limit, in answers that are refused as well.
func TestRateLimitHeader(t *testing.T) {
	t.Parallel()
	sim := newCloud(t, openapisim.Config{})
	sim.SetTime(time.Date(2026, 1, 1, 12, 0, 50, 0, time.UTC))
	c := newClient(t, sim)
	status, body := admin(t, sim, http.MethodPut, "/admin/limits",
		`{"rateLimitHeader":true,"actions":{"ecs/DescribeInstances":{"calls":2,"window":"60s"}}}`)
	if status != 200 {
		t.Fatal(body)
	}
	for _, want := range []string{"Limit:2,Remain:1,TimeLeft:10000,Reset:0", "Limit:2,Remain:0,TimeLeft:10000,Reset:0",
		"Limit:2,Remain:0,TimeLeft:10000,Reset:0"} {
		w := httptest.NewRecorder()
		sim.Handler("ecs").ServeHTTP(w, signed(t, c, c.request("ecs", "DescribeInstances")))
		if got := w.Header().Get("X-RateLimit-User-API"); got != want {
			t.Errorf("got %d, %q, want %q", w.Code, got, want)
		}
	}
	if _, body := admin(t, sim, http.MethodGet, "/admin/limits", ""); !strings.Contains(body, `"rateLimitHeader":true`) &&
		!strings.Contains(body, `"rateLimitHeader": true`) {
		t.Errorf("limits: %s", body)
	}
}

// Faults can add x-acs-retry-after to the answer, before and after the effect.
func TestRetryAfterHeaderOfFaults(t *testing.T) {
	t.Parallel()
	for _, when := range []fault.When{fault.Before, fault.After} {
		sim := newCloud(t, openapisim.Config{})
		busy := &fault.Error{Code: "SystemBusy", RetryAfter: api.Duration(2 * time.Second)}
		if err := sim.SetFaults(fault.Rule{When: when, Error: busy, Times: 1}); err != nil {
			t.Fatal(err)
		}
		c := newClient(t, sim)
		for _, want := range []string{"2001", ""} {
			w := httptest.NewRecorder()
			sim.Handler("ecs").ServeHTTP(w, signed(t, c, c.request("ecs", "DescribeInstances")))
			if got := w.Header().Get("x-acs-retry-after"); got != want {
				t.Errorf("%s the effect: %q, want %q", when, got, want)
			}
		}
	}
}

// Two writes at the same time in one VPC: one TaskConflict. A write during the first one's three seconds: another.
func TestRouteWritesAreSerialised(t *testing.T) {
	t.Parallel()
	settings := api.DefaultSettings()
	sim := newCloud(t, openapisim.Config{Settings: &settings})
	sim.SetTime(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	results := map[string]int{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, cidr := range []string{"10.0.1.0/24", "10.0.2.0/24"} {
		c := newClient(t, sim)
		wg.Go(func() {
			_, code := c.call("vpc", "CreateRouteEntry", "RouteTableId", tableID, "DestinationCidrBlock", cidr, "NextHopId", "i-1")
			mu.Lock()
			results[code]++
			mu.Unlock()
		})
	}
	wg.Wait()
	if results[""] != 1 || results["TaskConflict"] != 1 {
		t.Fatalf("results %v", results)
	}
	c := newClient(t, sim)
	create := func() string {
		_, code := c.call("vpc", "CreateRouteEntry", "RouteTableId", tableID, "DestinationCidrBlock", "10.0.3.0/24", "NextHopId", "i-1")
		return code
	}
	sim.Advance(settings.RoutePending - 1)
	if code := create(); code != "TaskConflict" {
		t.Errorf("just before the end: %q", code)
	}
	sim.Advance(1)
	if code := create(); code != "" {
		t.Errorf("at the end: %q", code)
	}
}

// A product answers an action that it does not have so in either signature version.
func TestUnknownProductAction(t *testing.T) {
	t.Parallel()
	sim := newCloud(t, openapisim.Config{})
	if _, code := newClient(t, sim).call("nlb", "ListElephants"); code != "InvalidAction.NotFound" {
		t.Errorf("version 1: %q", code)
	}
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	r.Header.Set("x-acs-action", "ListElephants")
	r.Header.Set("x-acs-version", "2022-04-30")
	if status, body := serve(sim, "nlb", r); status != 404 || !strings.Contains(body, "InvalidAction.NotFound") {
		t.Errorf("version 3: %d %s", status, body)
	}
}

func TestPanicsOfHandlersAreAnswers(t *testing.T) {
	t.Parallel()
	sim := newCloud(t, openapisim.Config{})
	sim.Update(func(c *state.Cloud) { c.SecurityGroups["sg-broken"] = nil })
	c := newClient(t, sim)
	if _, code := c.call("ecs", "DescribeSecurityGroups"); code != "InternalError" {
		t.Errorf("code %q", code)
	}
	sim.Update(func(c *state.Cloud) { delete(c.SecurityGroups, "sg-broken") }) // the lock was released
	c.must("ecs", "DescribeSecurityGroups")
}

func TestStartRefusesUnknownEndpoints(t *testing.T) {
	t.Parallel()
	sim, err := openapisim.New(openapisim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	err = sim.Start(t.Context(), map[string]string{"oss": "127.0.0.1:0", "slb": "127.0.0.1:0", "vpc": "nowhere"})
	if err == nil || !strings.Contains(err.Error(), `"oss"`) || !strings.Contains(err.Error(), "listen for vpc") {
		t.Errorf("error %v", err)
	}
	if sim.Endpoint("slb") != "" {
		t.Error("an endpoint is left")
	}
	sim.Wait()
}
