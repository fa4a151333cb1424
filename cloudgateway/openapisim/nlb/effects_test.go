package nlb_test

import (
	"fmt"
	"net/url"
	"slices"
	"testing"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
	"alicloud-controllers.dev/cloudgateway/openapisim/nlb"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// want compares members of an answer, given as name, value, …; the values are text, numbers and booleans as fmt prints them.
func want(t *testing.T, answer any, members ...string) {
	t.Helper()
	for i := 0; i < len(members); i += 2 {
		if got := fmt.Sprint(get(answer, members[i])); got != members[i+1] {
			t.Errorf("%s is %s, want %s", members[i], got, members[i+1])
		}
	}
}

// A load balancer has the addresses that were asked for, and gives them back.
func TestAddresses(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	id, _ := c.Must("CreateLoadBalancer", with(valid()["CreateLoadBalancer"], "LoadBalancerName", "k8s", "AddressIpVersion", "DualStack",
		"ZoneMappings.1.PrivateIPv4Address", "192.168.0.77", "ZoneMappings.1.AllocationId", "eip-1", "Tag.1.Key", "k", "Tag.1.Value", "v",
		"DeletionProtectionConfig.Enabled", "true", "DeletionProtectionConfig.Reason", "mine",
		"ModificationProtectionConfig.Status", "ConsoleProtection", "SecurityGroupIds.1", "sg-1", "SecurityGroupIds.2",
		"sg-2")...)["LoadbalancerId"].(string)
	lb := c.Must("GetLoadBalancerAttribute", "LoadBalancerId", id)
	want(t, lb, "LoadBalancerName", "k8s", "AddressType", "Internet", "AddressIpVersion", "DualStack", "Ipv6AddressType", "Intranet",
		"DNSName", id+".cn-hangzhou.nlb.aliyuncs.com", "CrossZoneEnabled", "true", "CreateTime", "2026-01-01T12:00Z", "VpcId", "vpc-1")
	want(t, get(lb, "DeletionProtectionConfig"), "Enabled", "true", "Reason", "mine")
	want(t, get(lb, "ModificationProtectionConfig"), "Status", "ConsoleProtection")
	want(t, get(lb, "Tags", 0), "Key", "k", "Value", "v")
	want(t, lb, "SecurityGroupIds", "[sg-1 sg-2]")
	first := get(lb, "ZoneMappings", 0, "LoadBalancerAddresses", 0)
	want(t, first, "PrivateIPv4Address", "192.168.0.77", "AllocationId", "eip-1", "PublicIPv4Address", "121.40.0.1")
	if six := get(first, "Ipv6Address"); six == nil || get(lb, "ZoneMappings", 1, "LoadBalancerAddresses", 0, "PublicIPv4Address") == nil {
		t.Errorf("addresses %v", get(lb, "ZoneMappings"))
	}
	if eip := c.Cloud.Eips["eip-1"]; eip.Status != "InUse" {
		t.Errorf("EIP %+v", eip)
	}
	// Another EIP, which the acceptance tests of Terraform's provider exchange; no public address; nothing.
	of := []string{"LoadBalancerId", id}
	c.Must("UpdateLoadBalancerZones", append(of, "ZoneMappings.1.ZoneId", "z-a", "ZoneMappings.1.VSwitchId", "vsw-a",
		"ZoneMappings.1.AllocationId", "eip-2",
		"ZoneMappings.2.ZoneId", "z-b", "ZoneMappings.2.VSwitchId", "vsw-b")...)
	if c.Cloud.Eips["eip-1"].Status != "Available" || c.Cloud.Eips["eip-2"].Status != "InUse" {
		t.Errorf("EIPs %+v, %+v", c.Cloud.Eips["eip-1"], c.Cloud.Eips["eip-2"])
	}
	c.Must("UpdateLoadBalancerAddressTypeConfig", append(of, "AddressType", "Intranet")...)
	if z := c.Cloud.NLBs[id].Zones[0]; z.PublicIP != "" || c.Cloud.Eips["eip-2"].Status != "Available" {
		t.Errorf("zone %+v", z)
	}
	c.Must("UpdateLoadBalancerProtection", append(of, "DeletionProtectionEnabled", "false", "ModificationProtectionStatus",
		"NonProtection")...)
	c.Must("DeleteLoadBalancer", of...)
}

// The same tests exchange the private address of a zone that stays.
func TestPrivateAddressIsExchanged(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	c.Must("UpdateLoadBalancerZones", "LoadBalancerId", "nlb-in", "ZoneMappings.1.ZoneId", "z-a", "ZoneMappings.1.VSwitchId", "vsw-a",
		"ZoneMappings.1.PrivateIPv4Address", "192.168.0.78", "ZoneMappings.2.ZoneId", "z-b", "ZoneMappings.2.VSwitchId", "vsw-b")
	if z := c.Cloud.NLBs["nlb-in"].Zones[0]; z.PrivateIP != "192.168.0.78" || z.EniID != "eni-a" {
		t.Errorf("zone %+v", z)
	}
}

// What Terraform's provider does at the end of a test of zone shifts: it takes the zone back in, and deletes at once.
func TestBalancerGoesRightAfterItsZonesAreBack(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	c.Settings.NLBJob = time.Minute
	zone := []string{"LoadBalancerId", "nlb-shifted", "ZoneMappings.1.ZoneId", "z-a", "ZoneMappings.1.VSwitchId", "vsw-a"}
	c.Must("CancelShiftLoadBalancerZones", zone...)
	c.Must("DeleteLoadBalancer", zone[:2]...)
}

// The same tests make a group for TLS and any port that tells servers the address of clients; the other groups for TLS can't.
func TestGroupsForAnyPortOfTLS(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	tls := []string{"ServerGroupName", "tls", "VpcId", "vpc-1", "Protocol", "TCPSSL", "PreserveClientIpEnabled", "true"}
	if _, code := c.Call("CreateServerGroup", tls...); code != "IllegalParam.PreserveClientIpSwitch" {
		t.Errorf("of one port: %q", code)
	}
	c.Must("CreateServerGroup", append(tls, "AnyPortEnabled", "true", "HealthCheckConfig.HealthCheckEnabled", "false")...)
}

// A zone that a load balancer leaves gets its address back.
func TestZonesAreReplaced(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	c.Must("UpdateLoadBalancerZones", valid()["UpdateLoadBalancerZones"]...)
	var zones []string
	for _, z := range c.Cloud.NLBs["nlb-in"].Zones {
		zones = append(zones, z.ZoneID+" "+z.PrivateIP)
	}
	if !slices.Equal(zones, []string{"z-a 192.168.0.200", "z-c 192.168.2.1"}) {
		t.Errorf("zones %v", zones)
	}
}

// A listener shows the attributes that were set.
func TestListenerAttributes(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	set := []string{
		"ListenerDescription", "k8s.443", "IdleTimeout", "60", "SecurityPolicyId", "tls-1", "CaEnabled", "true", "CertificateIds.1", "cert-1",
		"CaCertificateIds.1", "ca-1", "AlpnEnabled", "true", "AlpnPolicy", "HTTP2Optional", "ProxyProtocolEnabled", "true",
		"SecSensorEnabled", "true",
		"Cps", "1000", "Mss", "1400", "ProxyProtocolV2Config", `{"Ppv2VpcIdEnabled":true,"Ppv2PrivateLinkEpIdEnabled":false}`,
	}
	id, _ := c.Must("CreateListener", append([]string{
		"LoadBalancerId", "nlb-2", "ListenerProtocol", "TCPSSL", "ListenerPort", "443", "ServerGroupId", "sgp-tls", "Tag.1.Key", "k",
	}, set...)...)["ListenerId"].(string)
	l := c.Must("GetListenerAttribute", "ListenerId", id)
	want(t, l, "ListenerDescription", "k8s.443", "IdleTimeout", "60", "SecurityPolicyId", "tls-1", "CaEnabled", "true",
		"CertificateIds", "[cert-1]",
		"CaCertificateIds", "[ca-1]", "AlpnEnabled", "true", "AlpnPolicy", "HTTP2Optional", "ProxyProtocolEnabled", "true",
		"SecSensorEnabled", "true",
		"Cps", "1000", "Mss", "1400", "ListenerPort", "443", "ListenerStatus", "Running", "LoadBalancerId", "nlb-2")
	want(t, get(l, "ProxyProtocolV2Config"), "Ppv2VpcIdEnabled", "true", "Ppv2PrivateLinkEpIdEnabled", "false")
	c.Must("UpdateListenerAttribute", "ListenerId", id, "ProxyProtocolV2Config.Ppv2PrivateLinkEpIdEnabled", "true", "AlpnEnabled", "false")
	l = c.Must("GetListenerAttribute", "ListenerId", id)
	want(t, l, "AlpnEnabled", "false", "AlpnPolicy", "HTTP2Optional", "IdleTimeout", "60")
	want(t, get(l, "ProxyProtocolV2Config"), "Ppv2VpcIdEnabled", "true", "Ppv2PrivateLinkEpIdEnabled", "true")

	id, _ = c.Must("CreateListener", "LoadBalancerId", "nlb-2", "ListenerProtocol", "TCP", "ListenerPort", "0",
		"StartPort", "1000", "EndPort", "2000",
		"ServerGroupId", "sgp-any")["ListenerId"].(string)
	want(t, c.Must("GetListenerAttribute", "ListenerId", id), "ListenerPort", "0", "StartPort", "1000", "EndPort", "2000")
}

// A group shows the attributes that were set.
func TestGroupAttributes(t *testing.T) {
	t.Parallel()
	const check = "HealthCheckConfig."
	c := newCaller(t)
	id, _ := c.Must("CreateServerGroup", "ServerGroupName", "k8s.80", "VpcId", "vpc-1", "Protocol", "UDP", "Scheduler",
		"QCH", "AddressIPVersion", "DualStack",
		"IpVersionAffinityMode", "NonAffinity", "ConnectionDrainEnabled", "true", "ConnectionDrainTimeout", "10",
		"PreserveClientIpEnabled", "false",
		check+"HealthCheckType", "HTTP", check+"HealthCheckConnectPort", "8080", check+"HealthyThreshold", "3", check+"UnhealthyThreshold", "4",
		check+"HealthCheckConnectTimeout", "6", check+"HealthCheckInterval", "7", check+"HealthCheckDomain", "$SERVER_IP",
		check+"HealthCheckUrl", "/ok",
		check+"HttpCheckMethod", "HEAD", check+"HealthCheckHttpCode.1", "http_3xx")["ServerGroupId"].(string)
	g := get(c.Must("ListServerGroups", "ServerGroupIds.1", id), "ServerGroups", 0)
	want(t, g, "Scheduler", "QCH", "AddressIPVersion", "DualStack", "IpVersionAffinityMode", "NonAffinity", "ConnectionDrainEnabled", "true",
		"ConnectionDrainTimeout", "10", "PreserveClientIpEnabled", "false", "Protocol", "UDP", "ServerGroupType", "Instance",
		"ServerGroupStatus", "Available")
	want(t, get(g, "HealthCheck"), "HealthCheckEnabled", "true", "HealthCheckType", "HTTP", "HealthCheckConnectPort",
		"8080", "HealthyThreshold", "3",
		"UnhealthyThreshold", "4", "HealthCheckConnectTimeout", "6", "HealthCheckInterval", "7", "HealthCheckDomain", "$SERVER_IP",
		"HealthCheckUrl", "/ok", "HttpCheckMethod", "HEAD", "HealthCheckHttpCode", "[http_3xx]")
	c.Must("AddServersToServerGroup", server(id, "Eni", "eni-1", "53", "Servers.1.ServerIp", "2408:0:0:1::9")...)
	c.Must("AddServersToServerGroup", server("sgp-ip", "Ip", "192.168.9.9", "80")...)
	c.Must("AddServersToServerGroup", server("sgp-any", "Ecs", "i-1", "0")...)
	want(t, get(c.Must("ListServerGroupServers", "ServerGroupId", "sgp-ip"), "Servers", 0), "ServerIp", "192.168.9.9",
		"ServerType", "Ip", "Port", "80")
	want(t, get(c.Must("ListServerGroups", "ServerGroupIds.1", "sgp-1"), "ServerGroups", 0), "RelatedLoadBalancerIds",
		"[nlb-1 nlb-busy]", "ServerCount", "2")
}

// Filters narrow lists down. Several tags are alternatives.
func TestFilters(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	for id, value := range map[string]string{"nlb-1": "a", "nlb-2": "b", "nlb-in": "c"} {
		c.Must("TagResources", "ResourceType", "loadbalancer", "ResourceId.1", id, "Tag.1.Key", "k", "Tag.1.Value", value)
	}
	for _, tt := range []struct {
		action, list, id string
		params           []string
		want             string
	}{
		{"ListLoadBalancers", "LoadBalancers", "LoadBalancerId", []string{"Tag.1.Key", "k", "Tag.1.Value", "a", "Tag.2.Key",
			"k", "Tag.2.Value", "b"}, "[]"},
		{"ListLoadBalancers", "LoadBalancers", "LoadBalancerId", []string{"LoadBalancerStatus", "Provisioning"}, "[nlb-new]"},
		{"ListLoadBalancers", "LoadBalancers", "LoadBalancerId", []string{"LoadBalancerNames.1", "name-nlb-2"}, "[nlb-2]"},
		{"ListLoadBalancers", "LoadBalancers", "LoadBalancerId", []string{"LoadBalancerIds.1", "nlb-2", "LoadBalancerIds.2", "nlb-x"}, "[nlb-2]"},
		{"ListLoadBalancers", "LoadBalancers", "LoadBalancerId", []string{"VpcIds.1", "vpc-2"}, "[nlb-far nlb-no-gateway]"},
		{"ListLoadBalancers", "LoadBalancers", "LoadBalancerId", []string{"ZoneId", "z-c"}, "[]"},
		{"ListListeners", "Listeners", "ListenerId", []string{"LoadBalancerIds.1", "nlb-1", "ListenerProtocol", "UDP"}, "[lsn-udp@53]"},
		{"ListListeners", "Listeners", "ListenerId", []string{"ListenerIds.1", "lsn-1@80"}, "[lsn-1@80]"},
		{"ListServerGroups", "ServerGroups", "ServerGroupId", []string{"ServerGroupType", "Ip"}, "[sgp-ip]"},
		{"ListServerGroups", "ServerGroups", "ServerGroupId", []string{"ServerGroupNames.1", "name-sgp-1"}, "[sgp-1]"},
		{"ListServerGroupServers", "Servers", "ServerId", []string{"ServerGroupId", "sgp-1", "ServerIps.1", "192.168.0.12"}, "[i-2]"},
		{"ListListenerCertificates", "Certificates", "CertificateId", []string{"ListenerId", "lsn-tls@443", "CertType", "Ca"}, "[ca-1]"},
		{"ListListenerCertificates", "Certificates", "CertificateId", []string{"ListenerId", "lsn-tls@443",
			"CertificateIds.1", "cert-2"}, "[cert-2]"},
		{"ListTagResources", "TagResources", "ResourceId", []string{"ResourceType", "loadbalancer", "Tag.1.Key", "k",
			"Tag.1.Value", "b"}, "[nlb-2]"},
		{"ListSecurityPolicy", "SecurityPolicies", "SecurityPolicyId", []string{"SecurityPolicyNames.1", "used"}, "[tls-used]"},
	} {
		if got := fmt.Sprint(apitest.List(c.Must(tt.action, tt.params...), tt.id, tt.list)); got != tt.want {
			t.Errorf("%s %v: %s, want %s", tt.action, tt.params, got, tt.want)
		}
	}
	c.Must("UntagResources", "ResourceType", "loadbalancer", "ResourceId.1", "nlb-1", "All", "true")
	if tags := c.Cloud.NLBs["nlb-1"].Tags; len(tags) > 0 {
		t.Errorf("tags %v", tags)
	}
}

// The health of a server follows its instance.
func TestHealth(t *testing.T) {
	t.Parallel()
	c := slow(t)
	health := func() string {
		answer := c.Must("GetListenerHealthStatus", "ListenerId", "lsn-1@80")
		return fmt.Sprint(apitest.List(get(answer, "ListenerHealthStatus", 0, "ServerGroupInfos", 0).(map[string]any),
			"Status", "NonNormalServers"))
	}
	if got := health(); got != "[Initial Initial]" {
		t.Errorf("at first %s", got)
	}
	c.Pass(c.Settings.BackendHealthy)
	if got := health(); got != "[]" {
		t.Errorf("then %s", got)
	}
	c.Cloud.Instances["i-1"].Status = "Stopped"
	if got := health(); got != "[Unhealthy]" {
		t.Errorf("with a stopped instance %s", got)
	}
	// A deleted instance leaves its groups.
	c.Cloud.Vanishing = []state.Vanishing{{ServerIDs: []string{"i-1"}, At: c.Now.Add(time.Second)}}
	c.Pass(time.Second)
	if got := servers(c, "sgp-1"); !slices.Equal(got, []string{"i-2 100 Available"}) {
		t.Errorf("servers %v", got)
	}
}

// A seed can say little.
func TestSeed(t *testing.T) {
	t.Parallel()
	cloud := state.New(apitest.Region, apitest.Account)
	addNetwork(cloud)
	addServers(cloud)
	cloud.NLBs["nlb-1"] = &state.NLB{ID: "nlb-1", Zones: []*state.NLBZone{{VSwitchID: "vsw-a"}, {VSwitchID: "vsw-b"}}}
	cloud.NLBListeners["lsn-1@80"] = &state.NLBListener{ID: "lsn-1@80", NLBID: "nlb-1", Port: 80, ServerGroupID: "sgp-1"}
	cloud.NLBServerGroups["sgp-1"] = &state.NLBServerGroup{ID: "sgp-1", VpcID: "vpc-1",
		Servers: []*state.NLBServer{{ServerID: "i-2", Port: 80}, {ServerID: "i-1", Port: 80}}}
	c := apitest.New(t, nlb.Product(), cloud)
	lb := c.Must("GetLoadBalancerAttribute", "LoadBalancerId", "nlb-1")
	want(t, lb, "LoadBalancerStatus", "Active", "VpcId", "vpc-1", "AddressType", "Intranet")
	want(t, get(lb, "ZoneMappings", 0, "LoadBalancerAddresses", 0), "PrivateIPv4Address", "192.168.0.1")
	want(t, c.Must("GetListenerAttribute", "ListenerId", "lsn-1@80"), "ListenerStatus", "Running", "IdleTimeout", "900")
	want(t, get(c.Must("ListServerGroups"), "ServerGroups", 0), "ServerGroupStatus", "Available", "Scheduler", "Wrr")
	if got := servers(c, "sgp-1"); !slices.Equal(got, []string{"i-1 0 Available", "i-2 0 Available"}) {
		t.Errorf("servers %v", got)
	}
}

// FuzzCall calls actions with whatever comes. Nothing panics, only codes of the table are answered, and what must hold holds.
func FuzzCall(f *testing.F) {
	actions := nlb.Product().Actions
	for i, a := range actions {
		query := url.Values{}
		for n := 0; n < len(valid()[a.Name]); n += 2 {
			query.Set(valid()[a.Name][n], valid()[a.Name][n+1])
		}
		f.Add(uint8(i), query.Encode())
	}
	f.Fuzz(func(t *testing.T, n uint8, query string) {
		values, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		var params []string
		for name := range values {
			params = append(params, name, values.Get(name))
		}
		a := actions[int(n)%len(actions)]
		c := newCaller(t)
		c.ByChance = true
		_, code := c.Call(a.Name, params...)
		if code != "" && !slices.Contains(a.AllCodes(), code) && code != "InvalidParameter" {
			t.Errorf("%s answers %s, which its table does not name", a.Name, code)
		}
		checkCloud(t, c.Cloud, c.Settings)
	})
}

// checkCloud checks what holds whatever was called.
func checkCloud(t *testing.T, c *state.Cloud, settings api.Settings) {
	t.Helper()
	for id, g := range c.NLBServerGroups {
		seen := map[string]bool{}
		for _, s := range g.Servers {
			key := fmt.Sprint(s.ServerID, s.ServerIP, s.Port, s.Type)
			if seen[key] || s.Weight < 0 || s.Weight > 100 || g.AnyPort != (s.Port == 0) {
				t.Errorf("%s has the server %+v", id, s)
			}
			seen[key] = true
		}
		if len(g.Servers) > settings.Quotas.NLBServers {
			t.Errorf("%s has %d servers", id, len(g.Servers))
		}
	}
	for id, l := range c.NLBListeners {
		if c.NLBs[l.NLBID] == nil || c.NLBServerGroups[l.ServerGroupID] == nil {
			t.Errorf("%s is of %s and uses %s", id, l.NLBID, l.ServerGroupID)
		}
	}
	for id, lb := range c.NLBs {
		zones := map[string]bool{}
		for _, z := range lb.Zones {
			if zones[z.ZoneID] || z.PrivateIP == "" {
				t.Errorf("%s has the zone %+v", id, z)
			}
			zones[z.ZoneID] = true
		}
	}
}

// The existing controllers send lower-case letters, and have for years (their default address-type since v2.5.1). Terraform's
// acceptance tests, which run on the real cloud, send Ipv4 and Tch where the documents say ipv4 and tch, and read back what they sent.
// Whether the cloud keeps the spelling is not published, so it is a setting. Another one refuses what is spelt otherwise than in the
// documents.
func TestEnumeratedValuesInAnyCase(t *testing.T) {
	t.Parallel()
	for _, spelling := range []string{api.SpellingEcho, api.SpellingDocuments} {
		t.Run(spelling, func(t *testing.T) {
			t.Parallel()
			checkSpelling(t, spelling)
		})
	}
}

func checkSpelling(t *testing.T, spelling string) {
	t.Helper()
	c := newCaller(t)
	c.Settings.Spelling = spelling
	// wantWords wants members as they were sent, or as the documents spell them: name, sent, documented, …
	wantWords := func(answer any, words ...string) {
		t.Helper()
		for i := 0; i < len(words); i += 3 {
			expected := words[i+1]
			if spelling == api.SpellingDocuments {
				expected = words[i+2]
			}
			want(t, answer, words[i], expected)
		}
	}
	const check = "HealthCheckConfig."
	lb := []string{"AddressType", "internet", "AddressIpVersion", "dualstack", "ModificationProtectionConfig.Status", "consoleprotection"}
	id, _ := c.Must("CreateLoadBalancer", with(valid()["CreateLoadBalancer"], lb...)...)["LoadbalancerId"].(string)
	for _, shown := range []any{
		c.Must("GetLoadBalancerAttribute", "LoadBalancerId", id),
		get(c.Must("ListLoadBalancers", "LoadBalancerIds.1", id, "AddressType", "INTERNET"), "LoadBalancers", 0),
	} {
		wantWords(shown, "AddressType", "internet", "Internet", "AddressIpVersion", "dualstack", "DualStack")
		wantWords(get(shown, "ModificationProtectionConfig"), "Status", "consoleprotection", "ConsoleProtection")
	}
	c.Must("UpdateLoadBalancerProtection", "LoadBalancerId", id, "ModificationProtectionStatus", "CONSOLEPROTECTION")
	wantWords(get(c.Must("GetLoadBalancerAttribute", "LoadBalancerId", id), "ModificationProtectionConfig"),
		"Status", "CONSOLEPROTECTION", "ConsoleProtection")
	c.Must("UpdateLoadBalancerAddressTypeConfig", "LoadBalancerId", id, "AddressType", "Intranet")
	want(t, c.Must("GetLoadBalancerAttribute", "LoadBalancerId", id), "AddressType", "Intranet")

	group, _ := c.Must("CreateServerGroup", "ServerGroupName", "g0", "VpcId", "vpc-1", "ServerGroupType", "ip", "Protocol",
		"tcp", "AddressIPVersion", "Ipv4", "Scheduler", "Tch",
		check+"HealthCheckType", "http", check+"HttpCheckMethod", "get", check+"HealthCheckHttpCode.1", "HTTP_2XX")["ServerGroupId"].(string)
	shownGroup := func() any { return get(c.Must("ListServerGroups", "ServerGroupIds.1", group), "ServerGroups", 0) }
	g := shownGroup()
	wantWords(g, "ServerGroupType", "ip", "Ip", "Protocol", "tcp", "TCP", "AddressIPVersion", "Ipv4", "ipv4", "Scheduler", "Tch", "tch")
	wantWords(get(g, "HealthCheck"), "HealthCheckType", "http", "HTTP", "HttpCheckMethod", "get", "GET",
		"HealthCheckHttpCode", "[HTTP_2XX]", "[http_2xx]")
	// A change replaces the spelling of what it sends, and no other.
	c.Must("UpdateServerGroupAttribute", "ServerGroupId", group, "Scheduler", "Rr", check+"HealthCheckHttpCode.1", "http_3xx")
	wantWords(shownGroup(), "Scheduler", "Rr", "rr", "AddressIPVersion", "Ipv4", "ipv4")
	want(t, get(shownGroup(), "HealthCheck"), "HealthCheckHttpCode", "[http_3xx]")
	c.Must("UpdateServerGroupAttribute", "ServerGroupId", group, "Scheduler", "rr")
	want(t, shownGroup(), "Scheduler", "rr")

	c.Must("AddServersToServerGroup", server(group, "ip", "192.168.0.11", "80")...)
	wantWords(get(c.Must("ListServerGroupServers", "ServerGroupId", group), "Servers", 0), "ServerType", "ip", "Ip")
	listener, _ := c.Must("CreateListener", "LoadBalancerId", id, "ListenerProtocol", "tcp", "ListenerPort", "80",
		"ServerGroupId", group)["ListenerId"].(string)
	wantWords(c.Must("GetListenerAttribute", "ListenerId", listener), "ListenerProtocol", "tcp", "TCP")
	wantWords(get(c.Must("ListListeners", "ListenerProtocol", "TCP"), "Listeners", 0), "ListenerProtocol", "tcp", "TCP")
	c.Must("TagResources", "ResourceType", "LoadBalancer", "ResourceId.1", id, "Tag.1.Key", "k")
	c.Settings.ExactCase = true
	if _, code := c.Call("CreateLoadBalancer", with(valid()["CreateLoadBalancer"], lb...)...); code != "IllegalParam" {
		t.Errorf("with exactCase: %q", code)
	}
}

// What the documents say of intervals: "equal to or larger than the response timeout period". The field bears it for UDP.
func TestIntervalOfUDPChecks(t *testing.T) {
	t.Parallel()
	const check = "HealthCheckConfig."
	for _, tt := range []struct {
		kind, timeout, interval, enabled, want string
	}{
		{"UDP", "12", "5", "true", "IllegalParam"}, {"UDP", "12", "12", "true", ""}, {"UDP", "12", "5", "false", ""},
		{"TCP", "12", "5", "true", ""},
	} {
		_, code := newCaller(t).Call("CreateServerGroup", "ServerGroupName", "g0", "VpcId", "vpc-1", "Protocol", "TCP",
			check+"HealthCheckType", tt.kind,
			check+"HealthCheckEnabled", tt.enabled, check+"HealthCheckConnectTimeout", tt.timeout, check+"HealthCheckInterval", tt.interval)
		if code != tt.want {
			t.Errorf("%+v: %q", tt, code)
		}
	}
}

// Lists begin with what was made last, so that the first of several things with one name is not drawn by lot. Pages go on where
// they were, whatever is made meanwhile.
func TestNewestFirst(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	c.Cloud.NLBServerGroups = map[string]*state.NLBServerGroup{}
	var made []string
	add := func() {
		id, _ := c.Must("CreateServerGroup", "ServerGroupName", "same", "VpcId", "vpc-1")["ServerGroupId"].(string)
		made = append([]string{id}, made...)
	}
	for range 20 {
		add()
	}
	first := c.Must("ListServerGroups", "ServerGroupNames.1", "same", "MaxResults", "15")
	before := slices.Clone(made)
	add()
	token, _ := first["NextToken"].(string)
	rest := c.Must("ListServerGroups", "ServerGroupNames.1", "same", "MaxResults", "15", "NextToken", token)
	got := append(apitest.List(first, "ServerGroupId", "ServerGroups"), apitest.List(rest, "ServerGroupId", "ServerGroups")...)
	if !slices.Equal(got, before) {
		t.Errorf("listed %v, made %v", got, before)
	}
}

// A vSwitch that is seeded again keeps the addresses in use: they follow from what has them.
func TestSeededVSwitchKeepsItsAddresses(t *testing.T) {
	t.Parallel()
	c := newCaller(t)
	c.Must("CreateLoadBalancer", valid()["CreateLoadBalancer"]...)
	again := *c.Cloud.VSwitches["vsw-a"]
	c.Cloud.Add(&state.Cloud{VSwitches: map[string]*state.VSwitch{"vsw-a": &again}})
	c.Must("CreateLoadBalancer", valid()["CreateLoadBalancer"]...)
	seen := map[string]bool{}
	for id, lb := range c.Cloud.NLBs {
		for _, z := range lb.Zones {
			if key := z.VSwitchID + z.PrivateIP; z.PrivateIP != "192.168.0.200" && z.PrivateIP != "192.168.1.200" && seen[key] {
				t.Errorf("%s and another one have %s", id, z.PrivateIP)
			} else {
				seen[key] = true
			}
		}
	}
}
