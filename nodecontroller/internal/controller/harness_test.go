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

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
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

	cloud   *gatewaytest.Fake
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
		w := &world{Cluster: kubetest.New(t), cloud: gatewaytest.New(t)}
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

// instance lets the cloud have instance i-i with its primary network interface.
func (w *world) instance(i int) {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	id, eni, ip := fmt.Sprintf("i-%d", i), fmt.Sprintf("eni-%d", i), fmt.Sprintf("192.168.0.%d", i)
	w.cloud.Instances[id] = &ecsv1.Instance{
		InstanceId: id, RegionId: region, ZoneId: region + "-h", InstanceType: "ecs.g7.xlarge", Status: "Running", VpcId: vpcID,
		PrivateIps: []string{ip}, PrimaryNetworkInterfaceId: eni, Tags: []*commonv1.Tag{{Key: "ack.aliyun.com", Value: "c-1"}},
	}
	w.cloud.NetworkInterfaces[eni] = &ecsv1.NetworkInterface{
		NetworkInterfaceId: eni, InstanceId: id, VpcId: vpcID, PrimaryIp: ip, SourceDestCheck: new(true),
	}
}

// open lets the network interface of i-i forward packets, as that of a node in service does.
func (w *world) open(i int) {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	w.cloud.NetworkInterfaces[fmt.Sprintf("eni-%d", i)].SourceDestCheck = new(false)
}

// vanish takes an instance away, with its network interface.
func (w *world) vanish(i int) {
	w.hide(i)
	w.cloud.Lock()
	defer w.cloud.Unlock()
	delete(w.cloud.NetworkInterfaces, fmt.Sprintf("eni-%d", i))
}

// holdInstances lets reads of instances wait in the gateway until release.
func (w *world) holdInstances() {
	held := make(chan struct{})
	w.held = held
	w.cloud.Interpose(func(_ int, method string, _ proto.Message) gatewaytest.Fault {
		if method == "BatchGetInstances" {
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

// hide takes an instance out of the cloud's answers about instances only.
func (w *world) hide(i int) {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	delete(w.cloud.Instances, fmt.Sprintf("i-%d", i))
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
		for i := range n {
			w.instance(i)
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
