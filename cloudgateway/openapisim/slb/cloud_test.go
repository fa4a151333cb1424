package slb

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/wire"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func TestMain(m *testing.M) { apitest.Main(m, Product()) }

// params are the parameters of a call.
type params map[string]string

// with returns the parameters with others added or, with "", taken away.
func (p params) with(pairs ...string) params {
	out := params{}
	maps.Copy(out, p)
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = pairs[i+1]
		if pairs[i+1] == "" {
			delete(out, pairs[i])
		}
	}
	return out
}

// answer is what a client decodes.
type answer map[string]any

// at returns a member by its path, for instance "LoadBalancers.LoadBalancer.0.LoadBalancerId"; nil if there is none.
func (a answer) at(path string) any {
	var v any = map[string]any(a)
	for name := range strings.SplitSeq(path, ".") {
		switch at := v.(type) {
		case map[string]any:
			v = at[name]
		case []any:
			if i := slices.Index([]string{"0", "1", "2", "3", "4"}, name); i >= 0 && i < len(at) {
				v = at[i]
				continue
			}
			return nil
		default:
			return nil
		}
	}
	return v
}

func (a answer) text(path string) string {
	s, _ := a.at(path).(string)
	return s
}

func (a answer) list(path string) []any {
	l, _ := a.at(path).([]any)
	return l
}

// texts returns one text member of each item of a list.
func (a answer) texts(path, member string) []string {
	out := []string{}
	for _, item := range a.list(path) {
		o, _ := item.(map[string]any)
		s, _ := o[member].(string)
		out = append(out, s)
	}
	return out
}

// tester is what both *testing.T and *rapid.T do.
type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// cloud is a simulated cloud with a clock that tests move.
type cloud struct {
	testing  tester
	state    *state.Cloud
	settings api.Settings
	now      time.Time
	actions  map[string]api.Action
	saw      func(action, code string) // notes what the tests provoked
	seeding  bool                      // All calls change something and succeed: there is no failed call to leave nothing.
}

// try calls an action with parameters checked by its table, as the server does, and holds the handler to the rules of all
// handlers: it answers only codes that its action lists, with the documented status, reads only parameters that it lists, and a
// refused call changes nothing.
func (c *cloud) try(action string, p params) (answer, *api.Error) {
	c.testing.Helper()
	a, ok := c.actions[action]
	if !ok {
		c.testing.Fatalf("there is no action %s", action)
	}
	for name := range p {
		stem, _, _ := strings.Cut(name, ".")
		known := func(p api.Param) bool { return strings.EqualFold(p.Name, stem) }
		if !slices.ContainsFunc(a.Params, known) {
			c.testing.Fatalf("%s: the table of parameters lacks %s", action, stem)
		}
	}
	ctx := c.context(p)
	if err := wire.CheckParams("", a.Params, &ctx.Params, ctx.Settings); err != nil {
		if err.Code != "MissingParameter" && err.Code != "InvalidParameter" { // the codes of any action are not provoked by that
			c.saw(action, err.Code)
		}
		return nil, err
	}
	windows := c.settings.ListenerStart+c.settings.ListenerSet+c.settings.LoadBalancerActive > 0 // what is due settles in any call
	var before string
	if !windows && !c.seeding {
		before = c.snapshot()
	}
	result, err := a.Handle(ctx)
	if (err != nil || !a.Mutating) && before != "" {
		if after := c.snapshot(); before != after {
			c.testing.Fatalf("%s %v changed the state (-before +after):\n%s", action, p, cmp.Diff(before, after))
		}
	}
	if err != nil {
		if !slices.Contains(a.Codes, err.Code) {
			c.testing.Fatalf("%s: the table of codes lacks %s", action, err.Code)
		}
		if !slices.Contains(statuses(err.Code), err.Status) || err.Message == "" {
			c.testing.Fatalf("%s: the error is %v, want a message and a status of %v", action, err, statuses(err.Code))
		}
		c.saw(action, err.Code)
		return nil, err
	}
	c.saw(action, "")
	return c.decode(result), nil
}

// statuses are those that the cloud documents for a code.
func statuses(code string) []int {
	switch code {
	case "InvalidLoadBalancerId.NotFound", "ListenerNotFound", "ResourceNotFound.Listener", "ResourceNotFound.vServers",
		"ResourceNotFound.Certificate",
		"InvalidRuleId.NotFound", "CACertificateId.NotFound", "ServerCertificateId.NotFound":
		return []int{http.StatusNotFound}
	case "BackendServer.configuring":
		return []int{http.StatusConflict}
	case "InvalidParameter": // it also stands for a vServer group that does not exist
		return []int{http.StatusBadRequest, http.StatusNotFound}
	}
	return []int{http.StatusBadRequest}
}

func (c *cloud) context(p params) *api.Context {
	settings := c.settings
	return &api.Context{
		Params: api.NewParams(p), State: c.state, Now: c.now, Account: c.state.Account, Region: c.state.Region, Regions: []string{c.state.Region},
		RequestID: "request", Settings: &settings,
	}
}

// call is try for calls that must succeed.
func (c *cloud) call(action string, p params) answer {
	c.testing.Helper()
	out, err := c.try(action, p)
	if err != nil {
		c.testing.Fatalf("%s %v: %v", action, p, err)
	}
	return out
}

// code calls and returns the error code, or "".
func (c *cloud) code(action string, p params) string {
	c.testing.Helper()
	if _, err := c.try(action, p); err != nil {
		return err.Code
	}
	return ""
}

func (c *cloud) snapshot() string {
	c.testing.Helper()
	raw, err := json.Marshal(c.state)
	if err != nil {
		c.testing.Fatal(err)
	}
	return string(raw)
}

func (c *cloud) decode(result any) answer {
	c.testing.Helper()
	raw, err := json.Marshal(result)
	if err != nil {
		c.testing.Fatal(err)
	}
	out := answer{}
	if err := json.Unmarshal(raw, &out); err != nil {
		c.testing.Fatal(err)
	}
	return out
}

// codeTest is a call and the code it answers, "" for success. It is made on a cloud of its own.
type codeTest struct {
	name   string
	params params
	want   string
}

func testCodes(t *testing.T, action string, tests []codeTest) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := newCloud(t).code(action, tt.params); got != tt.want {
				t.Errorf("%s %v answered %q, want %q", action, tt.params, got, tt.want)
			}
		})
	}
}

// newCloud returns a cloud without windows that has:
//   - lb-1, internet, PayByCLCU, with listeners tcp 80 and udp 53 on rsp-1, https 443 and http 81 on rsp-2, the last with a rule to
//     rsp-rule, and http 8080 that redirects to 443
//   - lb-vpc, intranet in vsw-1, PayBySpec; lb-old without a specification; lb-prepaid; lb-locked
//   - rsp-empty on lb-1, rsp-vpc on lb-vpc, rsp-old on lb-old
//   - instances i-1, i-2, i-3, i-sick (unhealthy), i-stopped, i-far (in another VPC) and interfaces eni-1, eni-far
//   - certificates cert-1, cert-2, cert-unused, ca-1 and access control lists acl-1 (used by tcp 80), acl-2, acl-6 (IPv6)
func newCloud(t tester) *cloud {
	t.Helper()
	c := &cloud{
		testing: t, state: state.New("cn-hangzhou", "1000000000000001"), settings: api.FastSettings(),
		now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), actions: map[string]api.Action{}, saw: apitest.Saw,
	}
	for _, a := range Product().Actions {
		c.actions[a.Name] = a
	}
	c.settings.SpecificationsNotSold, c.settings.SubscriptionsNotSold = false, false // most is older than that
	seedNetwork(c.state)
	seedCertificates(c)
	seedBalancers(c)
	return c
}

func seedNetwork(s *state.Cloud) {
	s.Vpcs["vpc-1"] = &state.Vpc{ID: "vpc-1", CidrBlock: "10.0.0.0/8"}
	s.Vpcs["vpc-far"] = &state.Vpc{ID: "vpc-far", CidrBlock: "10.0.0.0/8"}
	s.VSwitches["vsw-1"] = &state.VSwitch{ID: "vsw-1", VpcID: "vpc-1", ZoneID: "cn-hangzhou-h", CidrBlock: "10.0.0.0/24"}
	s.VSwitches["vsw-small"] = &state.VSwitch{ID: "vsw-small", VpcID: "vpc-1", ZoneID: "cn-hangzhou-i", CidrBlock: "10.0.1.0/29"}
	for _, id := range []string{"i-1", "i-2", "i-3", "i-sick", "i-stopped", "i-far"} {
		s.Instances[id] = &state.Instance{ID: id, Status: "Running", VpcID: "vpc-1", VSwitchID: "vsw-1"}
	}
	s.Instances["i-1"].PrivateIPs = []string{"10.0.0.1"}
	sick := false
	s.Instances["i-sick"].Healthy = &sick
	s.Instances["i-stopped"].Status = "Stopped"
	s.Instances["i-far"].VpcID = "vpc-far"
	s.Interfaces["eni-1"] = &state.NetworkInterface{
		ID: "eni-1", InstanceID: "i-1", VpcID: "vpc-1", VSwitchID: "vsw-1", PrimaryIP: "10.0.0.20",
		PrivateIPs: []string{"10.0.0.20", "10.0.0.21"},
	}
	s.Interfaces["eni-far"] = &state.NetworkInterface{ID: "eni-far", VpcID: "vpc-far", PrimaryIP: "10.0.0.30",
		PrivateIPs: []string{"10.0.0.30"}}
}

func seedCertificates(c *cloud) {
	for _, id := range []string{"cert-1", "cert-2", "cert-unused"} {
		c.state.Certificates[id] = &state.Certificate{ID: id, Name: id, CommonName: "example.com", Created: c.now}
	}
	for _, id := range []string{"ca-1", "ca-unused"} {
		c.state.Certificates[id] = &state.Certificate{ID: id, Name: id, CA: true, Created: c.now}
	}
	c.state.Acls["acl-1"] = &state.Acl{ID: "acl-1", Name: "one", IPVersion: "ipv4",
		Entries: []state.AclEntry{{Entry: "10.0.0.0/8", Comment: "ours"}}}
	c.state.Acls["acl-2"] = &state.Acl{ID: "acl-2", Name: "two", IPVersion: "ipv4"}
	c.state.Acls["acl-6"] = &state.Acl{ID: "acl-6", Name: "six", IPVersion: "ipv6"}
}

func seedBalancers(c *cloud) {
	c.seeding = true
	defer func() { c.seeding = false }()
	add := func(lb state.LoadBalancer) {
		lb.Name, lb.AddressIPVersion, lb.InternetChargeType, lb.Status = "name-of-"+lb.ID, "ipv4", payByTraffic, active
		lb.Created, lb.DeleteProtection, lb.ModificationStatus, lb.Bandwidth = c.now, off, nonProtection, greatestTraffic
		lb.ResourceGroupID = defaultResourceGroup
		if lb.PayType == "" {
			lb.PayType = payOnDemand
		}
		c.state.LoadBalancers[lb.ID] = &lb
	}
	add(state.LoadBalancer{ID: "lb-1", Address: "47.0.0.1", AddressType: internet, NetworkType: "classic",
		InstanceChargeType: payByCLCU, Tags: []state.Tag{{Key: "owner", Value: "one"}}})
	add(state.LoadBalancer{ID: "lb-vpc", Address: "10.0.0.100", AddressType: intranet, NetworkType: "vpc", VpcID: "vpc-1",
		VSwitchID: "vsw-1", InstanceChargeType: payBySpec, Spec: "slb.s1.small"})
	add(state.LoadBalancer{ID: "lb-old", Address: "47.0.0.2", AddressType: internet, NetworkType: "classic", InstanceChargeType: payBySpec})
	add(state.LoadBalancer{ID: "lb-prepaid", Address: "47.0.0.3", AddressType: internet, NetworkType: "classic",
		InstanceChargeType: payBySpec, Spec: "slb.s1.small", PayType: prePay})
	add(state.LoadBalancer{ID: "lb-locked", Address: "47.0.0.4", AddressType: internet, NetworkType: "classic", InstanceChargeType: payByCLCU})
	for id, lb := range map[string]string{"rsp-1": "lb-1", "rsp-2": "lb-1", "rsp-empty": "lb-1", "rsp-rule": "lb-1",
		"rsp-vpc": "lb-vpc", "rsp-old": "lb-old", "rsp-locked": "lb-locked"} {
		c.state.ServerGroups[id] = &state.ServerGroup{ID: id, LoadBalancerID: lb, Name: "name-of-" + id, Created: c.now}
	}
	servers := `[{"ServerId":"i-1","Port":"30080"},{"ServerId":"i-2","Port":"30080","Weight":"50"}]`
	c.call("AddVServerGroupBackendServers", params{"VServerGroupId": "rsp-1", "BackendServers": servers})
	c.call("AddVServerGroupBackendServers", params{"VServerGroupId": "rsp-2", "BackendServers": servers})
	key := params{"LoadBalancerId": "lb-1", "VServerGroupId": "rsp-1", "Bandwidth": "-1"}
	c.call("CreateLoadBalancerTCPListener", key.with("ListenerPort", "80", "AclStatus", on, "AclType", "white", "AclId", "acl-1"))
	c.call("CreateLoadBalancerUDPListener", key.with("ListenerPort", "53"))
	seven := key.with("VServerGroupId", "rsp-2", "HealthCheck", off, "StickySession", off)
	c.call("CreateLoadBalancerHTTPSListener", seven.with("ListenerPort", "443", "ServerCertificateId", "cert-1", "CACertificateId", "ca-1"))
	c.call("CreateLoadBalancerHTTPListener", seven.with("ListenerPort", "81"))
	c.call("CreateLoadBalancerHTTPListener", params{"LoadBalancerId": "lb-1", "ListenerPort": "8080",
		"ListenerForward": on, "ForwardPort": "443"})
	c.call("CreateDomainExtension", params{"LoadBalancerId": "lb-1", "ListenerPort": "443", "Domain": "a.example.com",
		"ServerCertificateId": "cert-2"})
	c.call("CreateRules", params{"LoadBalancerId": "lb-1", "ListenerPort": "81",
		"RuleList": `[{"RuleName":"r","Domain":"b.example.com","Url":"/b","VServerGroupId":"rsp-rule"}]`})
	for _, l := range c.state.LoadBalancers["lb-1"].Listeners {
		l.Status = running
	}
	c.state.LoadBalancers["lb-locked"].Status = locked
	for id := range c.state.LoadBalancers { // completes them
		c.call("SetLoadBalancerName", params{"LoadBalancerId": id, "LoadBalancerName": "name-of-" + id})
	}
}

// listener returns a listener of lb-1.
func (c *cloud) listener(protocol string, port int) *state.Listener {
	for _, l := range c.state.LoadBalancers["lb-1"].Listeners {
		if l.Protocol == protocol && l.Port == port {
			return l
		}
	}
	return nil
}
