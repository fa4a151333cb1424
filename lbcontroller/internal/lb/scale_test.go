package lb_test

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kuberuntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"

	"alicloud-controllers.dev/cloudgateway/inprocess"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/clb"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb"
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
)

// passesOf is how many passes over Services a controller has made.
func passesOf(t testing.TB, registry *prometheus.Registry) int {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	passes := 0
	for _, family := range families {
		if family.GetName() == "lbcontroller_reconcile_calls" {
			passes = int(family.GetMetric()[0].GetHistogram().GetSampleCount())
		}
	}
	return passes
}

// TestEventsAreLinear: an event of a node costs one pass, one call and one server for each Service that it concerns,
// and nothing for others. An event of an endpoint costs its Service only.
func TestEventsAreLinear(t *testing.T) {
	for _, services := range []int{3, 12} {
		t.Run(fmt.Sprint(services), func(t *testing.T) {
			inWorld(t, 3, func(w *world) {
				w.label("node-1", "shop")
				for n := range services {
					for kind, change := range []func(*corev1.Service){func(*corev1.Service) {}, local, eniMode,
						annotated(annotation.BackendLabel, "pool=shop")} {
						svc := named(fmt.Sprintf("web-%d-%d", kind, n), 10*n+kind, change)
						if _, err := w.kube.CoreV1().Services(svc.Namespace).Create(t.Context(), svc, metav1.CreateOptions{}); err != nil {
							t.Fatal(err)
						}
					}
				}
				w.after(time.Minute)
				cost := func(what string, change func(), passes int) {
					t.Helper()
					w.calls()
					before := passesOf(t, w.registry)
					change()
					w.after(time.Minute)
					check(t, what+": passes", passes, passesOf(t, w.registry)-before)
					servers := 0
					for _, c := range w.cloud.CallsOf("ApplyServerChanges") {
						if r, ok := c.Request.(*slbv1.ApplyServerChangesRequest); ok {
							servers += len(r.GetAdd()) + len(r.GetRemove())
						}
					}
					check(t, what+": servers", passes, servers)
					check(t, what+": calls", passes, len(w.calls()))
				}
				cost("a node comes", func() { w.addNode(4) }, services)
				cost("a pod comes", func() { w.endpoints("web-1-0", pod("10.9.0.1", "node-2")) }, 1)
				cost("another pod comes", func() { w.endpoints("web-1-0", pod("10.9.0.1", "node-2"), pod("10.9.0.2", "node-3")) }, 1)
				cost("a node with one pod goes", func() {
					w.updateNode(2, excluded)
				}, services+1)
			})
		})
	}
}

// counted counts the passes over Services.
type counted struct {
	controller.Kind
	passes *atomic.Int64
}

// Ensure implements controller.Kind.
func (k counted) Ensure(ctx context.Context, r controller.Request) controller.Outcome {
	defer k.passes.Add(1)
	return k.Kind.Ensure(ctx, r)
}

// cluster is a controller with many Services and nodes, in real time.
type cluster struct {
	b      *testing.B
	kube   *fake.Clientset
	cloud  *inprocess.Cloud
	passes atomic.Int64
	stop   func()
}

// run starts a controller on objects.
func (c *cluster) run(objects []kuberuntime.Object) {
	c.b.Helper()
	c.kube = fake.NewSimpleClientset(objects...)
	c.passes.Store(0)
	registry, logger := prometheus.NewRegistry(), slog.New(slog.DiscardHandler)
	kind := lb.New(lb.Config{
		Product: clb.Product{Gateway: c.cloud.Client()}, Gateway: c.cloud.Client(),
		Desired: desired.Config{ClusterID: clusterID, VPCID: "vpc-test"}, Registerer: registry, Logger: logger,
		DriftCheck: 365 * 24 * time.Hour, // One every few seconds, of a Service that isn't concerned, would be counted with the events.
	})
	kind.Kind = counted{kind.Kind, &c.passes}
	running, err := controller.New(controller.Config{
		Client: c.kube, Recorder: &record.FakeRecorder{}, Workers: 8, NodeQuiet: 50 * time.Millisecond, NodeMax: time.Second,
		Registerer: registry, Logger: logger,
		Kinds: []controller.Registration{kind},
	})
	if err != nil {
		c.b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(c.b.Context())
	var parts sync.WaitGroup
	for _, part := range []func(context.Context) error{running.Watch, running.Run} {
		parts.Go(func() {
			if err := part(ctx); err != nil {
				c.b.Error(err)
			}
		})
	}
	c.stop = sync.OnceFunc(func() {
		cancel()
		parts.Wait()
	})
	c.b.Cleanup(c.stop)
}

// await waits until the controller has made so many passes.
func (c *cluster) await(passes int64) {
	c.b.Helper()
	for tick := time.NewTicker(20 * time.Millisecond); c.passes.Load() < passes; {
		select {
		case <-tick.C:
		case <-c.b.Context().Done():
			c.b.Fatal("the benchmark has ended")
		}
	}
}

// calm waits until the controller has made so many passes, and makes no more.
func (c *cluster) calm(passes int64) {
	c.b.Helper()
	c.await(passes)
	for tick, last, same := time.NewTicker(20*time.Millisecond), int64(0), 0; same < 50; <-tick.C {
		if now := c.passes.Load(); now == last {
			same++
		} else {
			last, same = now, 0
		}
	}
}

// forget drops what the cloud of the test holds, which isn't the controller's.
func (c *cluster) forget() {
	c.cloud.Lock()
	for _, g := range c.cloud.ServerGroups {
		g.Servers = nil
	}
	c.cloud.Unlock()
	c.cloud.ResetCalls()
}

// processorTime is that of the whole process.
func processorTime(t testing.TB) time.Duration {
	t.Helper()
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkCluster is what a controller with 2 000 Services and 1 000 nodes needs: memory, which must be less than 300
// MiB, and processor time for each Service of one event. The API server and the gateway of the test are in the same
// process, so these are upper bounds. The time of an event of an endpoint is that between two passes over the Service.
func BenchmarkCluster(b *testing.B) {
	const services, nodes, room = 2000, 1000, 300 << 20
	p := newPasses(b, nodes+1)
	c := &cluster{b: b, cloud: p.cloud}
	var objects []kuberuntime.Object
	for n := range services {
		objects = append(objects, numbered(n))
	}
	// Without nodes first: the cloud of the test remembers what a creation was asked for.
	start := processorTime(b)
	c.run(objects)
	c.calm(services)
	b.Logf("%v of processor time for each Service that is created", (processorTime(b)-start)/services)
	list, err := c.kube.CoreV1().Services(metav1.NamespaceAll).List(b.Context(), metav1.ListOptions{})
	if err != nil {
		b.Fatal(err)
	}
	c.stop()
	objects = nil
	for i := range list.Items {
		svc := &list.Items[i]
		if len(svc.Status.LoadBalancer.Ingress) == 0 {
			b.Fatalf("Service %s has no address", svc.Name)
		}
		objects = append(objects, svc)
	}
	for _, node := range p.all[:nodes] {
		objects = append(objects, node)
	}
	c.cloud.Interpose(func(seq int, _ string, _ proto.Message) gatewaytest.Fault {
		if seq%50 == 0 {
			c.forget()
		}
		return gatewaytest.Fault{}
	})
	c.run(objects)
	c.calm(services)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	sys := m.Sys - m.HeapReleased
	c.forget()
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	b.Logf("memory: %d MiB of heap in use after a collection, %d MiB from the system before it", m.HeapAlloc>>20, sys>>20)
	if m.HeapAlloc > room {
		b.Errorf("%d MiB of heap are in use, at most %d are allowed", m.HeapAlloc>>20, room>>20)
	}
	measure := func(name string, concerned int64, change func()) {
		b.Run(name, func(b *testing.B) {
			debug.FreeOSMemory() // Else the runtime does it beside the events.
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := processorTime(b)
			n := int64(0)
			for b.Loop() {
				done := c.passes.Load()
				change()
				c.await(done + concerned)
				n++
			}
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(processorTime(b)-start)/1e6/float64(n*concerned), "cpu-ms/Service")
			b.ReportMetric(float64(after.Mallocs-before.Mallocs)/float64(n*concerned), "allocs/Service")
		})
	}
	add := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	there := false
	measure("node", services, func() {
		client := c.kube.CoreV1().Nodes()
		if there = !there; there {
			_, err := client.Create(b.Context(), p.all[nodes].DeepCopy(), metav1.CreateOptions{})
			add(err)
		} else {
			add(client.Delete(b.Context(), p.all[nodes].Name, metav1.DeleteOptions{}))
		}
	})
	_, err = c.kube.CoreV1().Services("default").Create(b.Context(), named("local", 5000, local), metav1.CreateOptions{})
	add(err)
	c.calm(c.passes.Load() + 1)
	pods := 0
	measure("endpoint", 1, func() {
		slice := &discoveryv1.EndpointSlice{
			ObjectMeta:  metav1.ObjectMeta{Namespace: "default", Name: "local-1", Labels: map[string]string{discoveryv1.LabelServiceName: "local"}},
			AddressType: discoveryv1.AddressTypeIPv4,
		}
		client := c.kube.DiscoveryV1().EndpointSlices("default")
		if pods++; pods == 1 {
			_, err := client.Create(b.Context(), slice, metav1.CreateOptions{})
			add(err)
		}
		slice.Endpoints = []discoveryv1.Endpoint{pod("10.9.0.1", p.all[pods%nodes].Name)}
		_, err := client.Update(b.Context(), slice, metav1.UpdateOptions{})
		add(err)
	})
}
