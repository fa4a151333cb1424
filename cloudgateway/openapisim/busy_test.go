package openapisim_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	sdkerrors "github.com/aliyun/alibaba-cloud-sdk-go/sdk/errors"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
)

// bubbled is a cloud that is called without a network, so that a test can run in a bubble of synctest, where what takes time in
// the real world takes none.
type bubbled struct {
	t   *testing.T
	sim *openapisim.Simulator

	signing sync.Mutex // the SDK's client is for one goroutine at a time
	client  *client
}

func newBubbled(t *testing.T, settings api.Settings) *bubbled {
	t.Helper()
	sim, err := openapisim.New(openapisim.Config{Settings: &settings, Seed: seed()})
	if err != nil {
		t.Fatal(err)
	}
	return &bubbled{t: t, sim: sim, client: newClient(t, sim)}
}

// call makes a call and returns the answer and the error code.
func (b *bubbled) call(product, action string, params ...string) (map[string]any, string) {
	b.t.Helper()
	b.signing.Lock()
	request := b.client.request(product, action, params...)
	request.Domain = product
	r := signed(b.t, b.client, request)
	b.signing.Unlock()
	status, body := serve(b.sim, product, r)
	var answer map[string]any
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		b.t.Errorf("%s: %v in %s", action, err, body)
		return nil, "broken"
	}
	if status != http.StatusOK {
		return nil, answer["Code"].(string)
	}
	return answer, ""
}

// must is call for what has to succeed; it also runs in goroutines of a test.
func (b *bubbled) must(product, action string, params ...string) map[string]any {
	b.t.Helper()
	answer, code := b.call(product, action, params...)
	if code != "" {
		b.t.Errorf("%s %v: %s", action, params, code)
		return map[string]any{}
	}
	return answer
}

func (b *bubbled) create(action, id string, params ...string) string {
	b.t.Helper()
	text, _ := b.must("slb", action, params...)[id].(string)
	return text
}

// balancer makes an active load balancer.
func (b *bubbled) balancer() string {
	b.t.Helper()
	id := b.create("CreateLoadBalancer", "LoadBalancerId", "InstanceChargeType", "PayByCLCU")
	<-time.After(time.Second) // of the bubble's clock
	return id
}

func oneServer(id string, port int) string {
	return fmt.Sprintf(`[{"ServerId":%q,"Port":%d}]`, id, port)
}

// Two callers sync ten groups and ten listeners each on one load balancer, all at the same time, and never repeat a call.
func TestParallelSyncWithoutRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBubbled(t, api.DefaultSettings())
		lb := b.balancer()
		syncGroup := func() {
			group := b.create("CreateVServerGroup", "VServerGroupId", "LoadBalancerId", lb, "BackendServers", oneServer("i-1", 80))
			b.must("slb", "AddVServerGroupBackendServers", "VServerGroupId", group, "BackendServers", oneServer("i-2", 80))
			b.must("slb", "ModifyVServerGroupBackendServers", "VServerGroupId", group,
				"OldBackendServers", oneServer("i-2", 80), "NewBackendServers", oneServer("i-2", 81))
			b.must("slb", "SetVServerGroupAttribute", "VServerGroupId", group, "VServerGroupName", "synced")
			b.must("slb", "RemoveVServerGroupBackendServers", "VServerGroupId", group, "BackendServers", oneServer("i-1", 80))
		}
		syncListener := func(port int) {
			key := []string{"LoadBalancerId", lb, "ListenerPort", fmt.Sprint(port)}
			group := b.create("CreateVServerGroup", "VServerGroupId", "LoadBalancerId", lb)
			b.must("slb", "CreateLoadBalancerTCPListener", append(key, "VServerGroupId", group, "Bandwidth", "-1")...)
			b.must("slb", "SetLoadBalancerTCPListenerAttribute", append(key, "Scheduler", "rr")...)
			b.must("slb", "StartLoadBalancerListener", key...)
			<-time.After(2 * time.Second) // of the bubble's clock; it is running then
			b.must("slb", "SetLoadBalancerTCPListenerAttribute", append(key, "EstablishedTimeout", "500")...)
			b.must("slb", "DeleteLoadBalancerListener", key...)
		}
		var callers sync.WaitGroup
		for caller := range 2 {
			for n := range 10 {
				callers.Go(syncGroup)
				callers.Go(func() { syncListener(1000*(caller+1) + n) })
			}
		}
		callers.Wait()
	})
}

// A write holds its group until it is answered, whether the caller waits for that or not: others are refused, and only they.
func TestOverlappingWritesAreRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBubbled(t, api.DefaultSettings())
		lb := b.balancer()
		group := b.create("CreateVServerGroup", "VServerGroupId", "LoadBalancerId", lb)
		other := b.create("CreateVServerGroup", "VServerGroupId", "LoadBalancerId", lb)
		listener := []string{"LoadBalancerId", lb, "ListenerPort", "80"}
		b.must("slb", "CreateLoadBalancerHTTPListener", append(listener, "VServerGroupId", other, "Bandwidth", "-1",
			"HealthCheck", "off", "StickySession", "off")...)
		rules := b.must("slb", "CreateRules",
			append(listener, "RuleList", fmt.Sprintf(`[{"RuleName":"r","Url":"/r","VServerGroupId":%q}]`, other))...)
		rule := at(t, rules, "Rules", "Rule", 0, "RuleId").(string)

		var writes sync.WaitGroup
		writes.Go(func() {
			b.must("slb", "AddVServerGroupBackendServers", "VServerGroupId", group, "BackendServers", oneServer("i-1", 80))
		})
		writes.Go(func() { b.must("slb", "SetLoadBalancerHTTPListenerAttribute", append(listener, "Scheduler", "rr")...) })
		writes.Go(func() {
			b.must("slb", "AddBackendServers", "LoadBalancerId", lb, "BackendServers", `[{"ServerId":"i-1"}]`)
		})
		synctest.Wait() // they have taken effect and are not answered yet
		for _, refused := range []struct {
			action string
			params []string
			want   string
		}{
			{"RemoveVServerGroupBackendServers", []string{"VServerGroupId", group, "BackendServers", oneServer("i-1", 80)},
				"VServerGroupProcessing"},
			{"SetVServerGroupAttribute", []string{"VServerGroupId", group, "VServerGroupName", "n"}, "VServerGroupProcessing"},
			{"DeleteVServerGroup", []string{"VServerGroupId", group}, "VServerGroupProcessing"},
			{"StartLoadBalancerListener", listener, "ServiceIsConfiguring"},
			{"DeleteLoadBalancerListener", listener, "ServiceIsConfiguring"},
			{"SetRule", []string{"RuleId", rule, "RuleName", "n"}, "OperationFailed.ListenerStatusNotSupport"},
			{"DeleteRules", []string{"RuleIds", fmt.Sprintf("[%q]", rule)}, "OperationFailed.ListenerStatusNotSupport"},
			{"RemoveBackendServers", []string{"LoadBalancerId", lb, "BackendServers", `[{"ServerId":"i-1"}]`}, "BackendServer.configuring"},
		} {
			if _, code := b.call("slb", refused.action, refused.params...); code != refused.want {
				t.Errorf("%s: got code %q, want %s", refused.action, code, refused.want)
			}
		}
		b.must("slb", "AddVServerGroupBackendServers", "VServerGroupId", other, "BackendServers", oneServer("i-1", 80))
		writes.Wait()
		b.must("slb", "RemoveVServerGroupBackendServers", "VServerGroupId", group, "BackendServers", oneServer("i-1", 80))
		b.must("slb", "DeleteRules", "RuleIds", fmt.Sprintf("[%q]", rule))
		b.must("slb", "StartLoadBalancerListener", listener...)
		b.must("slb", "RemoveBackendServers", "LoadBalancerId", lb, "BackendServers", `[{"ServerId":"i-1"}]`)
	})
}

// The stricter cloud is busy for a while after each answer, with everything of the load balancer.
func TestBusyAfterWrite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		settings := api.BusySettings()
		b := newBubbled(t, settings)
		lb := b.balancer()
		b.create("CreateVServerGroup", "VServerGroupId", "LoadBalancerId", lb)
		if _, code := b.call("slb", "CreateVServerGroup", "LoadBalancerId", lb); code != "VServerGroupProcessing" {
			t.Errorf("at once: got code %q, want VServerGroupProcessing", code)
		}
		<-time.After(settings.BusyAfterWrite) // of the bubble's clock
		b.must("slb", "CreateVServerGroup", "LoadBalancerId", lb)
	})
}

// What one product completes in time, the others see: an instance that was started a minute ago can become a server.
func TestTransitionsAreSeenByOtherProducts(t *testing.T) {
	t.Parallel()
	settings := api.DefaultSettings()
	settings.WriteTime = 0
	sim := newCloud(t, openapisim.Config{Settings: &settings})
	c := newClient(t, sim)
	sim.SetTime(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	lb := c.must("slb", "CreateLoadBalancer", "InstanceChargeType", "PayByCLCU")["LoadBalancerId"].(string)
	group := c.must("slb", "CreateVServerGroup", "LoadBalancerId", lb)["VServerGroupId"].(string)
	c.must("ecs", "StopInstance", "InstanceId", "i-1")
	sim.Advance(time.Minute)
	add := func() string {
		_, code := c.call("slb", "AddVServerGroupBackendServers", "VServerGroupId", group, "BackendServers", oneServer("i-1", 80))
		return code
	}
	if code := add(); code != "ObtainIpFail" {
		t.Errorf("of a stopped instance: got code %q, want ObtainIpFail", code)
	}
	c.must("ecs", "StartInstance", "InstanceId", "i-1")
	if code := add(); code != "ObtainIpFail" {
		t.Errorf("of a starting instance: got code %q, want ObtainIpFail", code)
	}
	sim.Advance(time.Minute)
	if code := add(); code != "" {
		t.Errorf("of a running instance: got code %q", code)
	}
}

// A Network Load Balancer that is gone frees its vSwitches, whoever looks first.
func TestDeletedNLBFreesItsVSwitches(t *testing.T) {
	t.Parallel()
	settings := api.DefaultSettings()
	sim := newCloud(t, openapisim.Config{Settings: &settings, Seed: twoZones(0), LimitsOff: true})
	c := newClient(t, sim)
	sim.SetTime(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	lb := c.must("nlb", "CreateLoadBalancer", newNLBParams()...)["LoadbalancerId"].(string)
	sim.Advance(time.Minute)
	c.must("nlb", "DeleteLoadBalancer", "LoadBalancerId", lb)
	if _, code := c.call("vpc", "DeleteVSwitch", "VSwitchId", "vsw-1"); code != "DependencyViolation" {
		t.Errorf("while it goes: %q", code)
	}
	sim.Advance(time.Minute)
	c.must("vpc", "DeleteVSwitch", "VSwitchId", "vsw-1")
}

// Clients of the cloud have sent 40 servers in a call for years.
func TestManyServersPerCall(t *testing.T) {
	t.Parallel()
	sim := newCloud(t, openapisim.Config{})
	c := newClient(t, sim)
	lb := c.must("slb", "CreateLoadBalancer", "InstanceChargeType", "PayByCLCU")["LoadBalancerId"].(string)
	group := c.must("slb", "CreateVServerGroup", "LoadBalancerId", lb)["VServerGroupId"].(string)
	servers := func(n int) string {
		var all []string
		for port := range n {
			all = append(all, fmt.Sprintf(`{"ServerId":"i-1","Port":%d}`, port+1))
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	if _, code := c.call("slb", "AddVServerGroupBackendServers", "VServerGroupId", group, "BackendServers",
		servers(41)); code != "TooManyBackendServers" {
		t.Errorf("41 servers: got code %q, want TooManyBackendServers", code)
	}
	c.must("slb", "AddVServerGroupBackendServers", "VServerGroupId", group, "BackendServers", servers(40))
}

// Clients show these texts, and some compare parts of them. That of groups speaks of the VServer group: the evidence that writes are
// refused for a group, and not for the whole load balancer.
func TestTextsOfRefusedWrites(t *testing.T) {
	t.Parallel()
	settings := api.FastSettings()
	settings.BusyAfterWrite = time.Hour
	sim := newCloud(t, openapisim.Config{Settings: &settings})
	sim.SetTime(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	c := newClient(t, sim)
	lb := c.must("slb", "CreateLoadBalancer", "InstanceChargeType", "PayByCLCU")["LoadBalancerId"].(string)
	group := c.must("slb", "CreateVServerGroup", "LoadBalancerId", lb)["VServerGroupId"].(string)
	for _, tt := range []struct {
		action, text string
		params       []string
	}{
		{
			"SetVServerGroupAttribute", "A previous configuration of the VServer group is pending; please try again later.",
			[]string{"VServerGroupId", group, "VServerGroupName", "n"},
		},
		{
			"CreateLoadBalancerTCPListener", "A previous configuration is pending; please try again later.",
			[]string{"LoadBalancerId", lb, "ListenerPort", "80", "Bandwidth", "-1", "BackendServerPort", "80"},
		},
	} {
		_, err := c.sdk.ProcessCommonRequest(c.request("slb", tt.action, tt.params...))
		failure, ok := errors.AsType[*sdkerrors.ServerError](err)
		if !ok || failure.Message() != tt.text {
			t.Errorf("%s: got %v, want the text %q", tt.action, err, tt.text)
		}
	}
}
