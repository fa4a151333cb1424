package openapisim_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
)

// repeat makes a call again while it answers one of the codes for which a declarative tool repeats it; any other code fails the
// test.
func (b *bubbled) repeat(codes []string, product, action string, params ...string) {
	b.t.Helper()
	for range 100 {
		_, code := b.call(product, action, params...)
		if code == "" {
			return
		}
		if !slices.Contains(codes, code) {
			b.t.Errorf("%s %v: %s is not among the codes that are repeated: %v", action, params, code, codes)
			return
		}
		<-time.After(3 * time.Second) // of the bubble's clock
	}
	b.t.Errorf("%s %v: refused a hundred times", action, params)
}

// available waits until a network is.
func (b *bubbled) available(action string, params ...string) {
	b.t.Helper()
	for range 100 {
		if b.must("vpc", action, params...)["Status"] == "Available" {
			return
		}
		<-time.After(3 * time.Second) // of the bubble's clock
	}
	b.t.Errorf("%s %v: never available", action, params)
}

// A declarative tool creates what does not depend on each other at the same time, and destroys it in the same way. The order of
// calls, and the codes for which they are repeated, are those that the Terraform provider publishes: the creation of listeners and
// groups and changes of listeners are never repeated.
func TestDeclarativeTool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBubbled(t, api.DefaultSettings())
		busy := []string{"SystemBusy", "OperationBusy", "ServiceIsStopping", "BackendServer.configuring", "ServiceIsConfiguring"}
		text := func(product, action, name string, params ...string) string {
			t.Helper()
			value, _ := b.must(product, action, params...)[name].(string)
			return value
		}
		vpc := text("vpc", "CreateVpc", "VpcId", "CidrBlock", "172.16.0.0/16")
		b.available("DescribeVpcAttribute", "VpcId", vpc)
		vsw := text("vpc", "CreateVSwitch", "VSwitchId", "VpcId", vpc, "ZoneId", "cn-hangzhou-h", "CidrBlock", "172.16.1.0/24")
		b.available("DescribeVSwitchAttributes", "VSwitchId", vsw)
		lb := text("slb", "CreateLoadBalancer", "LoadBalancerId", "VSwitchId", vsw, "AddressType", "intranet", "InstanceChargeType", "PayByCLCU")
		<-time.After(time.Second) // of the bubble's clock; it is active then

		const each = 5
		groups := make([]string, each)
		listener := func(n int) []string { return []string{"LoadBalancerId", lb, "ListenerPort", fmt.Sprint(8000 + n)} }
		var work sync.WaitGroup
		for n := range each {
			work.Go(func() {
				groups[n] = text("slb", "CreateVServerGroup", "VServerGroupId", "LoadBalancerId", lb, "VServerGroupName", fmt.Sprint("g", n))
			})
			work.Go(func() {
				b.must("slb", "CreateLoadBalancerHTTPListener", append(listener(n), "Bandwidth", "-1", "HealthCheck", "off", "StickySession", "off",
					"BackendServerPort", "80")...)
				b.repeat(append(busy, "OperationFailed.ListenerStatusNotSupport"), "slb", "StartLoadBalancerListener", listener(n)...)
			})
		}
		work.Wait()
		<-time.After(2 * time.Second) // of the bubble's clock; the listeners run then
		for n := range each {
			work.Go(func() {
				b.must("slb", "SetLoadBalancerHTTPListenerAttribute", append(listener(n), "VServerGroup", "on", "VServerGroupId", groups[n])...)
				b.repeat([]string{"ServiceIsConfiguring", "BackendServer.configuring", "OperationFailed.ListenerStatusNotSupport"},
					"slb", "CreateRules",
					append(listener(n), "RuleList", fmt.Sprintf(`[{"RuleName":"r","Url":"/r","VServerGroupId":%q}]`, groups[n]))...)
			})
		}
		work.Wait()

		for n := range each {
			work.Go(func() { b.repeat(busy, "slb", "DeleteLoadBalancerListener", listener(n)...) })
			work.Go(func() {
				b.repeat([]string{"RspoolVipExist", "RspoolRuleExist"}, "slb", "DeleteVServerGroup", "VServerGroupId", groups[n])
			})
		}
		work.Wait()
		b.must("slb", "DeleteLoadBalancer", "LoadBalancerId", lb)
		b.repeat([]string{"DependencyViolation", "IncorrectRouteEntryStatus", "TaskConflict", "SystemBusy"}, "vpc",
			"DeleteVSwitch", "VSwitchId", vsw)
		b.repeat([]string{"DependencyViolation", "TaskConflict"}, "vpc", "DeleteVpc", "VpcId", vpc)
	})
}
