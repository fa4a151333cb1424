package nlb_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
)

// slow is a caller in a cloud whose jobs take their time.
func slow(t testing.TB) *apitest.Caller {
	t.Helper()
	c := newCaller(t)
	c.Settings = api.DefaultSettings()
	return c
}

// get returns a member of an answer by its path of names and positions.
func get(answer any, path ...any) any {
	for _, step := range path {
		switch step := step.(type) {
		case string:
			object, _ := answer.(map[string]any)
			answer = object[step]
		case int:
			items, _ := answer.([]any)
			if step >= len(items) {
				return nil
			}
			answer = items[step]
		}
	}
	return answer
}

func balancerStatus(c *apitest.Caller, id string) any {
	answer, _ := c.Call("GetLoadBalancerAttribute", "LoadBalancerId", id)
	return get(answer, "LoadBalancerStatus")
}

func listenerStatus(c *apitest.Caller, id string) any {
	answer, _ := c.Call("GetListenerAttribute", "ListenerId", id)
	return get(answer, "ListenerStatus")
}

func groupStatus(c *apitest.Caller, id string) any {
	answer, _ := c.Call("ListServerGroups", "ServerGroupIds.1", id)
	return get(answer, "ServerGroups", 0, "ServerGroupStatus")
}

// servers are the servers of a group with their weights and statuses.
func servers(c *apitest.Caller, group string) []string {
	answer, _ := c.Call("ListServerGroupServers", "ServerGroupId", group)
	items, _ := get(answer, "Servers").([]any)
	out := []string{}
	for _, s := range items {
		out = append(out, fmt.Sprint(get(s, "ServerId"), " ", get(s, "Weight"), " ", get(s, "Status")))
	}
	return out
}

func certificates(c *apitest.Caller) []string {
	answer, _ := c.Call("ListListenerCertificates", "ListenerId", "lsn-locked@80", "CertType", "Server")
	items, _ := get(answer, "Certificates").([]any)
	out := []string{}
	for _, s := range items {
		out = append(out, fmt.Sprint(get(s, "CertificateId"), " ", get(s, "Status")))
	}
	return out
}

// transition is a write, what a client sees while its job runs, when it has ended, and when it has failed. Call returns the id
// that look takes.
type transition struct {
	name               string
	call               func(c *apitest.Caller) (answer map[string]any, id string)
	look               func(c *apitest.Caller, id string) any
	during, done, fail any
	window             time.Duration
}

func transitions() []transition {
	simple := func(action, id string) func(*apitest.Caller) (map[string]any, string) {
		return func(c *apitest.Caller) (map[string]any, string) { return c.Must(action, valid()[action]...), id }
	}
	made := func(action, member string) func(*apitest.Caller) (map[string]any, string) {
		return func(c *apitest.Caller) (map[string]any, string) {
			answer := c.Must(action, valid()[action]...)
			id, _ := answer[member].(string)
			return answer, id
		}
	}
	group := func(c *apitest.Caller, id string) any { return append(servers(c, id), fmt.Sprint(groupStatus(c, id))) }
	both := []string{"i-1 100 Available", "i-2 100 Available"}
	certificate := func(action, id string) func(*apitest.Caller) (map[string]any, string) {
		return func(c *apitest.Caller) (map[string]any, string) {
			return c.Must(action, "ListenerId", "lsn-locked@80", "AdditionalCertificateIds.1", id), ""
		}
	}
	return []transition{
		{"create a load balancer", made("CreateLoadBalancer", "LoadbalancerId"),
			func(c *apitest.Caller, id string) any { return balancerStatus(c, id) },
			"Provisioning", "Active", "CreateFailed", 5 * time.Second},
		{"delete a load balancer", simple("DeleteLoadBalancer", "nlb-in"),
			func(c *apitest.Caller, id string) any { return balancerStatus(c, id) },
			"Configuring", nil, "Active", time.Second},
		{"other zones", simple("UpdateLoadBalancerZones", "nlb-in"), func(c *apitest.Caller, id string) any { return balancerStatus(c, id) },
			"Configuring", "Active", "Active", time.Second},
		{"another name", simple("UpdateLoadBalancerAttribute", "nlb-1"), func(c *apitest.Caller, id string) any { return balancerStatus(c, id) },
			"Active", "Active", "Active", time.Second},
		{"create a listener", made("CreateListener", "ListenerId"), func(c *apitest.Caller, id string) any { return listenerStatus(c, id) },
			"Provisioning", "Running", nil, time.Second},
		{"change a listener", simple("UpdateListenerAttribute", "lsn-1@80"),
			func(c *apitest.Caller, id string) any { return listenerStatus(c, id) },
			"Configuring", "Running", "Running", time.Second},
		{"start a listener", simple("StartListener", "lsn-off@81"), func(c *apitest.Caller, id string) any { return listenerStatus(c, id) },
			"Starting", "Running", "Stopped", time.Second},
		{"stop a listener", simple("StopListener", "lsn-1@80"), func(c *apitest.Caller, id string) any { return listenerStatus(c, id) },
			"Stopping", "Stopped", "Running", time.Second},
		{"delete a listener", simple("DeleteListener", "lsn-1@80"), func(c *apitest.Caller, id string) any { return listenerStatus(c, id) },
			"Deleting", nil, "Running", time.Second},
		{"create a group", made("CreateServerGroup", "ServerGroupId"), func(c *apitest.Caller, id string) any { return groupStatus(c, id) },
			"Creating", "Available", nil, time.Second},
		{"change a group", simple("UpdateServerGroupAttribute", "sgp-1"), func(c *apitest.Caller, id string) any { return groupStatus(c, id) },
			"Configuring", "Available", "Available", time.Second},
		{"delete a group", simple("DeleteServerGroup", "sgp-empty"), func(c *apitest.Caller, id string) any { return groupStatus(c, id) },
			"Configuring", nil, "Available", time.Second},
		{"add a server", simple("AddServersToServerGroup", "sgp-1"), group,
			append(slices.Clone(both), "i-3 100 Adding", "Configuring"), append(slices.Clone(both), "i-3 100 Available", "Available"),
			append(slices.Clone(both), "Available"), time.Second},
		{"remove a server", simple("RemoveServersFromServerGroup", "sgp-1"), group,
			[]string{"i-1 100 Removing", "i-2 100 Available", "Configuring"}, []string{"i-2 100 Available", "Available"},
			append(slices.Clone(both), "Available"), time.Second},
		{"another weight", simple("UpdateServerGroupServersAttribute", "sgp-1"), group,
			[]string{"i-1 0 Configuring", "i-2 100 Available", "Configuring"}, []string{"i-1 0 Available", "i-2 100 Available", "Available"},
			append(slices.Clone(both), "Available"), time.Second},
		{"one more certificate", certificate("AssociateAdditionalCertificatesWithListener", "cert-4"),
			func(c *apitest.Caller, _ string) any { return certificates(c) },
			[]string{"cert-2 Associated", "cert-4 Associating"}, []string{"cert-2 Associated", "cert-4 Associated"},
			[]string{"cert-2 Associated"}, time.Second},
		{"one certificate less", certificate("DisassociateAdditionalCertificatesWithListener", "cert-2"),
			func(c *apitest.Caller, _ string) any { return certificates(c) },
			[]string{"cert-2 Diassociating"}, []string{}, []string{"cert-2 Associated"}, time.Second},
	}
}

// A write answers at once. Its resource passes through a status until the job ends, and stays what it was when the job fails.
func TestJobs(t *testing.T) {
	t.Parallel()
	for _, tt := range transitions() {
		for _, fault := range []*api.JobFault{nil, {Delay: time.Minute}, {Error: api.BadRequest("InternalError", "It broke.")}} {
			t.Run(fmt.Sprint(tt.name, fault), func(t *testing.T) {
				t.Parallel()
				c := slow(t)
				c.Cloud.NLBListeners["lsn-locked@80"].Additional = c.Cloud.NLBListeners["lsn-tls@443"].Additional[:1]
				c.Job = fault
				answer, id := tt.call(c)
				job, _ := answer["JobId"].(string)
				status := func() string { return fmt.Sprint(get(c.Must("GetJobStatus", "JobId", job), "Status")) }
				listed := func() any { return get(c.Must("ListAsynJobs", "JobIds.1", job), "Jobs", 0) }
				window, want, last, code := tt.window, tt.done, "Succeeded", ""
				switch {
				case fault != nil && fault.Error != nil:
					want, last, code = tt.fail, "Failed", "InternalError"
				case fault != nil:
					window += fault.Delay
				}
				if fault == nil {
					if diff := cmp.Diff(tt.during, tt.look(c, id)); diff != "" {
						t.Errorf("while the job runs (-want +got):\n%s", diff)
					}
				}
				c.Pass(window - time.Millisecond)
				if status() != "Processing" || get(listed(), "Status") != "Processing" {
					t.Errorf("the job is %s", status())
				}
				c.Pass(time.Millisecond)
				if status() != last || get(listed(), "Status") != last || get(listed(), "ErrorCode") != code {
					t.Errorf("the job is %s, %v", status(), listed())
				}
				if diff := cmp.Diff(want, tt.look(c, id)); diff != "" {
					t.Errorf("after the job (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// A failed job leaves nothing of what it was to do, and a repeated call gets the same job.
func TestFailedJobKeepsAttributes(t *testing.T) {
	t.Parallel()
	c := slow(t)
	c.Job = &api.JobFault{Error: api.BadRequest("InternalError", "It broke.")}
	params := []string{"LoadBalancerId", "nlb-in", "AddressType", "Internet", "ClientToken", "t"}
	first := c.Must("UpdateLoadBalancerAddressTypeConfig", params...)
	c.Pass(time.Second)
	if again := c.Must("UpdateLoadBalancerAddressTypeConfig", params...); !cmp.Equal(first, again) {
		t.Errorf("repeated: %v, first %v", again, first)
	}
	if lb := c.Must("GetLoadBalancerAttribute", "LoadBalancerId", "nlb-in"); lb["AddressType"] != "Intranet" {
		t.Errorf("it became %v", lb["AddressType"])
	}
}

// Two writes of one group or listener do not overlap; those of different ones, and the attributes and servers of one group, do.
func TestOverlap(t *testing.T) {
	t.Parallel()
	c := slow(t)
	refused := func(want, action string, params ...string) {
		t.Helper()
		if _, code := c.Call(action, params...); code != want {
			t.Errorf("%s %v: %q, want %q", action, params, code, want)
		}
	}
	c.Must("AddServersToServerGroup", server("sgp-1", "Ecs", "i-3", "80")...)
	refused("Conflict.Lock", "RemoveServersFromServerGroup", server("sgp-1", "Ecs", "i-1", "80")...)
	refused("Conflict.Lock", "DeleteServerGroup", "ServerGroupId", "sgp-busy")
	refused("", "UpdateServerGroupAttribute", "ServerGroupId", "sgp-1", "Scheduler", "RR")
	refused("", "AddServersToServerGroup", server("sgp-free", "Ecs", "i-3", "80")...)
	for n := range 5 { // as a controller does that waits for none of them
		refused("", "CreateListener", "LoadBalancerId", "nlb-2", "ListenerProtocol", "TCP", "ListenerPort", fmt.Sprint(80+n),
			"ServerGroupId", "sgp-1")
	}
	refused("", "UpdateListenerAttribute", "ListenerId", "lsn-1@80", "Cps", "10")
	refused("IncorrectStatus.listener", "UpdateListenerAttribute", "ListenerId", "lsn-1@80", "Cps", "11")
	refused("", "UpdateLoadBalancerAttribute", "LoadBalancerId", "nlb-in", "Cps", "10")
	c.Pass(time.Second / 2)
	refused("", "UpdateLoadBalancerZones", valid()["UpdateLoadBalancerZones"]...)
	c.Pass(time.Second / 2) // the job of the attribute ends, that of the zones goes on
	refused("IncorrectStatus.loadbalancer", "CreateListener", with(valid()["CreateListener"], "LoadBalancerId", "nlb-in")...)
	refused("", "DeleteServerGroup", "ServerGroupId", "sgp-empty")
	refused("IncorrectStatus.serverGroup", "AddServersToServerGroup", server("sgp-empty", "Ecs", "i-3", "80")...)
	c.Pass(time.Second)
	if got, want := groupStatus(c, "sgp-1"), "Available"; got != want {
		t.Errorf("the group is %v", got)
	}
	if got, want := balancerStatus(c, "nlb-in"), "Active"; got != want {
		t.Errorf("the load balancer is %v", got)
	}
	answer := c.Must("ListServerGroups", "ServerGroupIds.1", "sgp-1")
	if got := get(answer, "ServerGroups", 0, "Scheduler"); !strings.EqualFold(fmt.Sprint(got), "rr") {
		t.Errorf("the scheduler is %v", got)
	}
	refused("", "RemoveServersFromServerGroup", server("sgp-1", "Ecs", "i-1", "80")...)
}

// Jobs are found by what they do, and forgotten a day after they ended.
func TestListJobs(t *testing.T) {
	t.Parallel()
	c := slow(t)
	c.Settings.NLBJob = 0
	for n := range 30 {
		c.Must("UpdateListenerAttribute", "ListenerId", "lsn-1@80", "Cps", fmt.Sprint(n))
	}
	var ids []string
	token := ""
	for range 3 {
		answer := c.Must("ListAsynJobs", "ApiName", "UpdateListenerAttribute", "ResourceType", "listener", "ResourceIds.1", "lsn-1@80",
			"Status", "Succeeded", "MaxResults", "10", "NextToken", token)
		if answer["TotalCount"] != 30.0 || answer["MaxResults"] != 10.0 {
			t.Errorf("%v jobs, %v a page", answer["TotalCount"], answer["MaxResults"])
		}
		ids = append(ids, apitest.List(answer, "Id", "Jobs")...)
		token, _ = answer["NextToken"].(string)
	}
	if slices.Sort(ids); len(slices.Compact(ids)) != 30 || token != "" {
		t.Errorf("%d jobs, then %q", len(ids), token)
	}
	c.Pass(25 * time.Hour)
	for n := range 1024 {
		c.Must("UpdateListenerAttribute", "ListenerId", "lsn-1@80", "Cps", fmt.Sprint(n))
	}
	if got := get(c.Must("ListAsynJobs", "JobIds.1", ids[0]), "TotalCount"); got != 0.0 {
		t.Errorf("an old job is still known")
	}
}
