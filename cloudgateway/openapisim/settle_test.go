package openapisim_test

import (
	"testing"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
)

// What ECS has begun is complete for SLB when its time has come, although nobody calls ECS in between.
func TestStartedInstanceCanBeAddedAMinuteLater(t *testing.T) {
	t.Parallel()
	settings := api.FastSettings()
	settings.InstanceStart = 5 * time.Second
	sim := newCloud(t, openapisim.Config{Settings: &settings})
	c := newClient(t, sim)
	lb := c.must("slb", "CreateLoadBalancer", "VSwitchId", "vsw-1", "InstanceChargeType", "PayByCLCU")["LoadBalancerId"].(string)
	group := c.must("slb", "CreateVServerGroup", "LoadBalancerId", lb, "VServerGroupName", "g")["VServerGroupId"].(string)
	c.must("ecs", "StopInstance", "InstanceId", "i-1")
	c.must("ecs", "StartInstance", "InstanceId", "i-1")
	sim.Advance(time.Minute)
	c.must("slb", "AddVServerGroupBackendServers", "VServerGroupId", group, "BackendServers",
		`[{"ServerId":"i-1","Port":"80","Weight":"100"}]`)
}
