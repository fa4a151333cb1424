package bench

import (
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
)

// BenchmarkReads lets many callers read at once, as fast as they get answers.
func BenchmarkReads(b *testing.B) {
	// inParallel is how many callers there are for each CPU.
	run := func(b *testing.B, w *world, inParallel int, read func(i int) error) {
		b.Helper()
		for i := range inParallel { // the first answers make the caches and connections
			if err := read(i); err != nil {
				b.Fatal(err)
			}
		}
		w.sim.ClearCalls()
		var next atomic.Int64
		b.SetParallelism(inParallel)
		b.ResetTimer()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if err := read(int(next.Add(1))); err != nil {
					b.Error(err)
				}
			}
		})
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "reads/s")
		b.ReportMetric(float64(len(w.sim.Calls(0)))/float64(b.N), "cloud-calls/read")
	}

	b.Run("cached", func(b *testing.B) {
		const balancers = 100
		w := newWorld(b, seedBalancers(balancers), wide("slb/DescribeLoadBalancers"))
		client := w.dial()
		run(b, w, balancers, func(i int) error {
			_, err := client.LoadBalancers.GetLoadBalancer(b.Context(), &slbv1.GetLoadBalancerRequest{
				LoadBalancerId: balancerID(i % balancers), MaxAge: durationpb.New(time.Hour),
			})
			return err
		})
	})
	b.Run("coalesced", func(b *testing.B) {
		const instances = 5000
		w := newWorld(b, seedInstances(instances), wide("ecs/DescribeInstances"))
		client := w.dial()
		run(b, w, 500, func(i int) error {
			_, err := client.Instances.GetInstance(b.Context(), &ecsv1.GetInstanceRequest{InstanceId: instanceID(i % instances)})
			return err
		})
	})
}
