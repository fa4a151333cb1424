package gatewayapi_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayfake "sigs.k8s.io/gateway-api/pkg/client/clientset/versioned/fake"

	"google.golang.org/protobuf/proto"

	"alicloud-controllers.dev/cloudgateway/inprocess"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/clb"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/gatewayapi"
	"alicloud-controllers.dev/lbcontroller/internal/lb"
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
	"alicloud-controllers.dev/lbcontroller/internal/nlb"
	"alicloud-controllers.dev/lbcontroller/internal/shadow/shadowtest"
)

// world is a cluster and a cloud with the controllers of Services and of Gateways between them, in a bubble of its own time.
type world struct {
	t        *testing.T
	kube     *fake.Clientset
	server   *shadowtest.Server
	gateways *gatewayfake.Clientset
	cloud    *inprocess.Cloud
	events   *shadowtest.Events
	registry *prometheus.Registry
	stop     func()
	nodes    bool // are the servers in place of pods
	mute     bool // is the API server about what it has
	without  bool // the option for Gateways
	// served are the custom resources of the Gateway API.
	served []*metav1.APIResourceList
	mu     sync.Mutex
	crash  shadowtest.Crash
	// between is called before each call to the cloud.
	between func()
	writes  *shadowtest.Writes
}

// play runs a story in a new world with the objects of testdata/common.yaml, whose pods have network interfaces.
func play(t *testing.T, story func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, kube: fake.NewSimpleClientset(), gateways: gatewayfake.NewSimpleClientset(),
			cloud: inprocess.New(t, "vpc-test", network()),
			events: &shadowtest.Events{Say: func(about *corev1.ObjectReference, eventType, reason, message string) string {
				if eventType != corev1.EventTypeWarning {
					return ""
				}
				return fmt.Sprintf("%s %s: %s %s", about.Kind, about.Name, reason, message)
			}}}
		w.writes = &shadowtest.Writes{Crash: &w.crash, Effect: w.effect}
		w.server = shadowtest.NewServer(w.kube, 30000)
		w.serve("v1")
		w.gateways.PrependReactor("get", "group", func(kubetesting.Action) (bool, runtime.Object, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.gateways.Resources = w.served
			return w.mute, nil, errors.New("mute")
		})
		w.kube.PrependReactor("*", "services", w.server.React)
		for _, c := range []interface {
			PrependReactor(verb, resource string, reaction kubetesting.ReactionFunc)
		}{w.kube, w.gateways} {
			c.PrependReactor("*", "*", w.writes.React)
		}
		w.cloud.Interpose(func(int, string, proto.Message) gatewaytest.Fault {
			if w.between != nil {
				w.between()
			}
			return w.crash.Strike()
		})
		common, err := os.ReadFile("testdata/common.yaml")
		if err != nil {
			t.Fatal(err)
		}
		w.apply(string(common))
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}, Spec: corev1.NodeSpec{ProviderID: "cn-hangzhou.i-1"},
			Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
				Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.1.0.1"}}}}
		if _, err := w.kube.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		story(w)
		w.stop()
	})
}

// serve says in which versions there are custom resources; TCPRoutes are in the first, and all others in the last.
func (w *world) serve(versions ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.served = nil
	for i, version := range versions {
		list := &metav1.APIResourceList{GroupVersion: gatewayv1.GroupName + "/" + version}
		for _, name := range []string{"gatewayclasses", "gateways", "listenersets", "tcproutes", "udproutes", "tlsroutes", "referencegrants"} {
			if i == 0 && name == "tcproutes" || i == len(versions)-1 && name != "tcproutes" {
				list.APIResources = append(list.APIResources, metav1.APIResource{Name: name})
			}
		}
		w.served = append(w.served, list)
	}
}

// start starts the controllers with an empty memory.
func (w *world) start() {
	w.t.Helper()
	w.registry = prometheus.NewRegistry()
	log := slog.New(slog.DiscardHandler)
	called := w.cloud.Client()
	shared := lb.NewShared(called, "vpc-test", w.registry)
	var kinds []controller.Registration
	for _, product := range []lb.Product{
		clb.Product{Gateway: called, VSwitchIDs: []string{"vsw-h"}},
		nlb.Product{Gateway: called, VPCID: "vpc-test", VSwitchIDs: []string{"vsw-h", "vsw-i"}},
	} {
		kinds = append(kinds, lb.New(lb.Config{Product: product, Shared: shared, Gateway: called,
			Desired:    desired.Config{ClusterID: "c-test", VPCID: "vpc-test", ServiceFields: true, PodBackends: !w.nodes},
			DriftCheck: 4 * time.Hour, TLSSecrets: true, CertificateGrace: certificateGrace, Registerer: w.registry, Logger: log}))
	}
	c, err := controller.New(controller.Config{Client: w.kube, Recorder: w.events, Workers: 4, NodeQuiet: time.Second,
		NodeMax:    5 * time.Second,
		Registerer: w.registry, Logger: log, Kinds: kinds, SecretNamespaces: []string{"infra", "red", "blue", "green"}})
	if err != nil {
		w.t.Fatal(err)
	}
	runs := []func(context.Context) error{c.Watch, c.Run}
	if !w.without {
		g, err := gatewayapi.New(gatewayapi.Config{Options: gatewayapi.Options{PodBackends: !w.nodes}, Client: w.kube,
			Gateways: w.gateways, Known: c.Known(), Recorder: w.events, Registerer: w.registry, Logger: log})
		if err != nil {
			w.t.Fatal(err)
		}
		runs = append(runs, g.Watch, g.Run)
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	var running sync.WaitGroup
	for _, run := range runs {
		running.Go(func() {
			if err := run(ctx); err != nil {
				w.t.Error(err)
			}
		})
	}
	w.stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
	w.settle()
}

// settle lets time pass until all is quiet.
func (w *world) settle() {
	<-time.After(time.Minute)
	synctest.Wait()
}

// effect is that of a write.
func (w *world) effect(action kubetesting.Action) error {
	if action.GetResource().Resource == "services" {
		_, _, err := w.server.React(action)
		return err
	}
	tracker := w.kube.Tracker()
	if action.GetResource().Group == gatewayv1.GroupName {
		tracker = w.gateways.Tracker()
	}
	_, _, err := kubetesting.ObjectReaction(tracker)(action)
	return err
}

func (w *world) slices(namespace string) []*discoveryv1.EndpointSlice {
	list, err := w.server.Slices(namespace)
	if err != nil {
		w.t.Fatal(err)
	}
	return list
}

// apply creates objects, or changes them.
func (w *world) apply(text string) {
	w.t.Helper()
	for _, obj := range gatewayapi.Decode(w.t, []byte(text)) {
		gvk, tracker := obj.GetObjectKind().GroupVersionKind(), w.kube.Tracker()
		plural := strings.ToLower(gvk.Kind) + "s"
		if gvk.Kind == "GatewayClass" {
			plural = "gatewayclasses"
		}
		gvr := gvk.GroupVersion().WithResource(plural)
		if gvr.Group == gatewayv1.GroupName {
			tracker = w.gateways.Tracker()
		}
		m := obj.(metav1.Object)
		old, err := tracker.Get(gvr, m.GetNamespace(), m.GetName())
		if err == nil {
			keepStatus(old, obj)
			err = tracker.Update(gvr, obj, m.GetNamespace())
		} else {
			err = tracker.Create(gvr, obj, m.GetNamespace())
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

// keepStatus lets the spec of an object change only.
func keepStatus(old, obj runtime.Object) {
	switch o := obj.(type) {
	case *gatewayv1.Gateway:
		o.Status = old.(*gatewayv1.Gateway).Status
	case *gatewayv1.TCPRoute:
		o.Status = old.(*gatewayv1.TCPRoute).Status
	}
}

// remove deletes an object of the Gateway API, as "tcproutes red/web". What a Gateway owns goes with it.
func (w *world) remove(what string) {
	w.t.Helper()
	resource, name, _ := strings.Cut(what, " ")
	namespace, name, _ := strings.Cut(name, "/")
	gvr, tracker := resourceOf(resource), w.gateways.Tracker()
	obj, err := tracker.Get(gvr, namespace, name)
	if err == nil {
		err = tracker.Delete(gvr, namespace, name)
	}
	services := corev1.SchemeGroupVersion.WithResource("services")
	list, listing := w.kube.Tracker().List(services, corev1.SchemeGroupVersion.WithKind("Service"), namespace)
	if err = errors.Join(err, listing); err != nil {
		w.t.Fatal(err)
	}
	for _, svc := range list.(*corev1.ServiceList).Items {
		if metav1.IsControlledBy(&svc, obj.(metav1.Object)) {
			if handled, _, err := w.server.React(kubetesting.NewDeleteAction(services, namespace, svc.Name)); !handled || err != nil {
				w.t.Errorf("delete the Service: waits for a finalizer %t, %v", handled, err)
			}
		}
	}
}

// network is what the cloud has before a Gateway.
func network() *state.Cloud {
	seed := state.New("cn-hangzhou", "")
	seed.Vpcs["vpc-test"] = &state.Vpc{CidrBlock: "10.0.0.0/8"}
	seed.VSwitches["vsw-h"] = &state.VSwitch{VpcID: "vpc-test", ZoneID: "cn-hangzhou-h", CidrBlock: "10.2.0.0/24"}
	seed.VSwitches["vsw-i"] = &state.VSwitch{VpcID: "vpc-test", ZoneID: "cn-hangzhou-i", CidrBlock: "10.3.0.0/24"}
	seed.VSwitches["vsw-nodes"] = &state.VSwitch{VpcID: "vpc-test", ZoneID: "cn-hangzhou-h", CidrBlock: "10.0.0.0/15"}
	seed.Instances["i-1"] = &state.Instance{VpcID: "vpc-test", VSwitchID: "vsw-nodes", ZoneID: "cn-hangzhou-h", Status: "Running",
		PrivateIPs: []string{"10.1.0.1"}}
	for _, ip := range []string{"10.0.0.1", "10.0.0.2", "10.0.1.1", "10.0.2.1"} {
		seed.Interfaces["eni-"+ip] = &state.NetworkInterface{Type: "Secondary", Status: "InUse", InstanceID: "i-1", VpcID: "vpc-test",
			VSwitchID: "vsw-nodes", ZoneID: "cn-hangzhou-h", PrimaryIP: ip, PrivateIPs: []string{ip}}
	}
	seed.UserCertificates["123"] = &state.UserCertificate{}
	return seed
}

// cloudHas is what there is of load balancers: "LISTENER: SERVER=WEIGHT …".
func (w *world) cloudHas() []string {
	lines := []string{}
	w.cloud.Look(func(c *state.Cloud) {
		for id, lb := range c.NLBs {
			lines = append(lines, "nlb "+lb.AddressType)
			for _, l := range c.NLBListeners {
				if l.NLBID != id {
					continue
				}
				var servers []string
				for _, s := range c.NLBServerGroups[l.ServerGroupID].Servers {
					servers = append(servers, fmt.Sprintf(" %s:%d=%d", s.ServerID, s.Port, s.Weight))
				}
				slices.Sort(servers)
				lines = append(lines, fmt.Sprintf("%d/%s:%s", l.Port, strings.ToLower(l.Protocol), strings.Join(servers, "")))
			}
		}
		if n := len(c.NLBServerGroups); len(c.NLBs) == 0 && n > 0 {
			lines = append(lines, fmt.Sprintf("%d groups without an NLB", n))
		}
		for range c.LoadBalancers {
			lines = append(lines, "clb")
		}
	})
	slices.Sort(lines)
	return lines
}

// expect compares what the cloud has.
func (w *world) expect(what string, want ...string) {
	w.t.Helper()
	want = slices.Sorted(slices.Values(want)) // It may be shared by tests that run side by side.
	if diff := cmp.Diff(want, w.cloudHas(), cmp.Transformer("list", func(l []string) string { return strings.Join(l, "\n") })); diff != "" {
		w.t.Errorf("%s (-want +got):\n%s\nevents: %q", what, diff, w.events.Take())
	}
}

// calls are the writes to the cloud and the reads since the last time.
func (w *world) calls() string {
	var names []string
	for _, c := range w.cloud.Calls() {
		names = append(names, strings.TrimPrefix(c.Method, "nlb."))
	}
	w.cloud.ResetCalls()
	slices.Sort(names)
	return strings.Join(names, " ")
}

// costs compares the writes to the cloud since the last time.
func (w *world) costs(what, want string) {
	w.t.Helper()
	var names []string
	for _, c := range w.cloud.Writes() {
		names = append(names, strings.TrimPrefix(c.Method, "nlb."))
	}
	w.cloud.ResetCalls()
	slices.Sort(names)
	if got := strings.Join(names, " "); got != want {
		w.t.Errorf("%s costs %q, want %q", what, got, want)
	}
}

// says is what a condition of an object says, "STATUS REASON".
func (w *world) says(what, condition string) string {
	w.t.Helper()
	resource, name, _ := strings.Cut(what, " ")
	namespace, name, _ := strings.Cut(name, "/")
	obj, err := w.gateways.Tracker().Get(resourceOf(resource), namespace, name)
	if err != nil {
		w.t.Fatal(err)
	}
	var list []metav1.Condition
	switch o := obj.(type) {
	case *gatewayv1.GatewayClass:
		list = o.Status.Conditions
	case *gatewayv1.Gateway:
		list = o.Status.Conditions
	case *gatewayv1.ListenerSet:
		list = o.Status.Conditions
	default:
		if r, _ := gatewayapi.RouteOf(o); len(r.Status) > 0 {
			list = r.Status[0].Conditions
		}
	}
	for _, c := range list {
		if c.Type == condition {
			return string(c.Status) + " " + c.Reason
		}
	}
	return "nothing"
}

func (w *world) want(what, condition, want string) {
	w.t.Helper()
	if got := w.says(what, condition); got != want {
		w.t.Errorf("%s: %s is %q, want %q", what, condition, got, want)
	}
}

// settled fails if the controllers write or call anything while nothing changes.
func (w *world) settled(what string) {
	w.t.Helper()
	w.calls()
	w.writes.Take()
	<-time.After(10 * time.Minute)
	synctest.Wait()
	if calls, writes := w.calls(), w.writes.Take(); calls != "" || len(writes) > 0 {
		w.t.Errorf("%s: nothing changes, and there are the calls %q and the writes %q", what, calls, writes)
	}
}

// resourceOf names a resource of the Gateway API for the stand-in of the API server.
func resourceOf(name string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: gatewayv1.GroupName, Version: gatewayv1.GroupVersion.Version, Resource: name}
}
