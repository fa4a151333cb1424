package server

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// direct calls the cloud beside the gateway, as another tool does.
func (w *world) direct(t *testing.T, product, action string, params ...string) map[string]any {
	t.Helper()
	version := map[string]string{"nlb": "2022-04-30", "slb": "2014-05-15"}[product]
	form := url.Values{"Action": {action}, "Version": {version}, "AccessKeyId": {"other"}, "Format": {"JSON"}}
	for i := 0; i < len(params); i += 2 {
		form.Set(params[i], params[i+1])
	}
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer := httptest.NewRecorder()
	w.sim.Handler(product).ServeHTTP(answer, r)
	var got map[string]any
	if err := json.Unmarshal(answer.Body.Bytes(), &got); err != nil || answer.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", action, answer.Code, answer.Body)
	}
	return got
}

// Whether the cloud answers enumerated values as they were sent or as its documents spell them is not published; other tools, Terraform
// among them, send Ipv4 and Tch where the documents say ipv4 and tch. What the gateway says of their resources is the same in all cases.
func TestSpellingOfOtherTools(t *testing.T) {
	for _, spelling := range []string{api.SpellingEcho, api.SpellingDocuments} {
		t.Run(spelling, func(t *testing.T) {
			w := newWorld(t, func(c *openapisim.Config) {
				c.Seed.VSwitches[otherVSwitch] = &state.VSwitch{VpcID: testVPC, ZoneID: "cn-hangzhou-i", CidrBlock: "192.168.64.0/18"}
				c.AnyCredentials, c.Settings.Spelling = true, spelling
			})
			documented, other := w.read(t, func(words string) string { return words }), w.read(t, swapCase)
			for i, got := range other {
				if diff := cmp.Diff(documented[i], got, protocmp.Transform(), protocmp.IgnoreFields(&nlbv1.ServerGroup{}, "server_group_id",
					"load_balancer_ids"), protocmp.IgnoreFields(&nlbv1.LoadBalancer{}, "load_balancer_id", "dns_name",
					"zone_mappings", "creation_time"),
					protocmp.IgnoreFields(&nlbv1.Listener{}, "listener_id", "load_balancer_id"),
					protocmp.IgnoreFields(&nlbv1.ListenerConfig{}, "server_group_id"),
					protocmp.IgnoreFields(&slbv1.LoadBalancer{}, "load_balancer_id", "address", "creation_time")); diff != "" {
					t.Errorf("spelt otherwise (-documented +other):\n%s", diff)
				}
			}
		})
	}
}

func swapCase(word string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return r
	}, word)
}

// read makes one resource of each kind whose words are spelt in some way, and returns what the gateway says of them.
func (w *world) read(t *testing.T, spelt func(string) string) []any {
	t.Helper()
	const check = "HealthCheckConfig."
	group, _ := w.direct(t, "nlb", "CreateServerGroup", "ServerGroupName", "g0", "VpcId", testVPC, "Protocol", spelt("TCP"),
		"ServerGroupType", spelt("Instance"), "AddressIPVersion", spelt("ipv4"), "Scheduler", spelt("tch"),
		check+"HealthCheckType", spelt("HTTP"),
		check+"HttpCheckMethod", spelt("HEAD"), check+"HealthCheckHttpCode.1", spelt("http_3xx"))["ServerGroupId"].(string)
	balancer, _ := w.direct(t, "nlb", "CreateLoadBalancer", "AddressType", spelt("Internet"), "AddressIpVersion",
		spelt("ipv4"), "VpcId", testVPC,
		"ZoneMappings.1.ZoneId", "cn-hangzhou-h", "ZoneMappings.1.VSwitchId", testVSwitch,
		"ZoneMappings.2.ZoneId", "cn-hangzhou-i", "ZoneMappings.2.VSwitchId", otherVSwitch,
		"ModificationProtectionConfig.Status", spelt("ConsoleProtection"))["LoadbalancerId"].(string)
	listener, _ := w.direct(t, "nlb", "CreateListener", "LoadBalancerId", balancer, "ListenerProtocol", spelt("TCP"), "ListenerPort", "80",
		"ServerGroupId", group)["ListenerId"].(string)
	classic, _ := w.direct(t, "slb", "CreateLoadBalancer", "AddressType", spelt("intranet"), "AddressIPVersion", spelt("ipv4"),
		"VSwitchId", testVSwitch, "LoadBalancerName", "c0", "DeleteProtection", spelt("on"), "LoadBalancerSpec",
		"slb.s1.small")["LoadBalancerId"].(string)
	w.direct(t, "slb", "CreateLoadBalancerTCPListener", "LoadBalancerId", classic, "ListenerPort", "80", "Bandwidth", "-1",
		"BackendServerPort", "80", "Scheduler", spelt("rr"), "HealthCheckType", spelt("http"), "HealthCheckMethod", spelt("head"),
		"ConnectionDrain", spelt("on"), "ConnectionDrainTimeout", "10")
	w.direct(t, "slb", "CreateLoadBalancerHTTPListener", "LoadBalancerId", classic, "ListenerPort", "81", "Bandwidth", "-1",
		"BackendServerPort", "80", "StickySession", spelt("on"), "StickySessionType", spelt("insert"), "CookieTimeout", "5",
		"Gzip", spelt("off"),
		"XForwardedFor_proto", spelt("on"), "HealthCheck", spelt("off"), "Scheduler", spelt("rr"))
	g, err := w.NetworkServerGroups.GetServerGroup(t.Context(), &nlbv1.GetServerGroupRequest{ServerGroupId: group})
	if err != nil {
		t.Fatal(err)
	}
	lb, err := w.NetworkLoadBalancers.GetLoadBalancer(t.Context(), &nlbv1.GetLoadBalancerRequest{LoadBalancerId: balancer})
	if err != nil {
		t.Fatal(err)
	}
	l, err := w.NetworkListeners.GetListener(t.Context(), &nlbv1.GetListenerRequest{ListenerId: listener})
	if err != nil {
		t.Fatal(err)
	}
	c, err := w.LoadBalancers.GetLoadBalancer(t.Context(), &slbv1.GetLoadBalancerRequest{LoadBalancerId: classic})
	if err != nil {
		t.Fatal(err)
	}
	found, err := w.Listeners.ListListeners(t.Context(), &slbv1.ListListenersRequest{LoadBalancerIds: []string{classic}})
	if err != nil || len(found.GetListeners()) != 2 {
		t.Fatalf("listeners: %v, %v", found.GetListeners(), err)
	}
	configs := []any{g.GetServerGroup(), lb.GetLoadBalancer(), l.GetListener(), c.GetLoadBalancer()}
	for _, listener := range found.GetListeners() {
		configs = append(configs, listener.GetConfig())
	}
	return configs
}
