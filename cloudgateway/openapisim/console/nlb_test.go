package console

import (
	"strings"
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func TestViewNLBs(t *testing.T) {
	t.Parallel()
	cloud := state.New("cn-hangzhou", "1000000000000001")
	cloud.NLBs["nlb-1"] = &state.NLB{
		ID: "nlb-1", Name: "web", DNSName: "nlb-1.nlb", Status: "Active", AddressType: "Internet", Tags: []state.Tag{{Key: "team", Value: "blue"}},
		Zones: []*state.NLBZone{{ZoneID: "z-a", PrivateIP: "192.168.0.1", PublicIP: "8.208.0.1"}},
	}
	cloud.NLBs["nlb-2"] = &state.NLB{ID: "nlb-2", Status: "CreateFailed"}
	cloud.NLBListeners["lsn-1@80"] = &state.NLBListener{ID: "lsn-1@80", NLBID: "nlb-1", Protocol: "TCP", Port: 80, Status: "Running", ServerGroupID: "sgp-1"}
	cloud.NLBListeners["lsn-2@0"] = &state.NLBListener{ID: "lsn-2@0", NLBID: "nlb-1", Protocol: "UDP", StartPort: 1000, EndPort: 2000, Status: "Stopped"}
	cloud.NLBServerGroups["sgp-1"] = &state.NLBServerGroup{ID: "sgp-1", Name: "<group>", Status: "Configuring", Servers: []*state.NLBServer{
		{ServerID: "i-1", Status: "Available"}, {ServerID: "i-2", Status: "Adding"},
	}}
	cloud.NLBJobs["job-1"] = &state.NLBJob{ID: "job-1", NLBID: "nlb-1"}
	cloud.NLBRunningJobs = []string{"job-1"}
	for search, want := range map[string]string{
		"": "nlb-1 nlb-2", "nlb-2": "nlb-2", "blue": "nlb-1", "<group>": "nlb-1", "i-2": "nlb-1", "lsn-2": "nlb-1", "nothing": "",
	} {
		var ids []string
		for _, lb := range viewNLBs(cloud, query{Search: search}).Items {
			ids = append(ids, lb.ID)
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("%q finds %q, want %q", search, got, want)
		}
	}
	var page strings.Builder
	c := newConsole(t, &fake{cloud: cloud})
	if err := c.pages.ExecuteTemplate(&page, "nlbs", c.look(query{})); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"nlb-1.nlb", "z-a 192.168.0.1 8.208.0.1", "TCP 80", "UDP 1000–2000", "&lt;group&gt;", "2 servers, 1 changing", "1 job", `<span class="mark bad">CreateFailed`,
	} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("no %q in %s", want, page.String())
		}
	}
}
