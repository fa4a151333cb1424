package bench

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/types/known/durationpb"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// BenchmarkMemory caches 2 000 load balancers with their listeners, groups and servers and says what the gateway's process needs.
func BenchmarkMemory(b *testing.B) {
	const balancers = 2000
	if runtime.GOOS != "linux" {
		b.Log("the metrics of the process exist on Linux only")
		return
	}
	w := newWorld(b, seedBalancers(balancers), wide("slb/DescribeLoadBalancers", "slb/DescribeLoadBalancerListeners",
		"slb/DescribeVServerGroups", "slb/DescribeVServerGroupAttribute"))
	client := w.dial()
	const mib, promised = 1 << 20, 150
	before := w.metric("process_resident_memory_bytes") / mib
	read := func() error {
		var readers errgroup.Group
		readers.SetLimit(8)
		for i := range balancers {
			readers.Go(func() error {
				_, err := client.LoadBalancers.GetLoadBalancer(b.Context(), &slbv1.GetLoadBalancerRequest{
					LoadBalancerId: balancerID(i), View: slbv1.View_VIEW_FULL, MaxAge: durationpb.New(time.Hour),
					ServerGroupIds: []string{groupID(i, 0), groupID(i, 1)},
				})
				return err
			})
		}
		return readers.Wait()
	}
	if err := read(); err != nil {
		b.Fatal(err)
	}
	w.sim.ClearCalls()
	for b.Loop() {
		if err := read(); err != nil {
			b.Fatal(err)
		}
	}
	if calls := len(w.sim.Calls(0)); calls > 0 {
		b.Errorf("%d calls reached the cloud: not everything is cached", calls)
	}
	resident := w.metric("process_resident_memory_bytes") / mib
	if resident > promised {
		b.Errorf("%.0f MiB resident, want at most %d", resident, promised)
	}
	b.ReportMetric(before, "MiB-before")
	b.ReportMetric(resident, "MiB-resident")
	b.ReportMetric(w.metric("go_memstats_heap_inuse_bytes")/mib, "MiB-heap")
}

// BenchmarkMemoryOfReads reads 2 000 load balancers with two groups of 1 000 servers each, as a controller does that has restarted: what
// nobody asked to have remembered is not kept.
func BenchmarkMemoryOfReads(b *testing.B) {
	const balancers, servers = 2000, 1000
	if runtime.GOOS != "linux" {
		b.Log("the metrics of the process exist on Linux only")
		return
	}
	seed := seedBalancers(balancers)
	var shared []*state.Server // of all groups, which the cloud only reads
	for s := range servers {
		shared = append(shared, &state.Server{Type: "ecs", ServerID: instanceID(s), Port: 30000, Weight: 100,
			Description: "k8s/80/service/default/c-1"})
	}
	for _, group := range seed.ServerGroups {
		group.Servers = shared
	}
	for s := range servers {
		seed.Instances[instanceID(s)] = &state.Instance{VSwitchID: "vsw-1", PrivateIPs: []string{fmt.Sprintf("10.0.%d.%d", s/250, 2+s%250)}}
	}
	w := newWorld(b, seed, wide("slb/DescribeLoadBalancers", "slb/DescribeLoadBalancerListeners",
		"slb/DescribeVServerGroups", "slb/DescribeVServerGroupAttribute"))
	client := w.dial()
	const mib, promised = 1 << 20, 150
	before := w.metric("process_resident_memory_bytes") / mib
	for b.Loop() {
		var readers errgroup.Group
		readers.SetLimit(8)
		for i := range balancers {
			readers.Go(func() error {
				_, err := client.LoadBalancers.GetLoadBalancer(b.Context(), &slbv1.GetLoadBalancerRequest{
					LoadBalancerId: balancerID(i), View: slbv1.View_VIEW_FULL, ServerGroupIds: []string{groupID(i, 0), groupID(i, 1)},
				})
				return err
			})
		}
		if err := readers.Wait(); err != nil {
			b.Fatal(err)
		}
	}
	resident := w.metric("process_resident_memory_bytes") / mib
	if resident > promised {
		b.Errorf("%.0f MiB resident, want at most %d", resident, promised)
	}
	b.ReportMetric(before, "MiB-before")
	b.ReportMetric(resident, "MiB-resident")
	b.ReportMetric(w.metric("go_memstats_heap_inuse_bytes")/mib, "MiB-heap")
}
