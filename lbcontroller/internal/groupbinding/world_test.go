package groupbinding_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"
	"sigs.k8s.io/yaml"

	"google.golang.org/protobuf/proto"

	"alicloud-controllers.dev/cloudgateway/inprocess"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/clb"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/groupbinding"
	"alicloud-controllers.dev/lbcontroller/internal/lb"
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
	"alicloud-controllers.dev/lbcontroller/internal/nlb"
	"alicloud-controllers.dev/lbcontroller/internal/shadow/shadowtest"
)

// world is a cloud with clusters.
type world struct {
	t     *testing.T
	cloud *inprocess.Cloud
	one   *cluster
	two   *cluster
	crash shadowtest.Crash
}

// cluster has an API server, and the controllers of Services and of bindings between it and the cloud.
type cluster struct {
	*world
	id       string
	nodes    bool // are the servers in place of pods
	kube     *fake.Clientset
	server   *shadowtest.Server
	bindings *dynamicfake.FakeDynamicClient
	events   *shadowtest.Events
	registry *prometheus.Registry
	stop     func()
	writes   *shadowtest.Writes
}

// play runs a story in a new world, in a bubble of its own time. Nodes are servers if it says so, or pods.
func play(t *testing.T, nodes bool, story func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, cloud: inprocess.New(t, "vpc-test", furnished())}
		w.cloud.Interpose(func(int, string, proto.Message) gatewaytest.Fault { return w.crash.Strike() })
		w.one = w.newCluster("c-one", nodes)
		w.one.start()
		story(w)
		w.one.stop()
		if w.two != nil {
			w.two.stop()
		}
	})
}

// newCluster makes a cluster with two nodes and nothing else.
func (w *world) newCluster(id string, nodes bool) *cluster {
	scheme := runtime.NewScheme()
	c := &cluster{world: w, id: id, nodes: nodes, kube: fake.NewSimpleClientset(),
		bindings: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(scheme, map[schema.GroupVersionResource]string{
			groupbinding.Resource(): groupbinding.Kind + "List"})}
	c.events = &shadowtest.Events{Say: func(about *corev1.ObjectReference, eventType, reason, message string) string {
		if about.Kind != groupbinding.Kind {
			return ""
		}
		return fmt.Sprintf("%s: %s %s %s", about.Name, eventType, reason, message)
	}}
	c.writes = &shadowtest.Writes{Crash: &w.crash, Effect: c.effect}
	first := int32(30000)
	if id != "c-one" {
		first = 31000
	}
	c.server = shadowtest.NewServer(c.kube, first)
	c.kube.PrependReactor("*", "services", c.server.React)
	c.bindings.PrependReactor("patch", "*", c.patchBinding)
	c.kube.PrependReactor("*", "*", c.writes.React)
	c.bindings.PrependReactor("*", "*", c.writes.React)
	for i := range 2 {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i+1)},
			Spec: corev1.NodeSpec{ProviderID: fmt.Sprintf("cn-hangzhou.i-%d", i+1)},
			Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
				Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("10.1.0.%d", i+1)}}}}
		if _, err := c.kube.CoreV1().Nodes().Create(w.t.Context(), node, metav1.CreateOptions{}); err != nil {
			w.t.Fatal(err)
		}
	}
	return c
}

// start starts the controllers with an empty memory.
func (c *cluster) start() {
	c.t.Helper()
	c.registry = prometheus.NewRegistry()
	log := slog.New(slog.DiscardHandler)
	called := c.cloud.Client()
	shared := lb.NewShared(called, "vpc-test", c.registry)
	var kinds []controller.Registration
	for _, product := range []lb.Product{
		clb.Product{Gateway: called, VSwitchIDs: []string{"vsw-h"}},
		nlb.Product{Gateway: called, VPCID: "vpc-test", VSwitchIDs: []string{"vsw-h", "vsw-i"}},
	} {
		kinds = append(kinds, lb.New(lb.Config{Product: product, Shared: shared, Gateway: called,
			Desired:    desired.Config{ClusterID: c.id, VPCID: "vpc-test", ServiceFields: true, PodBackends: !c.nodes},
			DriftCheck: 4 * time.Hour, Registerer: c.registry, Logger: log}))
	}
	services, err := controller.New(controller.Config{Client: c.kube, Recorder: c.events, Workers: 4,
		NodeQuiet: time.Second,
		NodeMax:   5 * time.Second, Registerer: c.registry, Logger: log, Kinds: kinds})
	if err != nil {
		c.t.Fatal(err)
	}
	bindings, err := groupbinding.New(groupbinding.Config{Client: c.kube, Bindings: c.bindings,
		Looker: groupbinding.Looker{Gateway: called, VPCID: "vpc-test"}, Known: services.Known(), Recorder: c.events,
		Registerer: c.registry,
		Logger:     log})
	if err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(c.t.Context())
	var running sync.WaitGroup
	for _, run := range []func(context.Context) error{services.Watch, bindings.Watch, services.Run, bindings.Run} {
		running.Go(func() {
			if err := run(ctx); err != nil {
				c.t.Error(err)
			}
		})
	}
	c.stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
	c.settle()
}

// settle lets time pass until all is quiet.
func (w *world) settle() {
	<-time.After(time.Minute)
	synctest.Wait()
}

// effect is that of a write.
func (c *cluster) effect(action kubetesting.Action) error {
	var err error
	switch {
	case action.GetResource().Resource == "services":
		_, _, err = c.server.React(action)
	case action.GetResource() == groupbinding.Resource() && action.GetVerb() == "patch":
		_, _, err = c.patchBinding(action)
	case action.GetResource() == groupbinding.Resource():
		_, _, err = kubetesting.ObjectReaction(c.bindings.Tracker())(action)
	default:
		_, _, err = kubetesting.ObjectReaction(c.kube.Tracker())(action)
	}
	return err
}

// patchBinding lets a deleted binding go that has no finalizers any more.
func (c *cluster) patchBinding(action kubetesting.Action) (bool, runtime.Object, error) {
	tracker := c.bindings.Tracker()
	_, obj, err := kubetesting.ObjectReaction(tracker)(action)
	if u, ok := obj.(*unstructured.Unstructured); ok && err == nil && u.GetDeletionTimestamp() != nil &&
		len(u.GetFinalizers()) == 0 {
		err = tracker.Delete(groupbinding.Resource(), u.GetNamespace(), u.GetName())
	}
	return true, obj, err
}

// apply creates an object, or changes its spec.
func (c *cluster) apply(text string) {
	c.t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		c.t.Fatalf("%v in\n%s", err, text)
	}
	if u.GetNamespace() == "" {
		u.SetNamespace("default")
	}
	var err error
	switch u.GetKind() {
	case groupbinding.Kind:
		err = c.applyBinding(u)
	case "Service":
		svc := &corev1.Service{}
		if err = runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, svc); err == nil {
			_, _, err = c.server.React(kubetesting.NewCreateAction(corev1.SchemeGroupVersion.WithResource("services"), svc.Namespace,
				svc))
		}
	default:
		err = fmt.Errorf("kind %s", u.GetKind())
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) applyBinding(u *unstructured.Unstructured) error {
	tracker, gvr := c.bindings.Tracker(), groupbinding.Resource()
	obj, err := tracker.Get(gvr, u.GetNamespace(), u.GetName())
	if err != nil {
		u.SetUID(types.UID("uid-" + u.GetName()))
		u.SetGeneration(1)
		u.SetCreationTimestamp(metav1.Now())
		return tracker.Create(gvr, u, u.GetNamespace())
	}
	old := obj.DeepCopyObject().(*unstructured.Unstructured)
	old.SetGeneration(old.GetGeneration() + 1)
	old.Object["spec"] = u.Object["spec"]
	return tracker.Update(gvr, old, u.GetNamespace())
}

// pods makes the pods of a Service those with the addresses.
func (c *cluster) pods(service string, addresses ...string) {
	c.t.Helper()
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: service + "-1", Labels: map[string]string{
			discoveryv1.LabelServiceName: service, discoveryv1.LabelManagedBy: "endpointslice-controller.k8s.io"}},
		AddressType: discoveryv1.AddressTypeIPv4,
	}
	for _, p := range []struct {
		name   string
		number int32
		proto  corev1.Protocol
	}{{"http", 8080, corev1.ProtocolTCP}, {"dns", 8053, corev1.ProtocolUDP}} {
		slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: &p.name, Port: &p.number, Protocol: &p.proto})
	}
	for _, address := range addresses {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{address},
			Conditions: discoveryv1.EndpointConditions{Ready: new(true)}, NodeName: new("node-1")})
	}
	tracker, gvr := c.kube.Tracker(), discoveryv1.SchemeGroupVersion.WithResource("endpointslices")
	_, err := tracker.Get(gvr, slice.Namespace, slice.Name)
	if err == nil {
		err = tracker.Update(gvr, slice, slice.Namespace)
	} else {
		err = tracker.Create(gvr, slice, slice.Namespace)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// remove deletes a Service or a binding, as an API server does.
func (c *cluster) remove(kind, name string) {
	c.t.Helper()
	if kind == "service" {
		services := corev1.SchemeGroupVersion.WithResource("services")
		if _, _, err := c.server.React(kubetesting.NewDeleteAction(services, "default", name)); err != nil {
			c.t.Fatal(err)
		}
		return
	}
	tracker, gvr := c.bindings.Tracker(), groupbinding.Resource()
	obj, err := tracker.Get(gvr, "default", name)
	if err != nil {
		c.t.Fatal(err)
	}
	u := obj.DeepCopyObject().(*unstructured.Unstructured)
	if len(u.GetFinalizers()) == 0 {
		err = tracker.Delete(gvr, "default", name)
	} else {
		u.SetDeletionTimestamp(new(metav1.Now()))
		err = tracker.Update(gvr, u, "default")
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// binding is one as it is now; nil for none.
func (c *cluster) binding(name string) *groupbinding.Binding {
	obj, err := c.bindings.Tracker().Get(groupbinding.Resource(), "default", name)
	if err != nil {
		return nil
	}
	b := &groupbinding.Binding{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.(*unstructured.Unstructured).Object,
		b); err != nil {
		c.t.Fatal(err)
	}
	return b
}
