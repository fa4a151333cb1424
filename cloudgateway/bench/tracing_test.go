package bench

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/services/tracing/tracingtest"
)

// BenchmarkTracing reads an instance that the gateway remembers, which is the cheapest call it has, without and with tracing. It also
// reports the gateway's CPU time for a call.
func BenchmarkTracing(b *testing.B) {
	for _, ratio := range []float64{-1, 0.01, 1} {
		name, section := "off", ""
		if ratio > 0 {
			collector := tracingtest.Start(b)
			name, section = fmt.Sprintf("ratio=%g", ratio),
				fmt.Sprintf("tracing: {endpoint: %q, insecure: true, sampleRatio: %g}", collector.Endpoint, ratio)
		}
		b.Run(name, func(b *testing.B) {
			w := newWorld(b, seedInstances(1), wide("ecs/DescribeInstances"), section)
			client := w.dial()
			before := w.metric("process_cpu_seconds_total")
			for b.Loop() {
				_, err := client.Instances.GetInstance(b.Context(), &ecsv1.GetInstanceRequest{InstanceId: instanceID(0),
					MaxAge: durationpb.New(time.Hour)})
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric((w.metric("process_cpu_seconds_total")-before)*1e6/float64(b.N), "gateway-cpu-µs/op")
		})
	}
}
