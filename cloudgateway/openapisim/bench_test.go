//go:build unix

package openapisim_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/requests"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// Benchmarks call over loopback, in a cloud with 2000 load balancers. Run them with
//
//	go test -run '^$' -bench . -benchtime 3s .
func largeCloud(b *testing.B) *openapisim.Simulator {
	b.Helper()
	resources := seed()
	resources.LoadBalancers = map[string]*state.LoadBalancer{}
	for n := range 2000 {
		id := "lb-" + strconv.Itoa(n)
		resources.LoadBalancers[id] = &state.LoadBalancer{
			ID: id, Name: id, Address: fmt.Sprintf("47.96.%d.%d", n/250, n%250), AddressType: "internet", Status: "active",
			Tags: []state.Tag{{Key: "ack.aliyun.com", Value: "c-1"}},
		}
	}
	return newCloud(b, openapisim.Config{Seed: resources, LimitsOff: true})
}

func BenchmarkReads(b *testing.B) {
	load(b, largeCloud(b), "slb", func(c *client, n int) *requests.CommonRequest {
		return c.request("slb", "DescribeLoadBalancerAttribute", "LoadBalancerId", "lb-"+strconv.Itoa(n%2000))
	})
}

func BenchmarkWrites(b *testing.B) {
	load(b, largeCloud(b), "slb", func(c *client, n int) *requests.CommonRequest {
		return c.request("slb", "SetLoadBalancerName", "LoadBalancerId", "lb-"+strconv.Itoa(n%2000), "LoadBalancerName", "n")
	})
}

// BenchmarkReadsWithLongJournal reports whether a call gets slower with the number of calls before it.
func BenchmarkReadsWithLongJournal(b *testing.B) {
	sim := largeCloud(b)
	for range 100_000 { // refused ones are recorded, too
		serve(sim, "slb", httptest.NewRequest(http.MethodPost, "/?Action=DescribeLoadBalancers&Version=2014-05-15", nil))
	}
	load(b, sim, "slb", func(c *client, n int) *requests.CommonRequest {
		return c.request("slb", "DescribeLoadBalancerAttribute", "LoadBalancerId", "lb-"+strconv.Itoa(n%2000))
	})
}

// crowdedCloud has as many load balancers as largeCloud, each with a vServer group.
func crowdedCloud(b *testing.B, serversPerGroup int) *openapisim.Simulator {
	b.Helper()
	resources := seed()
	resources.LoadBalancers, resources.ServerGroups = map[string]*state.LoadBalancer{}, map[string]*state.ServerGroup{}
	for n := range serversPerGroup {
		id := "i-node-" + strconv.Itoa(n)
		resources.Instances[id] = &state.Instance{ID: id, VSwitchID: "vsw-1"}
	}
	for n := range 2000 {
		id := strconv.Itoa(n)
		resources.LoadBalancers["lb-"+id] = &state.LoadBalancer{ID: "lb-" + id, Address: fmt.Sprintf("47.96.%d.%d", n/250,
			n%250), Status: "active"}
		group := &state.ServerGroup{ID: "rsp-" + id, LoadBalancerID: "lb-" + id, Servers: make([]*state.Server, 0, serversPerGroup)}
		for _, i := range resources.Instances {
			group.Servers = append(group.Servers, &state.Server{Type: "ecs", ServerID: i.ID, Port: 30080, Weight: 100})
		}
		resources.ServerGroups[group.ID] = group
	}
	settings := api.FastSettings()
	settings.Quotas.Servers, settings.Quotas.ServerAttachments = 10_000, 10_000 // they are counted, and never reached
	sim := newCloud(b, openapisim.Config{Seed: resources, Settings: &settings, LimitsOff: true})
	// counts once
	newClient(b, sim).must("slb", "AddVServerGroupBackendServers", "VServerGroupId", "rsp-1999", "BackendServers",
		`[{"ServerId":"i-1","Port":1}]`)
	return sim
}

// BenchmarkWritesOfServers changes one server of a group at a time, in a cloud of many large groups.
func BenchmarkWritesOfServers(b *testing.B) {
	for _, size := range []int{10, 1000} {
		sim := crowdedCloud(b, size)
		b.Run(fmt.Sprintf("weight/2000x%d", size), func(b *testing.B) {
			load(b, sim, "slb", func(c *client, n int) *requests.CommonRequest {
				return c.request("slb", "SetVServerGroupAttribute", "VServerGroupId", "rsp-"+strconv.Itoa(n%2000),
					"BackendServers", `[{"ServerId":"i-node-1","Port":30080,"Weight":"50"}]`)
			})
		})
		b.Run(fmt.Sprintf("add+remove/2000x%d", size), func(b *testing.B) {
			load(b, sim, "slb", func(c *client, n int) *requests.CommonRequest {
				action := "AddVServerGroupBackendServers"
				if n/2000%2 == 1 {
					action = "RemoveVServerGroupBackendServers"
				}
				return c.request("slb", action, "VServerGroupId", "rsp-"+strconv.Itoa(n%2000),
					"BackendServers", `[{"ServerId":"i-1","Port":30080}]`)
			})
		})
	}
}

// BenchmarkMemory reports what a server in a group takes, of those that clients add.
func BenchmarkMemory(b *testing.B) {
	const balancers, perGroup, perCall = 2000, 200, 40
	for b.Loop() {
		resources := seed()
		for n := range perGroup {
			id := "i-node-" + strconv.Itoa(n)
			resources.Instances[id] = &state.Instance{ID: id, VSwitchID: "vsw-1"}
		}
		settings := api.FastSettings()
		settings.Quotas.LoadBalancers, settings.Quotas.ServerAttachments = balancers, balancers
		sim := newCloud(b, openapisim.Config{Seed: resources, Settings: &settings, LimitsOff: true})
		c := newClient(b, sim)
		before := heap()
		for range balancers {
			lb := c.must("slb", "CreateLoadBalancer", "InstanceChargeType", "PayByCLCU")["LoadBalancerId"].(string)
			group := c.must("slb", "CreateVServerGroup", "LoadBalancerId", lb)["VServerGroupId"].(string)
			for first := 0; first < perGroup; first += perCall {
				var servers []string
				for n := range perCall {
					servers = append(servers,
						fmt.Sprintf(`{"ServerId":"i-node-%d","Port":30080,"Type":"ecs","Weight":100,"Description":"k8s/30080/web/default/c-1"}`, first+n))
				}
				c.must("slb", "AddVServerGroupBackendServers", "VServerGroupId", group, "BackendServers", "["+strings.Join(servers, ",")+"]")
			}
		}
		with := heap()
		sim.ClearCalls()
		b.ReportMetric(float64(with-before)/(1<<20), "MiB")
		b.ReportMetric(float64(heap()-before)/(1<<20), "MiB-without-journal")
	}
}

// heap is the memory in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
