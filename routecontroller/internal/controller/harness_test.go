package controller_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"alicloud-controllers.dev/cloudgateway/inprocess"
	"alicloud-controllers.dev/services/budget"
	"alicloud-controllers.dev/services/kube/kubetest"
	"alicloud-controllers.dev/services/replica"

	"alicloud-controllers.dev/routecontroller/internal/controller"
	"alicloud-controllers.dev/routecontroller/internal/orphan"
	"alicloud-controllers.dev/routecontroller/internal/table"
)

func TestMain(m *testing.M) {
	watch.DefaultChanSize = 10_000 // The watches of the fake clientset panic if that many events wait.
	goleak.VerifyTestMain(m)
}

const (
	region  = "cn-hangzhou"
	vpcID   = "vpc-test"
	tableA  = "vtb-a"
	tableB  = "vtb-b"
	cluster = "c-1"
)

// world is a cluster, a cloud and a controller between them, in a bubble of its own time.
type world struct {
	*kubetest.Cluster

	t       *testing.T
	cloud   *inprocess.Cloud
	started *controller.Controller
	lead    func()
	// reigns lets the controller made last lead.
	reigns func()
}

// run lets body play in a world with the given nodes, which is quiet when body begins: the controller has nothing to do.
func run(t *testing.T, edit func(*controller.Config), nodes []*corev1.Node, prepare func(*world), body func(*world)) {
	t.Helper()
	standBy(t, edit, nodes, prepare, func(w *world) {
		w.lead()
		body(w)
	})
}

// standBy is run with a controller that does not lead until body says so.
func standBy(t *testing.T, edit func(*controller.Config), nodes []*corev1.Node, prepare func(*world), body func(*world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w := newWorld(t)
		for _, n := range nodes {
			w.instance(n)
			w.CreateNode(n)
		}
		if prepare != nil {
			prepare(w)
		}
		done := w.make(ctx, t, edit)
		w.lead = func() {
			w.reigns()
			w.settle()
		}
		body(w)
		cancel()
		done()
	})
}

// config is that of the controllers of a test.
func (w *world) config(edit func(*controller.Config)) controller.Config {
	cfg := controller.Config{
		Dependencies: replica.Dependencies{
			Client: w.Client, Gateway: w.cloud.Client(), Recorder: w.Events, Logger: slog.New(slog.DiscardHandler),
			Namespace: metav1.NamespaceSystem,
		},
		ClusterID: cluster, ClusterTag: "ack.aliyun.com", Scope: table.Scope{Region: region},
		ClusterCIDRs: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/16")},
		SyncInterval: 5 * time.Minute, GatherQuiet: time.Second, GatherMax: 5 * time.Second,
		RouteQuota: 200,
		Orphans: orphan.Policy{
			GoneGrace: 2 * time.Minute, Grace: time.Hour, Policy: budget.Policy{Window: 10 * time.Minute, Minimum: 3, Percent: 5},
		},
	}
	if edit != nil {
		edit(&cfg)
	}
	return cfg
}

// make makes a controller that watches; w.reigns lets it lead. done waits for its end, which is that of ctx.
func (w *world) make(ctx context.Context, t *testing.T, edit func(*controller.Config)) (done func()) {
	t.Helper()
	cfg := w.config(edit)
	var err error
	if w.started, err = controller.New(cfg); err != nil {
		t.Fatal(err)
	}
	var running errgroup.Group
	running.Go(func() error { return w.started.Watch(ctx) })
	w.reigns = func() { running.Go(func() error { return w.started.Run(ctx) }) }
	return func() {
		t.Helper()
		if err := running.Wait(); err != nil {
			t.Errorf("Run: %v", err)
		}
	}
}

// start makes a controller that leads.
func (w *world) start(ctx context.Context, t *testing.T, edit func(*controller.Config)) (done func()) {
	t.Helper()
	done = w.make(ctx, t, edit)
	w.reigns()
	return done
}

// settle lets a gathered burst of events be worked off.
func (w *world) settle() {
	w.Pass(8 * time.Second)
}

// network returns the status of the condition NetworkUnavailable and its reason.
func (w *world) network(name string) string {
	for _, c := range w.Node(name).Status.Conditions {
		if c.Type == corev1.NodeNetworkUnavailable {
			return string(c.Status) + " " + c.Reason
		}
	}
	return ""
}

func (w *world) calls(methods ...string) int { return len(w.cloud.CallsOf(methods...)) }

// makeNode makes node-i with instance i-i and range 10.0.i.0/24.
func makeNode(i int) *corev1.Node {
	cidr := fmt.Sprintf("10.0.%d.0/24", i)
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i), Labels: map[string]string{}},
		Spec:       corev1.NodeSpec{ProviderID: fmt.Sprintf("%s.i-%d", region, i), PodCIDR: cidr, PodCIDRs: []string{cidr}},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: corev1.ConditionTrue},
			{Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionTrue, Reason: "NoRouteCreated"},
		}},
	}
}

func makeNodes(n int) []*corev1.Node {
	nodes := make([]*corev1.Node, n)
	for i := range nodes {
		nodes[i] = makeNode(i)
	}
	return nodes
}
