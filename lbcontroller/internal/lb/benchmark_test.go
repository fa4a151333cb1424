package lb_test

import (
	"fmt"
	"log/slog"
	"runtime"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"alicloud-controllers.dev/cloudgateway/inprocess"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/lbcontroller/internal/backend"
	"alicloud-controllers.dev/lbcontroller/internal/clb"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb"
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
)

// passes makes the kind work on Services without a queue.
type passes struct {
	tb    testing.TB
	kube  *fake.Clientset
	cloud *inprocess.Cloud
	kind  controller.Registration
	all   []*corev1.Node
}

func newPasses(tb testing.TB, nodes int) *passes {
	tb.Helper()
	p := &passes{tb: tb, kube: fake.NewSimpleClientset(), cloud: newCloud(tb)}
	settings := p.cloud.Sim.Settings()
	settings.Quotas.Servers = 2 * nodes
	p.cloud.Sim.SetSettings(settings)
	p.cloud.Lock()
	defer p.cloud.Unlock()
	for n := range nodes {
		id := fmt.Sprintf("i-bp1%016d", n)
		p.cloud.Instances[id] = &state.Instance{VpcID: "vpc-test", Status: "Running"}
		p.all = append(p.all, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("cn-hangzhou.192.168.%d.%d", n/250, n%250)},
			Spec:       corev1.NodeSpec{ProviderID: "cn-hangzhou." + id},
			Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
		})
	}
	p.kind = lb.New(lb.Config{
		Product: clb.Product{Gateway: p.cloud.Client()}, Gateway: p.cloud.Client(),
		Desired: desired.Config{ClusterID: clusterID, VPCID: "vpc-test"}, DriftCheck: 4 * time.Hour,
		Logger: slog.New(slog.DiscardHandler),
	})
	return p
}

// create makes a Service and its CLB.
func (p *passes) create(svc *corev1.Service, nodes *backend.Set) *corev1.Service {
	p.tb.Helper()
	services := p.kube.CoreV1().Services(svc.Namespace)
	if _, err := services.Create(p.tb.Context(), svc, metav1.CreateOptions{}); err != nil {
		p.tb.Fatal(err)
	}
	o := p.pass(svc, nodes)
	if err := p.writer().Publish(p.tb.Context(), o.Service, *o.Publish); err != nil {
		p.tb.Fatal(err)
	}
	svc, err := services.Get(p.tb.Context(), svc.Name, metav1.GetOptions{})
	if err != nil {
		p.tb.Fatal(err)
	}
	return svc
}

func (p *passes) writer() controller.Writer {
	return controller.Writer{Client: p.kube, Finalizer: Finalizer}
}

// pass is one over a Service.
func (p *passes) pass(svc *corev1.Service, nodes *backend.Set) controller.Outcome {
	p.tb.Helper()
	o := p.kind.Kind.Ensure(p.tb.Context(), controller.Request{Key: svc.Namespace + "/" + svc.Name, Service: svc,
		Nodes: nodes, Writer: p.writer()})
	if o.Err != nil {
		p.tb.Fatal(o.Err)
	}
	return o
}

// BenchmarkPass is what one pass over a Service costs with 1 000 nodes, the gateway in memory included: when a node joins or goes, and when
// nothing concerns the Service.
func BenchmarkPass(b *testing.B) {
	const nodes = 1000
	p := newPasses(b, nodes)
	with, without := backend.New(p.all), backend.New(p.all[1:])
	svc := p.create(numbered(1), with)
	for name, sets := range map[string][2]*backend.Set{"node": {without, with}, "nothing": {with, with}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				p.pass(svc, sets[n%2])
			}
			p.cloud.ResetCalls()
			p.pass(svc, with)
		})
	}
}

// BenchmarkCreate is what a new Service costs with 1 000 nodes, API server and gateway in memory included: the pass
// that makes the CLB, and the one that adds the servers beyond the first.
func BenchmarkCreate(b *testing.B) {
	p := newPasses(b, 1000)
	set := backend.New(p.all)
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		p.pass(p.create(numbered(n), set), set)
		p.cloud.ResetCalls()
	}
}

// TestMemoryOfServers: what is remembered of 2 000 Services with 1 000 nodes each fits into the memory that the controller may have.
func TestMemoryOfServers(t *testing.T) {
	const nodes, services, room = 1000, 20, 200 << 20
	p := newPasses(t, nodes)
	set, none := backend.New(p.all), backend.New(nil)
	create := func(n int) { p.pass(p.create(numbered(n), none), set) }
	create(0)
	inUse := func() int64 {
		p.cloud.Lock()
		for _, g := range p.cloud.ServerGroups {
			g.Servers = nil // What the cloud knows isn't the controller's.
		}
		p.cloud.Unlock()
		p.cloud.ResetCalls()
		var m runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	for n := range services {
		create(n + 1)
	}
	with := inUse()
	p.kind = controller.Registration{} // Nothing else has what the controller remembers.
	each := (with - inUse()) / (services + 1)
	t.Logf("%d KiB for each Service with %d nodes", each>>10, nodes)
	if each*2000 > room {
		t.Errorf("2000 Services need %d MiB, at most %d are allowed", each*2000>>20, room>>20)
	}
	runtime.KeepAlive(p)
}
