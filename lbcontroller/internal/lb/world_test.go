package lb_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"

	"alicloud-controllers.dev/cloudgateway/inprocess"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/clb"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb"
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
)

const (
	clusterID = "c-test"
	uid       = "5e4dbfc9-c2ae-4642-b033-5607860aef6a"
	instance  = "a5e4dbfc9c2ae4642b0335607860aef6"
	webKey    = "default/web"
)

// The names of the engine and of its example in short.
const (
	Finalizer           = clb.Finalizer
	LabelHash           = lb.LabelHash
	LabelLoadBalancerID = lb.LabelLoadBalancerID
	PolicySync          = lb.PolicySync
	PolicyUpsert        = lb.PolicyUpsert
	PolicyReport        = lb.PolicyReport
)

type (
	Policy  = lb.Policy
	Drift   = lb.Drift
	Orphans = lb.Orphans
)

func isHeld(svc *corev1.Service) bool { return controller.Writer{Finalizer: Finalizer}.Holds(svc) }

// world is a cluster and a cloud with a running controller between them, in a bubble of its own time.
type world struct {
	t             *testing.T
	kube          *fake.Clientset
	cloud         *inprocess.Cloud
	health        string // that instances have from now on; empty: a good one
	events        *events
	config        func(*settings)
	instancesMade int
	// registry is that of the last controller started.
	registry *prometheus.Registry
	stop     func()
	// standby lets the controller watch only, as one does that isn't elected.
	standby bool
	// elect makes a standby the leader.
	elect func()
	// failing decides about each write of the controller to the API server; nil lets all pass.
	failing func() gatewaytest.Fault
	// oracle watches, if watchOver was asked to.
	oracle *oracle
	// trailing says how far the caches are behind.
	trailing trailing
	// writing lets one write on a Service happen at a time.
	writing sync.Mutex
}

// inWorld runs the test in a new world with nodes i-1 to i-n.
func inWorld(t *testing.T, nodes int, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for i := range nodes {
			w.addNode(i + 1)
		}
		w.start()
		test(w)
		w.stop()
	})
}

// newWorld makes a world without nodes, in which nothing runs yet.
func newWorld(t *testing.T) *world {
	t.Helper()
	// The simple clientset doesn't track who manages which field, which nothing here depends on and which takes most of the time.
	w := &world{t: t, kube: fake.NewSimpleClientset(), cloud: newCloud(t), events: &events{}, config: func(*settings) {}}
	w.kube.PrependReactor("patch", "services", w.write) // The last reactions: others let a write fail.
	w.kube.PrependReactor("update", "services", w.write)
	w.kube.PrependReactor("*", "*", w.react)
	return w
}

// react is the reaction of the API server to a write of the controller that fails. Only it patches with the UID, and writes ConfigMaps.
func (w *world) react(action kubetesting.Action) (bool, runtime.Object, error) {
	patch, isPatch := action.(kubetesting.PatchAction)
	reads := slices.Contains([]string{"get", "list", "watch"}, action.GetVerb())
	if w.oracle != nil && !reads {
		w.oracle.written(action.GetResource().Resource)
	}
	ours := action.GetResource().Resource == "configmaps" || isPatch && bytes.Contains(patch.GetPatch(), []byte(`"uid"`))
	if w.failing == nil || reads || !ours {
		return false, nil, nil
	}
	what := w.failing()
	if what.Before == nil && what.After != nil {
		if _, _, err := w.write(action); err != nil {
			return true, nil, err
		}
		what.Before = what.After
	}
	return what.Before != nil, nil, what.Before
}

// otherUID is the refusal of a patch that is meant for another object of the same name.
func (w *world) otherUID(patch kubetesting.PatchAction) error {
	var body struct{ Metadata struct{ UID types.UID } }
	if err := json.Unmarshal(patch.GetPatch(), &body); err != nil {
		return err
	}
	if body.Metadata.UID == "" {
		return nil
	}
	obj, _ := w.kube.Tracker().Get(patch.GetResource(), patch.GetNamespace(), patch.GetName()) // If there is none, the patch finds out.
	if has, ok := obj.(metav1.Object); ok && has.GetUID() != body.Metadata.UID {
		return apierrors.NewConflict(patch.GetResource().GroupResource(), patch.GetName(), errors.New("the object has another UID"))
	}
	return nil
}

// settings are those of a controller with this kind.
type settings struct {
	Controller controller.Config
	Kind       lb.Config
	CLB        clb.Product
}

// start starts a controller with an empty memory.
func (w *world) start() {
	w.t.Helper()
	w.registry = prometheus.NewRegistry()
	cfg := settings{
		Controller: controller.Config{
			Client: w.kube, Recorder: w.events, Workers: 4, NodeQuiet: time.Second, NodeMax: 5 * time.Second,
			Registerer: w.registry, Logger: slog.New(slog.DiscardHandler),
		},
		CLB: clb.Product{Gateway: w.cloud.Client(), VSwitchIDs: []string{"vsw-a", "vsw-b"}},
		Kind: lb.Config{
			Gateway:    w.cloud.Client(),
			Desired:    desired.Config{ClusterID: clusterID, VPCID: "vpc-test", VSwitchIDs: []string{"vsw-a", "vsw-b"}, ServiceFields: true},
			DriftCheck: 4 * time.Hour, HealthPatience: time.Minute, Registerer: w.registry, Logger: slog.New(slog.DiscardHandler),
		},
	}
	w.config(&cfg)
	if cfg.Kind.Product = cfg.CLB; cfg.Controller.Kinds == nil {
		cfg.Controller.Kinds = []controller.Registration{lb.New(cfg.Kind)}
	}
	c, err := controller.New(cfg.Controller)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	var running sync.WaitGroup
	start := func(run func(context.Context) error) {
		running.Go(func() {
			if err := run(ctx); err != nil {
				w.t.Error(err)
			}
		})
	}
	start(c.Watch)
	synctest.Wait() // Else the caches are found complete at once or a moment later, by the order of goroutines.
	w.elect = func() { start(c.Run) }
	if !w.standby {
		w.elect()
	}
	w.stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
	w.settle()
}

// restart kills the controller and starts another, which remembers nothing.
func (w *world) restart() {
	w.t.Helper()
	w.stop()
	w.start()
}

// settle lets time pass until bursts are gathered and everybody waits.
func (w *world) settle() { w.after(10 * time.Second) }

// after lets time pass; in the bubble that takes none.
func (w *world) after(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func (w *world) addNode(n int) {
	w.t.Helper()
	id := fmt.Sprintf("i-%d", n)
	w.addInstance(id)
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", n)},
		Spec:       corev1.NodeSpec{ProviderID: "cn-hangzhou." + id},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
	if _, err := w.kube.CoreV1().Nodes().Create(w.t.Context(), node, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// addInstance adds the instance of a node to the cloud.
func (w *world) addInstance(id string) {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	w.instancesMade++
	n := w.instancesMade
	ip := fmt.Sprintf("192.168.%d.%d", 192+n/250, 1+n%250)
	w.cloud.Instances[id] = &state.Instance{VpcID: "vpc-test", ZoneID: "cn-hangzhou-h", Status: "Running", PrivateIPs: []string{ip},
		Healthy: new(w.health != "abnormal")}
	w.cloud.Interfaces["eni-of-"+id] = &state.NetworkInterface{Type: "Primary", Status: "InUse", InstanceID: id, VpcID: "vpc-test",
		ZoneID: "cn-hangzhou-h", PrimaryIP: ip, PrivateIPs: []string{ip}}
}

func (w *world) updateNode(n int, change func(*corev1.Node)) {
	w.t.Helper()
	node, err := w.kube.CoreV1().Nodes().Get(w.t.Context(), fmt.Sprintf("node-%d", n), metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	change(node)
	if _, err := w.kube.CoreV1().Nodes().Update(w.t.Context(), node, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	w.settle()
}

// label puts a node into a pool.
func (w *world) label(node, pool string) {
	w.t.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{"pool":%q}}}`, pool)
	if _, err := w.kube.CoreV1().Nodes().Patch(w.t.Context(), node, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		w.t.Fatal(err)
	}
	w.settle()
}

// web returns a Service with one TCP port 80.
func web(changes ...func(*corev1.Service)) *corev1.Service {
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: uid, Annotations: map[string]string{}},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyCluster,
			Ports: []corev1.ServicePort{{Name: "http", Port: 80, NodePort: 30080, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(8080)}},
		},
	}
	for _, change := range changes {
		change(svc)
	}
	return svc
}

func annotated(suffix, value string) func(*corev1.Service) {
	return func(svc *corev1.Service) {
		if svc.Annotations == nil {
			svc.Annotations = map[string]string{}
		}
		svc.Annotations[annotation.Prefix+suffix] = value
	}
}

// put creates a Service and doesn't wait.
func (w *world) put(svc *corev1.Service) {
	w.t.Helper()
	if _, err := w.kube.CoreV1().Services(svc.Namespace).Create(w.t.Context(), svc, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) create(svc *corev1.Service) {
	w.t.Helper()
	w.put(svc)
	w.settle()
}

// served counts the Services of a namespace that have an address.
func (w *world) served(namespace string) (n int) {
	w.t.Helper()
	list, err := w.kube.CoreV1().Services(namespace).List(w.t.Context(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, svc := range list.Items {
		if len(svc.Status.LoadBalancer.Ingress) > 0 {
			n++
		}
	}
	return n
}

func (w *world) service() *corev1.Service {
	w.t.Helper()
	svc, err := w.kube.CoreV1().Services("default").Get(w.t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return svc
}

func (w *world) update(change func(*corev1.Service)) {
	w.t.Helper()
	svc := w.service()
	change(svc)
	if _, err := w.kube.CoreV1().Services("default").Update(w.t.Context(), svc, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	w.settle()
}

// remove marks the Service as being deleted, as the API server does while there are finalizers.
func (w *world) remove() {
	w.t.Helper()
	w.update(func(svc *corev1.Service) {
		now := metav1.Now()
		svc.DeletionTimestamp = &now
	})
}

// pods replaces the endpoints of the Service web.
func (w *world) pods(endpoints ...discoveryv1.Endpoint) {
	w.t.Helper()
	w.endpoints("web", endpoints...)
	w.settle()
}

// endpoints replaces those of a Service without waiting.
func (w *world) endpoints(service string, endpoints ...discoveryv1.Endpoint) {
	w.t.Helper()
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: service +
			"-1", Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4, Endpoints: endpoints,
	}
	client := w.kube.DiscoveryV1().EndpointSlices("default")
	_, err := client.Update(w.t.Context(), slice, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = client.Create(w.t.Context(), slice, metav1.CreateOptions{})
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func pod(ip, node string) discoveryv1.Endpoint {
	return discoveryv1.Endpoint{Addresses: []string{ip}, NodeName: &node}
}

// calls returns the names of the calls since the last time, and forgets them.
func (w *world) calls() []string {
	var names []string
	for _, c := range w.cloud.Calls() {
		names = append(names, c.Method)
	}
	w.cloud.ResetCalls()
	return names
}

// servers lists the servers of all groups as id:port=weight.
func (w *world) servers() []string {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	var list []string
	for _, g := range w.cloud.ServerGroups {
		for _, s := range g.Servers {
			list = append(list, serverText(s))
		}
	}
	slices.Sort(list)
	return list
}

// listeners lists the listeners as port/PROTOCOL.
func (w *world) listeners() []string {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	var list []string
	for _, l := range clbListeners(w.cloud.Cloud) {
		list = append(list, fmt.Sprintf("%d/%s", l.Port, strings.ToUpper(l.Protocol)))
	}
	slices.Sort(list)
	return list
}

func (w *world) instances() []*state.LoadBalancer {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	return slices.Collect(maps.Values(w.cloud.LoadBalancers))
}

// events collects events as "type reason message".
type events struct {
	// named lets the name of the object come first, as in "event web: type reason message".
	named bool
	mu    sync.Mutex
	list  []string
}

var _ record.EventRecorder = (*events)(nil)

// Event implements record.EventRecorder.
func (e *events) Event(about runtime.Object, eventType, reason, message string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	line := eventType + " " + reason + " " + message
	if e.named {
		name := "the cluster"
		if o, ok := about.(metav1.Object); ok {
			name = o.GetName()
		}
		line = "event   " + name + ": " + line
	}
	e.list = append(e.list, line)
}

// Eventf implements record.EventRecorder.
func (e *events) Eventf(o runtime.Object, eventType, reason, format string, args ...any) {
	e.Event(o, eventType, reason, fmt.Sprintf(format, args...))
}

// AnnotatedEventf implements record.EventRecorder.
func (e *events) AnnotatedEventf(o runtime.Object, _ map[string]string, eventType, reason, format string, args ...any) {
	e.Eventf(o, eventType, reason, format, args...)
}

// take returns the events since the last time.
func (e *events) take() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	list := e.list
	e.list = nil
	return list
}

// reasons returns the reasons of the events since the last time.
func (e *events) reasons() []string {
	var reasons []string
	for _, text := range e.take() {
		reasons = append(reasons, strings.Fields(text)[1])
	}
	return reasons
}

func tag(key, value string) state.Tag { return state.Tag{Key: key, Value: value} }
