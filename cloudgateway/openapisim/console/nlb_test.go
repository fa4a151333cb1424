package console

import (
	"net/http"
	"strings"
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// network is a cloud with Network Load Balancers. Descriptions of servers are what health checks say of them.
func network() *state.Cloud {
	cloud := state.New("cn-hangzhou", "1000000000000001")
	cloud.Instances["i-1"] = &state.Instance{ID: "i-1", PrivateIPs: []string{"192.168.0.11"}}
	cloud.NLBs["nlb-1"] = &state.NLB{
		ID: "nlb-1", Name: "web", DNSName: "nlb-1.nlb", Status: "Active", AddressType: "Internet",
		Tags:  []state.Tag{{Key: "team", Value: "blue"}},
		Zones: []*state.NLBZone{{ZoneID: "z-a", PrivateIP: "192.168.0.1", PublicIP: "8.208.0.1"}}, Created: noon(),
	}
	cloud.NLBs["nlb-2"] = &state.NLB{ID: "nlb-2", Status: "CreateFailed"}
	cloud.NLBListeners["lsn-1@80"] = &state.NLBListener{
		ID: "lsn-1@80", NLBID: "nlb-1", Protocol: "TCP", Port: 80, Status: "Running", ServerGroupID: "sgp-1", ProxyProtocol: true,
	}
	cloud.NLBListeners["lsn-2@0"] = &state.NLBListener{ID: "lsn-2@0", NLBID: "nlb-1", Protocol: "UDP", StartPort: 1000,
		EndPort: 2000, Status: "Stopped"}
	cloud.NLBServerGroups["sgp-1"] = &state.NLBServerGroup{
		ID: "sgp-1", Name: "k8s.30080.TCP.web.default.<c-1>", Status: "Configuring", Scheduler: "Wrr",
		HealthCheck: state.NLBHealthCheck{Type: "TCP", Interval: 10},
		Servers: []*state.NLBServer{
			{ServerID: "i-1", Port: 30080, Weight: 100, Status: "Available"},
			{ServerID: "i-2", Port: 30080, Weight: 100, Status: "Available", Description: "Unhealthy"},
			{ServerID: "i-3", Port: 30080, Weight: 100, Status: "Available", Description: "Initial"},
			{ServerID: "i-4", Port: 30080, Weight: 100, Status: "Adding"},
		},
	}
	cloud.NLBJobs["job-1"] = &state.NLBJob{ID: "job-1", NLBID: "nlb-1"}
	cloud.NLBRunningJobs = []string{"job-1"}
	return cloud
}

func TestNetworkLoadBalancersAreFound(t *testing.T) {
	t.Parallel()
	cloud := network()
	for search, want := range map[string]string{
		"": "nlb-1 nlb-2", "nlb-2": "nlb-2", "blue": "nlb-1", "<c-1>": "nlb-1", "i-2": "nlb-1", "lsn-2": "nlb-1", "8.208": "nlb-1", "nothing": "",
	} {
		var ids []string
		for _, lb := range viewBalancers(cloud, words(), query{Search: search}).Items {
			ids = append(ids, lb.ID)
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("%q finds %q, want %q", search, got, want)
		}
	}
}

// A Network Load Balancer is shown as a Classic one is: listener, group, servers and their health.
func TestNetworkLoadBalancers(t *testing.T) {
	t.Parallel()
	golden(t, "nlb.html", get(t, newConsole(t, &fake{cloud: network(), health: words()}), http.MethodGet,
		"/console/balancer/nlb-1").Body.String())
}

// What serves a Service has a page, found by the names that its groups have.
func TestPagesOfServices(t *testing.T) {
	t.Parallel()
	cloud := network()
	cloud.LoadBalancers["lb-1"] = &state.LoadBalancer{ID: "lb-1", Name: "classic"}
	cloud.ServerGroups["rsp-1"] = &state.ServerGroup{ID: "rsp-1", LoadBalancerID: "lb-1", Name: "k8s/30080/web/default/c-1"}
	cloud.ServerGroups["rsp-2"] = &state.ServerGroup{ID: "rsp-2", LoadBalancerID: "lb-1", Name: "k8s/30081/web/other/c-1"}
	c := newConsole(t, &fake{cloud: cloud, health: words()})
	for path, want := range map[string]string{
		"service/default/web": "nlb-1 lb-1", "service/other/web": "lb-1", "service/web/default": "",
		"balancer/nlb-2": "nlb-2", "balancer/nlb": "",
	} {
		page := get(t, c, http.MethodGet, "/console/"+path).Body.String()
		var ids []string
		for _, article := range strings.Split(page, `data-key="`)[1:] {
			id, _, _ := strings.Cut(article, `"`)
			ids = append(ids, id)
		}
		if got := strings.Join(ids, " "); got != want || want == "" && !strings.Contains(page, "no load balancer for it") {
			t.Errorf("%s shows %q, want %q", path, got, want)
		}
	}
	if page := get(t, c, http.MethodGet, "/console/service/default/web").Body.String(); !strings.Contains(page,
		`serves <a href="../../../console/service/default/web">`) {
		t.Errorf("links are not relative: %s", page)
	}
}
