package app

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/reconcile"
	"alicloud-controllers.dev/services/tracing"
	"alicloud-controllers.dev/services/tracing/tracingtest"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
)

// controller is a process that reconciles one object by calls to the gateway, and records all of its traces.
func (w *world) controller(collector *tracingtest.Collector, work func(context.Context, *gateway.Client) error) {
	w.t.Helper()
	all, log := 1.0, slog.New(slog.DiscardHandler)
	provider, err := tracing.Start(w.t.Context(), tracing.Config{Endpoint: collector.Endpoint, Insecure: true,
		SampleRatio: &all}, "controller", "1", log)
	if err != nil {
		w.t.Fatal(err)
	}
	w.dial("writer") // waits for the gateway and leaves the token
	conn, err := gateway.Dial(gateway.Config{
		Address: w.addr, CAFile: filepath.Join(w.dir, "tls.crt"), ServerName: "cloudgateway",
		TokenFile: filepath.Join(w.dir, "token-writer"), Tracers: provider.Tracers(),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	defer conn.Close()
	ctx, stop := context.WithCancel(w.t.Context())
	runner, err := reconcile.New(reconcile.Config{
		Name: "service", Tracers: provider.Tracers(), Logger: log, Drain: time.Minute,
		Reconciler: reconcile.Func(func(ctx context.Context, _ string) error {
			defer stop()
			return reconcile.Terminal(work(ctx, conn.Client()))
		}),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	runner.Add("default/web", reconcile.User)
	if err := runner.Run(ctx); err != nil {
		w.t.Fatal(err)
	}
	if err := provider.Run(ctx); err != nil { // It sends what there is, since ctx has ended.
		w.t.Fatal(err)
	}
}

// traced adds tracing to the configuration. The gateway begins no trace by itself, and follows its callers.
func (w *world) traced(collector *tracingtest.Collector, more string) {
	w.t.Helper()
	text, err := os.ReadFile(w.file)
	if err != nil {
		w.t.Fatal(err)
	}
	w.write("gateway.yaml", string(text)+fmt.Sprintf("tracing: {endpoint: %q, sampleRatio: 0}\n%s", "http://"+collector.Endpoint, more))
}

// tree writes the spans below a parent, indented, in the order in which the cloud was called or else of their names.
func tree(spans []tracingtest.Span, parent, indent string, out io.Writer) {
	for _, s := range spans {
		if s.Parent != parent {
			continue
		}
		line := s.Resource["service.name"] + " " + s.Name
		for _, key := range []string{"key", "outcome", "caller", "aliyun.attempt", "http.response.status_code", "batch.items"} {
			if value, ok := s.Attributes[key]; ok {
				line += " " + key + "=" + value
			}
		}
		if s.Failed {
			line += " failed"
		}
		fmt.Fprintln(out, indent+line)
		tree(spans, s.ID, indent+"  ", out)
	}
}

// TestTraceFromTheObjectToTheCloud: what happens for an object is one trace, from the controller's attempt to the request ids of the
// cloud, and contains no secret.
func TestTraceFromTheObjectToTheCloud(t *testing.T) {
	collector := tracingtest.Start(t)
	w := newWorld(t)
	w.traced(collector, "")
	w.start()
	if err := w.sim.SetFaults(
		fault.Rule{Action: "CreateLoadBalancer", Drop: true, Times: 1},
		fault.Rule{Product: "vpc", Error: &fault.Error{Status: 400, Code: "SignatureDoesNotMatch", Message: "bad signature"}},
	); err != nil {
		t.Fatal(err)
	}
	w.controller(collector, func(ctx context.Context, client *gateway.Client) error {
		if err := create(ctx, client); err != nil {
			t.Errorf("create: %v", err)
		}
		if _, err := client.Instances.GetInstance(ctx, &ecsv1.GetInstanceRequest{InstanceId: "i-none"}); err == nil {
			t.Error("an instance is there that is not")
		}
		_, err := client.Networks.GetVpc(ctx, &vpcv1.GetVpcRequest{VpcId: "vpc-1"})
		return err
	})
	if err := w.stop(); err != nil {
		t.Error(err)
	}

	spans := collector.Spans()
	slices.SortStableFunc(spans, func(a, b tracingtest.Span) int { return strings.Compare(a.Started, b.Started) })
	var got strings.Builder
	tree(spans, "", "", &got)
	const want = `controller reconcile service key=default/web outcome=terminal failed
  controller cloudgateway.slb.v1.LoadBalancerService/CreateLoadBalancer
    cloudgateway cloudgateway.slb.v1.LoadBalancerService/CreateLoadBalancer caller=system:serviceaccount:kube-system:writer
      cloudgateway Slb.CreateLoadBalancer aliyun.attempt=1 failed
      cloudgateway Slb.CreateLoadBalancer aliyun.attempt=2 http.response.status_code=200
  controller cloudgateway.ecs.v1.InstanceService/GetInstance failed
    cloudgateway cloudgateway.ecs.v1.InstanceService/GetInstance caller=system:serviceaccount:kube-system:writer
      cloudgateway batch instances batch.items=1
        cloudgateway Ecs.DescribeInstances aliyun.attempt=1 http.response.status_code=200
  controller cloudgateway.vpc.v1.NetworkService/GetVpc failed
    cloudgateway cloudgateway.vpc.v1.NetworkService/GetVpc caller=system:serviceaccount:kube-system:writer
      cloudgateway Vpc.DescribeVpcAttribute aliyun.attempt=1 http.response.status_code=400 failed
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("trace (-want +got):\n%s", diff)
	}
	for _, s := range spans {
		if id, there := s.Attributes["aliyun.request_id"]; there && (id == "" || !strings.Contains(w.log.String(), id)) &&
			s.Name != "Ecs.DescribeInstances" {
			t.Errorf("%s: the log does not know the cloud's request %q", s.Name, id)
		}
	}
	if id := spans[0].Trace; !strings.Contains(w.log.String(), `"trace_id":"`+id+`"`) {
		t.Errorf("the audit line does not lead to the trace %s:\n%s", id, w.log.String())
	}
	for _, secret := range []string{openapisim.DefaultAccessKeyID, openapisim.DefaultAccessKeySecret, "Signature=",
		"SecurityToken", "gateway-token", "Bearer"} {
		if strings.Contains(collector.Text(), secret) {
			t.Errorf("the traces hold %q", secret)
		}
	}
}

// TestCoalescedReadsAreLinked: callers of one read find it from their own traces, and it finds them. How many share one is up to the
// machine: a second is enough for all of them on most.
func TestCoalescedReadsAreLinked(t *testing.T) {
	const asked = 20
	collector := tracingtest.Start(t)
	w := newWorld(t)
	w.traced(collector, "coalesce: {idle: 1s, max: 1s}\n")
	w.start()
	w.controller(collector, func(ctx context.Context, client *gateway.Client) error {
		var reads sync.WaitGroup
		for i := range asked {
			reads.Go(func() {
				if _, err := client.Instances.GetInstance(ctx, &ecsv1.GetInstanceRequest{InstanceId: fmt.Sprintf("i-%d", i)}); err == nil {
					t.Error("an instance is there that is not")
				}
			})
		}
		reads.Wait()
		return nil
	})
	if err := w.stop(); err != nil {
		t.Error(err)
	}
	spans, batches, read, shared := collector.Spans(), 0, 0, 0
	for _, batch := range spans {
		if batch.Name != "batch instances" {
			continue
		}
		items, err := strconv.Atoi(batch.Attributes["batch.items"])
		if err != nil {
			t.Fatal(err)
		}
		batches, read, shared = batches+1, read+items, shared+len(batch.Links)
		if len(batch.Links) != items-1 {
			t.Errorf("a batch of %d items is linked to %d callers besides its parent", items, len(batch.Links))
		}
		for _, caller := range spans {
			if slices.Contains(batch.Links, caller.ID) && !slices.Equal(caller.Links, []string{batch.ID}) {
				t.Errorf("a caller is linked to %v, not to the batch", caller.Links)
			}
		}
	}
	if calls := len(w.sim.Calls(0)); calls != batches || read != asked || shared == 0 {
		t.Errorf("%d batches of %d reads, %d of which share one with another, and %d calls", batches, read, shared, calls)
	}
}
