package controller_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	kubetesting "k8s.io/client-go/testing"

	"alicloud-controllers.dev/cloudgateway/inprocess"
	"alicloud-controllers.dev/services/budget"
	"alicloud-controllers.dev/services/gateway/gatewaytest"
	"alicloud-controllers.dev/services/kube/kubetest"
	"alicloud-controllers.dev/services/nodes"
	"alicloud-controllers.dev/services/replica"

	"alicloud-controllers.dev/nodecontroller/internal/controller"
	"alicloud-controllers.dev/nodecontroller/internal/lifecycle"
	"alicloud-controllers.dev/nodecontroller/internal/nodestate"
)

func TestMain(m *testing.M) {
	watch.DefaultChanSize = 10_000 // The watches of the fake clientset panic if that many events wait.
	goleak.VerifyTestMain(m)
}

const (
	region = "cn-hangzhou"
	vpcID  = "vpc-test"
)

// world is a cluster, a cloud and a controller between them, in a bubble of its own time.
type world struct {
	*kubetest.Cluster

	t       *testing.T
	cloud   *inprocess.Cloud
	answers *answers // of the gateway
	started *controller.Controller
	lead    func()
	// reigns lets the controller made last lead.
	reigns func()
	// held is closed when calls may go on that are held back; nil if none are.
	held chan struct{}
}

// run starts a controller in a world that prepare has furnished, and lets body play once the controller has nothing to do.
func run(t *testing.T, edit func(*controller.Config), prepare, body func(*world)) {
	t.Helper()
	standBy(t, edit, prepare, func(w *world) {
		w.lead()
		body(w)
	})
}

// standBy is run with a controller that does not lead until body says so.
func standBy(t *testing.T, edit func(*controller.Config), prepare, body func(*world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		w := newWorld(t)
		prepare(w)
		w.Client.ClearActions()
		done := w.make(ctx, t, edit)
		w.lead = func() {
			w.reigns()
			w.Pass(200 * time.Millisecond) // Waiting for caches polls ten times a second.
			w.Pass(300 * time.Millisecond) // Nodes that join are gathered for a moment.
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
		Region: region, VPCID: vpcID, ClusterTag: "ack.aliyun.com", Options: nodestate.Options{CloudRoutes: true},
		DisableSourceDestCheck: true, SyncInterval: 5 * time.Minute, Workers: 100,
		Deletion: &lifecycle.Policy{
			ConfirmAfter: time.Minute, Silence: time.Minute, Policy: budget.Policy{Window: 10 * time.Minute, Minimum: 3, Percent: 5},
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
	c, err := controller.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	w.started = c
	var running errgroup.Group
	running.Go(func() error { return c.Watch(ctx) })
	w.reigns = func() { running.Go(func() error { return c.Run(ctx) }) }
	return func() {
		t.Helper()
		if err := running.Wait(); err != nil {
			t.Errorf("Run: %v", err)
		}
	}
}

// holdInstances lets reads of instances wait in the gateway until release.
func (w *world) holdInstances() {
	held := make(chan struct{})
	w.held = held
	w.cloud.Interpose(func(_ int, method string, _ proto.Message) gatewaytest.Fault {
		if method == "BatchGetInstances" || method == "ConfirmAbsent" {
			<-held
		}
		return gatewaytest.Fault{}
	})
}

func (w *world) release() {
	if w.held != nil {
		close(w.held)
	}
}

func (w *world) calls(methods ...string) int { return len(w.cloud.CallsOf(methods...)) }

// fresh makes node-i, instance i-i, as a kubelet makes it.
func fresh(i int) *corev1.Node {
	name := fmt.Sprintf("node-%d", i)
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.NodeSpec{
			ProviderID: fmt.Sprintf("%s.i-%d", region, i),
			Taints: []corev1.Taint{
				{Key: nodes.TaintUninitialized, Value: "true", Effect: corev1.TaintEffectNoSchedule},
				{Key: "example.com/other", Effect: corev1.TaintEffectNoExecute},
			},
		},
		Status: corev1.NodeStatus{
			Addresses:  []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
}

// furnished makes n nodes with their instances.
func furnished(n int) func(*world) {
	return func(w *world) {
		w.instances(n)
		for i := range n {
			w.CreateNode(fresh(i))
		}
	}
}

// condition finds a condition of a node.
func condition(n *corev1.Node, kind corev1.NodeConditionType) *corev1.NodeCondition {
	for i := range n.Status.Conditions {
		if n.Status.Conditions[i].Type == kind {
			return &n.Status.Conditions[i]
		}
	}
	return &corev1.NodeCondition{}
}

func silent(n *corev1.Node) { condition(n, corev1.NodeReady).Status = corev1.ConditionUnknown }

// conflictOnce lets somebody change node-0 just before the first patch of the node itself, which then fails.
func (w *world) conflictOnce(edit func(*corev1.Node)) {
	once := false
	w.Client.PrependReactor("patch", "nodes", func(action kubetesting.Action) (bool, runtime.Object, error) {
		if action.GetSubresource() != "" || once {
			return false, nil, nil
		}
		once = true
		gvr := schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
		object, err := w.Client.Tracker().Get(gvr, "", "node-0")
		if err != nil {
			return true, nil, err
		}
		node := object.DeepCopyObject().(*corev1.Node) //nolint:forcetypeassert // A failure of the test.
		edit(node)
		if err := w.Client.Tracker().Update(gvr, node, ""); err != nil {
			return true, nil, err
		}
		return true, nil, apierrors.NewConflict(gvr.GroupResource(), "node-0", nil)
	})
}
