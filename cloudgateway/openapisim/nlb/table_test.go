package nlb_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/nlb"
)

// valid are calls that succeed, by action.
func valid() map[string][]string {
	const zones = "ZoneMappings.1.ZoneId"
	return map[string][]string{
		"CreateLoadBalancer": {
			"AddressType", "Internet", "VpcId", "vpc-1", zones, "z-a", "ZoneMappings.1.VSwitchId", "vsw-a", "ZoneMappings.2.ZoneId", "z-b",
			"ZoneMappings.2.VSwitchId", "vsw-b",
		},
		"DeleteLoadBalancer":          {"LoadBalancerId", "nlb-in"},
		"GetLoadBalancerAttribute":    {"LoadBalancerId", "nlb-1"},
		"ListLoadBalancers":           {},
		"UpdateLoadBalancerAttribute": {"LoadBalancerId", "nlb-1", "LoadBalancerName", "other"},
		"UpdateLoadBalancerAddressTypeConfig": {
			"LoadBalancerId", "nlb-in", "AddressType", "Internet", zones, "z-a", "ZoneMappings.1.VSwitchId", "vsw-a",
			"ZoneMappings.1.AllocationId", "eip-1",
		},
		"UpdateLoadBalancerZones": {
			"LoadBalancerId", "nlb-in", zones, "z-a", "ZoneMappings.1.VSwitchId", "vsw-a", "ZoneMappings.2.ZoneId", "z-c",
			"ZoneMappings.2.VSwitchId", "vsw-c",
		},
		"UpdateLoadBalancerProtection":                 {"LoadBalancerId", "nlb-1", "DeletionProtectionEnabled", "true"},
		"EnableLoadBalancerIpv6Internet":               {"LoadBalancerId", "nlb-1"},
		"DisableLoadBalancerIpv6Internet":              {"LoadBalancerId", "nlb-public6"},
		"LoadBalancerJoinSecurityGroup":                {"LoadBalancerId", "nlb-1", "SecurityGroupIds.1", "sg-1"},
		"LoadBalancerLeaveSecurityGroup":               {"LoadBalancerId", "nlb-2", "SecurityGroupIds.1", "sg-1"},
		"AttachCommonBandwidthPackageToLoadBalancer":   {"LoadBalancerId", "nlb-1", "BandwidthPackageId", "cbwp-1"},
		"DetachCommonBandwidthPackageFromLoadBalancer": {"LoadBalancerId", "nlb-2", "BandwidthPackageId", "cbwp-1"},
		"StartShiftLoadBalancerZones":                  {"LoadBalancerId", "nlb-1", zones, "z-a", "ZoneMappings.1.VSwitchId", "vsw-a"},
		"CancelShiftLoadBalancerZones":                 {"LoadBalancerId", "nlb-shifted", zones, "z-a", "ZoneMappings.1.VSwitchId", "vsw-a"},
		"MoveResourceGroup":                            {"ResourceId", "nlb-1", "ResourceType", "loadbalancer", "NewResourceGroupId", "rg-2"},
		"CreateListener": {"LoadBalancerId", "nlb-1", "ListenerProtocol", "TCP",
			"ListenerPort", "8080", "ServerGroupId", "sgp-1"},
		"UpdateListenerAttribute":                        {"ListenerId", "lsn-1@80", "ListenerDescription", "other"},
		"DeleteListener":                                 {"ListenerId", "lsn-1@80"},
		"StartListener":                                  {"ListenerId", "lsn-off@81"},
		"StopListener":                                   {"ListenerId", "lsn-1@80"},
		"GetListenerAttribute":                           {"ListenerId", "lsn-1@80"},
		"ListListeners":                                  {},
		"GetListenerHealthStatus":                        {"ListenerId", "lsn-1@80"},
		"ListListenerCertificates":                       {"ListenerId", "lsn-tls@443"},
		"AssociateAdditionalCertificatesWithListener":    {"ListenerId", "lsn-tls@443", "AdditionalCertificateIds.1", "cert-4"},
		"DisassociateAdditionalCertificatesWithListener": {"ListenerId", "lsn-tls@443", "AdditionalCertificateIds.1", "cert-2"},
		"CreateServerGroup":                              {"ServerGroupName", "name", "VpcId", "vpc-1"},
		"UpdateServerGroupAttribute":                     {"ServerGroupId", "sgp-1", "ServerGroupName", "other"},
		"DeleteServerGroup":                              {"ServerGroupId", "sgp-empty"},
		"ListServerGroups":                               {},
		"ListServerGroupServers":                         {"ServerGroupId", "sgp-1"},
		"AddServersToServerGroup":                        server("sgp-1", "Ecs", "i-3", "80"),
		"RemoveServersFromServerGroup":                   server("sgp-1", "Ecs", "i-1", "80"),
		"UpdateServerGroupServersAttribute":              server("sgp-1", "Ecs", "i-1", "80", "Servers.1.Weight", "0"),
		"CreateSecurityPolicy":                           {"SecurityPolicyName", "name", "TlsVersions.1", "TLSv1.2", "Ciphers.1", "AES128-SHA"},
		"UpdateSecurityPolicyAttribute":                  {"SecurityPolicyId", "tls-1", "SecurityPolicyName", "other"},
		"DeleteSecurityPolicy":                           {"SecurityPolicyId", "tls-1"},
		"ListSecurityPolicy":                             {},
		"ListSystemSecurityPolicy":                       {},
		"TagResources": {"ResourceType", "loadbalancer", "ResourceId.1", "nlb-1",
			"Tag.1.Key", "k", "Tag.1.Value", "v"},
		"UntagResources":                {"ResourceType", "loadbalancer", "ResourceId.1", "nlb-1", "TagKey.1", "k"},
		"ListTagResources":              {"ResourceType", "loadbalancer"},
		"GetJobStatus":                  {"JobId", "job-1"},
		"ListAsynJobs":                  {"JobIds.1", "job-1"},
		"DescribeRegions":               {},
		"SetHdMonitorRegionConfig":      {"LogProject", "p", "MetricStore", "m"},
		"DescribeHdMonitorRegionConfig": {},
		"DeleteHdMonitorRegionConfig":   {},
		"DescribeZones":                 {},
	}
}

// server are the parameters of a call about one server of a group.
func server(group, kind, id, port string, more ...string) []string {
	return append([]string{"ServerGroupId", group, "Servers.1.ServerType", kind, "Servers.1.ServerId", id, "Servers.1.Port", port}, more...)
}

// with returns parameters with others added, changed or, with "", taken away.
func with(params []string, more ...string) []string {
	out := slices.Clone(params)
	for i := 0; i < len(more); i += 2 {
		at := 0
		for at < len(out) && out[at] != more[i] {
			at += 2
		}
		if at < len(out) {
			out = slices.Delete(out, at, at+2)
		}
		if more[i+1] != "" {
			out = append(out, more[i], more[i+1])
		}
	}
	return out
}

// Every action works, and every write can be tried without effect and repeated with its token.
func TestEveryAction(t *testing.T) {
	t.Parallel()
	for _, a := range nlb.Product().Actions {
		t.Run(a.Name, func(t *testing.T) {
			t.Parallel()
			params, ok := valid()[a.Name]
			if !ok {
				t.Fatal("there is no valid call")
			}
			c := newCaller(t)
			if a.Mutating {
				if _, code := c.Call(a.Name, with(params, "DryRun", "true", "ClientToken", "t")...); code != "DryRunOperation" {
					t.Fatalf("dry run: %q", code)
				}
				params = with(params, "ClientToken", "t")
			}
			first := c.Must(a.Name, params...)
			if !a.Mutating {
				return
			}
			if again := c.Must(a.Name, params...); !cmp.Equal(first, again) {
				t.Errorf("repeated: %v, first %v", again, first)
			}
			if _, code := c.Call(a.Name, with(params, "Extra", "x")...); code != "IdempotenceSignatureMismatch" {
				t.Errorf("the token with other parameters: %q", code)
			}
		})
	}
}

// A required parameter that was not sent has a code of its own.
func TestMissingParameters(t *testing.T) {
	t.Parallel()
	for _, a := range nlb.Product().Actions {
		for _, p := range a.Params {
			if !p.Required {
				continue
			}
			var params []string
			for i := 0; i < len(valid()[a.Name]); i += 2 {
				if name := valid()[a.Name][i]; name != p.Name && !strings.HasPrefix(name, p.Name+".") {
					params = append(params, name, valid()[a.Name][i+1])
				}
			}
			if _, code := newCaller(t).Call(a.Name, params...); code != "MissingParam."+p.Name {
				t.Errorf("%s without %s: %q", a.Name, p.Name, code)
			}
		}
	}
}

// The tables hold together.
func TestProduct(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for _, a := range nlb.Product().Actions {
		if names[a.Name] {
			t.Errorf("the action %s is there twice", a.Name)
		}
		names[a.Name] = true
		read := strings.HasPrefix(a.Name, "List") || strings.HasPrefix(a.Name, "Get") || strings.HasPrefix(a.Name, "Describe")
		if read == a.Mutating {
			t.Errorf("%s: Mutating is %t", a.Name, a.Mutating)
		}
		seen := map[string]bool{}
		for _, p := range a.Params {
			if seen[p.Name] || p.Min > p.Max || p.Kind == api.JSON {
				t.Errorf("%s: parameter %+v", a.Name, p)
			}
			seen[p.Name] = true
		}
		if codes := slices.Sorted(slices.Values(a.Codes)); len(slices.Compact(codes)) != len(a.Codes) {
			t.Errorf("%s: a code is there twice in %v", a.Name, a.Codes)
		}
	}
}
