package nlb_test

import (
	stdcmp "cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"

	"alicloud-controllers.dev/cloudgateway/inprocess"
	simapi "alicloud-controllers.dev/cloudgateway/openapisim/api"
	simfault "alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/clb"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb"
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
	"alicloud-controllers.dev/lbcontroller/internal/lb/knowledge"
	"alicloud-controllers.dev/lbcontroller/internal/lb/orphan"
	"alicloud-controllers.dev/lbcontroller/internal/nlb"
)

const (
	clusterID = "c-test"
	uid       = "5e4dbfc9-c2ae-4642-b033-5607860aef6a"
	mark      = "a5e4dbfc9c2ae4642b0335607860aef6"
	groupName = "k8s.30080.TCP.web.default.c-test"
)

// world is a cluster and a cloud with a running controller between them, which serves CLBs and NLBs, in a bubble of its own time.
// The controller calls the gateway's own handlers, which call a simulated cloud.
type world struct {
	t      *testing.T
	kube   *fake.Clientset
	cloud  *inprocess.Cloud
	events *events
	stop   func()
	// byType serves Services by the annotation for the type, too.
	byType bool
	// waiting is the name of the pod behind endpoints that wait for the NLB.
	waiting string
	// homeless is the address of a pod that no network interface has.
	homeless string
	// vSwitches are those of the configuration.
	vSwitches []string
	// serviceFields says that fields of Services count.
	serviceFields bool
	// orphans says that the controller looks every hour for what has no Service, and deletes it after a day.
	orphans bool
	// gateway is what the controller calls; nil: the cloud's own client.
	gateway *gateway.Client
}

// inWorld runs the test in a new world with nodes i-1 to i-n.
func inWorld(t *testing.T, nodes int, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, kube: fake.NewSimpleClientset(), cloud: inprocess.New(t, "vpc-test", network()), events: &events{},
			vSwitches: []string{"vsw-h", "vsw-i", "vsw-i2"}, serviceFields: true}
		for i := range nodes {
			w.addNode(i + 1)
		}
		w.start()
		test(w)
		w.stop()
	})
}

// set changes the settings of the cloud.
func (w *world) set(change func(s *simapi.Settings)) {
	settings := w.cloud.Sim.Settings()
	change(&settings)
	w.cloud.Sim.SetSettings(settings)
}

// job says what becomes of the jobs of an action of NLB from now on, the next times of them or all for 0, and of no others.
func (w *world) job(action string, times int, takes time.Duration, fails string) {
	w.t.Helper()
	rule := simfault.Rule{Product: "nlb", Action: action, Job: true, Times: times, Latency: simapi.Duration(takes)}
	if fails != "" {
		rule.Error = &simfault.Error{Code: fails}
	}
	if err := w.cloud.Sim.SetFaults(rule); err != nil {
		w.t.Fatal(err)
	}
}

// quiet lets all jobs go well from now on.
func (w *world) quiet() {
	w.t.Helper()
	if err := w.cloud.Sim.SetFaults(); err != nil {
		w.t.Fatal(err)
	}
}

// start starts a controller with an empty memory.
func (w *world) start() {
	w.t.Helper()
	registry, log := prometheus.NewRegistry(), slog.New(slog.DiscardHandler)
	called := stdcmp.Or(w.gateway, w.cloud.Client())
	shared := lb.NewShared(called, "vpc-test", registry)
	var kinds []controller.Registration
	var searches lb.Orphans
	var records *knowledge.Record
	if w.orphans {
		records = knowledge.NewRecord(knowledge.RecordConfig{
			Client: w.kube, Namespace: "kube-system", Name: "backends", Logger: log,
		})
		searches = lb.Orphans{Client: w.kube, Recorder: w.events, Interval: time.Hour, Delete: true,
			Policy: orphan.Policy{Grace: 24 * time.Hour, PerDay: 5}}
	}
	for _, product := range []lb.Product{
		clb.Product{Gateway: called, ByLoadBalancerType: w.byType},
		nlb.Product{Gateway: called, VPCID: "vpc-test", VSwitchIDs: w.vSwitches, ByLoadBalancerType: w.byType},
	} {
		kinds = append(kinds, lb.New(lb.Config{
			Product: product, Shared: shared, Gateway: called, Desired: desired.Config{ClusterID: clusterID,
				VPCID: "vpc-test", ServiceFields: w.serviceFields},
			DriftCheck: 4 * time.Hour, HealthPatience: time.Minute, Registerer: registry, Logger: log,
			Orphans: searches, Records: records,
		}))
	}
	c, err := controller.New(controller.Config{
		Client: w.kube, Recorder: w.events, Workers: 4, NodeQuiet: time.Second, NodeMax: 5 * time.Second,
		Registerer: registry, Logger: log, Kinds: kinds,
	})
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
	synctest.Wait()
	start(c.Run)
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

// rest lets time pass until no call is under way: an attempt may have begun just now, and takes the gateway some milliseconds.
func (w *world) rest() {
	for w.cloud.Underway() > 0 {
		w.after(100 * time.Millisecond)
	}
}

func (w *world) addNode(n int) {
	w.t.Helper()
	id := fmt.Sprintf("i-%d", n)
	w.cloud.Add(&state.Cloud{Instances: map[string]*state.Instance{id: {VpcID: "vpc-test", VSwitchID: "vsw-nodes", ZoneID: "cn-hangzhou-i",
		Status: "Running", PrivateIPs: []string{fmt.Sprintf("10.1.0.%d", n)}}}})
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", n)},
		Spec:       corev1.NodeSpec{ProviderID: "cn-hangzhou." + id},
		Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
			Addresses:  []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("10.1.0.%d", n)}},
		},
	}
	if _, err := w.kube.CoreV1().Nodes().Create(w.t.Context(), node, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// web returns a Service of class NLB with one TCP port 80.
func web(changes ...func(*corev1.Service)) *corev1.Service {
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: uid, Annotations: map[string]string{}},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: new(nlb.Class),
			ExternalTrafficPolicy: corev1.ServiceExternalTrafficPolicyCluster,
			Ports: []corev1.ServicePort{{Name: "http", Port: 80, NodePort: 30080, Protocol: corev1.ProtocolTCP,
				TargetPort: intstr.FromInt32(8080)}},
		},
	}
	for _, change := range changes {
		change(svc)
	}
	return svc
}

// annotated sets annotations by their keys in the table.
func annotated(pairs ...string) func(*corev1.Service) {
	return func(svc *corev1.Service) {
		if svc.Annotations == nil {
			svc.Annotations = map[string]string{}
		}
		for i := 0; i < len(pairs); i += 2 {
			svc.Annotations[annotation.Prefix+pairs[i]] = pairs[i+1]
		}
	}
}

// withoutAnnotation takes one off.
func withoutAnnotation(key string) func(*corev1.Service) {
	return func(svc *corev1.Service) { delete(svc.Annotations, annotation.Prefix+key) }
}

// onPods makes pods the backends.
func onPods(svc *corev1.Service) {
	annotated()(svc)
	svc.Annotations[annotation.BackendType] = "eni"
}

func (w *world) create(svc *corev1.Service) {
	w.t.Helper()
	if _, err := w.kube.CoreV1().Services(svc.Namespace).Create(w.t.Context(), svc, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	w.settle()
}

func (w *world) service() *corev1.Service {
	w.t.Helper()
	svc, err := w.kube.CoreV1().Services("default").Get(w.t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return svc
}

func (w *world) update(changes ...func(*corev1.Service)) {
	w.t.Helper()
	svc := w.service()
	for _, change := range changes {
		change(svc)
	}
	if _, err := w.kube.CoreV1().Services("default").Update(w.t.Context(), svc, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	w.settle()
}

// remove marks the Service as being deleted, as the API server does while there are finalizers.
func (w *world) remove() {
	w.t.Helper()
	w.update(func(svc *corev1.Service) { svc.DeletionTimestamp = new(metav1.Now()) })
}

// pods replaces the endpoints of the Service, and gives each a network interface.
func (w *world) pods(ips ...string) {
	w.t.Helper()
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "default", Name: "web-1", Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: new("http"), Port: new(int32(8080)), Protocol: new(corev1.ProtocolTCP)}},
	}
	for _, ip := range ips {
		if ip != w.homeless {
			w.cloud.Add(&state.Cloud{Interfaces: map[string]*state.NetworkInterface{"eni-" + ip: {Type: "Secondary", Status: "InUse",
				InstanceID: "i-1", VpcID: "vpc-test", VSwitchID: "vsw-nodes", ZoneID: "cn-hangzhou-i", PrimaryIP: ip, PrivateIPs: []string{ip}}}})
		}
		endpoint := discoveryv1.Endpoint{Addresses: []string{ip}}
		if w.waiting != "" {
			endpoint.TargetRef = &corev1.ObjectReference{Kind: "Pod", Namespace: "default", Name: w.waiting}
			endpoint.Conditions.Ready = new(false)
		}
		slice.Endpoints = append(slice.Endpoints, endpoint)
	}
	client := w.kube.DiscoveryV1().EndpointSlices("default")
	_, err := client.Update(w.t.Context(), slice, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = client.Create(w.t.Context(), slice, metav1.CreateOptions{})
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.settle()
}

// writes are the names of the calls that change something since the last time, without their prefix; all calls are forgotten.
func (w *world) writes() []string {
	var names []string
	for _, c := range w.cloud.Writes() {
		names = append(names, strings.TrimPrefix(c.Method, "nlb."))
	}
	w.cloud.ResetCalls()
	return names
}

// expect compares the writes since the last time. Those of which one doesn't need the other come in any order.
func (w *world) expect(what string, want ...string) {
	w.t.Helper()
	got := w.writes()
	slices.Sort(got)
	want = slices.Sorted(slices.Values(want)) // It may be shared by tests that run side by side.
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("%s: writes (-want +got):\n%s\nevents: %v", what, diff, w.events.take())
	}
}

// state is what there is of the cloud's NLBs, one line for each thing.
func (w *world) state() []string {
	var lines []string
	w.cloud.Look(func(c *state.Cloud) {
		for _, g := range c.NLBServerGroups {
			var servers []string
			for _, s := range g.Servers {
				servers = append(servers, fmt.Sprintf("%s:%d=%d", s.ServerID, s.Port, s.Weight))
			}
			slices.Sort(servers)
			lines = append(lines, fmt.Sprintf("group %s %s", g.Name, strings.Join(servers, " ")))
		}
		for _, l := range c.NLBListeners {
			lines = append(lines, fmt.Sprintf("listener %d-%d %s to %s", l.Port+l.StartPort, l.EndPort, l.Protocol,
				c.NLBServerGroups[l.ServerGroupID].Name))
		}
		for _, lb := range c.NLBs {
			line := "balancer " + lb.Name
			for _, id := range lb.SecurityGroupIDs {
				if name := c.SecurityGroups[id].Name; name != "" {
					line += " with " + name
				}
			}
			lines = append(lines, line)
		}
		for _, g := range c.SecurityGroups {
			if g.Name != "" { // Those without are given to an NLB by hand.
				lines = append(lines, "security group "+g.Name+" "+rulesText(g))
			}
		}
	})
	slices.Sort(lines)
	return lines
}

// rulesText are the rules of a security group, without their descriptions.
func rulesText(g *state.SecurityGroup) string {
	var rules []string
	for _, r := range g.Rules {
		rules = append(rules, fmt.Sprintf("%s %s %s %s", r.Priority, strings.ToLower(r.Policy), r.IPProtocol, r.SourceCidr+r.Ipv6SourceCidr))
	}
	slices.Sort(rules)
	return strings.Join(rules, ", ")
}

// has compares what there is.
func (w *world) has(what string, want ...string) {
	w.t.Helper()
	want = slices.Sorted(slices.Values(want)) // It may be shared by tests that run side by side.
	if diff := cmp.Diff(want, w.state(), cmp.Transformer("nil", func(s []string) []string { return append([]string{}, s...) })); diff != "" {
		w.t.Errorf("%s: the cloud has (-want +got):\n%s\nevents: %v", what, diff, w.events.take())
	}
}

// balancer is the only NLB.
func (w *world) balancer() state.NLB {
	w.t.Helper()
	return only(w, "NLBs", func(c *state.Cloud) map[string]*state.NLB { return c.NLBs })
}

// listener is the only listener, and group the only server group.
func (w *world) listener() state.NLBListener {
	w.t.Helper()
	return only(w, "listeners", func(c *state.Cloud) map[string]*state.NLBListener { return c.NLBListeners })
}

func (w *world) group() state.NLBServerGroup {
	w.t.Helper()
	return only(w, "server groups", func(c *state.Cloud) map[string]*state.NLBServerGroup { return c.NLBServerGroups })
}

// only is a copy of the only thing of a kind.
func only[T any](w *world, what string, all func(c *state.Cloud) map[string]*T) (found T) {
	w.t.Helper()
	n := 0
	w.cloud.Look(func(c *state.Cloud) {
		for _, one := range all(c) {
			found = *one
			n++
		}
	})
	if n != 1 {
		w.t.Fatalf("%d %s, want one; events: %v", n, what, w.events.take())
	}
	return found
}

// unavailable is the error of a cloud that doesn't answer.
func unavailable() error { return rpcerr.Errorf(rpcerr.CloudUnavailable, "the cloud does not answer") }

func check[T any](t *testing.T, what string, want, got T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// events collects events as "type reason message".
type events struct {
	mu   sync.Mutex
	list []string
}

var _ record.EventRecorder = (*events)(nil)

// Event implements record.EventRecorder.
func (e *events) Event(_ runtime.Object, eventType, reason, message string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.list = append(e.list, eventType+" "+reason+" "+message)
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

// says reports whether one of the events since the last time has a text.
func (w *world) says(text string) {
	w.t.Helper()
	list := w.events.take()
	if !slices.ContainsFunc(list, func(e string) bool { return strings.Contains(e, text) }) {
		w.t.Errorf("no event says %q: %v", text, list)
	}
}
