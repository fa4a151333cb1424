package method

import (
	"slices"
	"strings"
	"testing"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
)

// TestEveryMethodHasItsOptions in the protocol: the gateway would refuse to start otherwise, or let anybody in.
func TestEveryMethodHasItsOptions(t *testing.T) {
	all := All()
	services := map[string]bool{}
	for _, m := range all {
		services[m.Service] = true
		if m.Options.GetVerb() == commonv1.Verb_VERB_UNSPECIFIED || m.Options.GetResource() == "" || m.Timeout() <= 0 ||
			m.Options.GetPriority() == commonv1.Priority_PRIORITY_UNSPECIFIED ||
			m.Options.GetIdempotency() == commonv1.Idempotency_IDEMPOTENCY_UNSPECIFIED {
			t.Errorf("%s: its options need verb, resource, timeout, priority and idempotency, and are %v", m.FullName(), m.Options)
		}
		if strings.ToLower(m.Options.GetResource()) != m.Options.GetResource() {
			t.Errorf("%s: the resource %q is not written as in a ClusterRole", m.FullName(), m.Options.GetResource())
		}
		reads := m.Options.GetVerb() == commonv1.Verb_VERB_GET || m.Options.GetVerb() == commonv1.Verb_VERB_LIST
		if m.Reads() != reads {
			t.Errorf("%s reads (%t), but needs the verb %s", m.FullName(), m.Reads(), m.Verb())
		}
	}
	for _, service := range []string{
		"common.v1.CapabilitiesService", "slb.v1.ServerHealthService", "slb.v1.CertificateService", "vpc.v1.EipService",
		"vpc.v1.VSwitchService", "ecs.v1.NetworkInterfaceService",
	} {
		if !services[service] {
			t.Errorf("%s is missing in %v", service, services)
		}
	}
	if !strings.HasPrefix(all[0].FullName(), "/cloudgateway.cas.v1.") {
		t.Errorf("the full name %s does not begin with the package", all[0].FullName())
	}
}

// TestToolServices: the services with methods that only tools use are for tools, and besides them those of network interfaces, access
// control lists, security groups and NLBs, of which controllers call every method, but change some attributes only.
func TestToolServices(t *testing.T) {
	want := []string{"ecs.v1.NetworkInterfaceService", "ecs.v1.SecurityGroupService", "nlb.v1.LoadBalancerService",
		"slb.v1.AccessControlListService"}
	for _, m := range All() {
		if m.Options.GetToolOnly() {
			want = append(want, m.Service)
		}
	}
	want = slices.Compact(slices.Sorted(slices.Values(want)))
	if got := ToolServices(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q; for_tools is an option of the service", got, want)
	}
}
