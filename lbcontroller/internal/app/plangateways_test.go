package app

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayfake "sigs.k8s.io/gateway-api/pkg/client/clientset/versioned/fake"

	"alicloud-controllers.dev/cloudgateway/inprocess"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/services/replica"

	"alicloud-controllers.dev/lbcontroller/internal/backend"
	"alicloud-controllers.dev/lbcontroller/internal/config"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/shadow"
)

// planned is a manifest with a Gateway for two teams: what the route of the second names is not there.
const planned = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: shared, namespace: infra}
spec:
  gatewayClassName: nlb
  listeners:
  - {name: web, protocol: TCP, port: 80, allowedRoutes: {namespaces: {from: All}}}
  - {name: tls, protocol: TLS, port: 443, tls: {certificateRefs: [{name: shop-tls}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: TCPRoute
metadata: {name: web, namespace: red}
spec:
  parentRefs: [{name: shared, namespace: infra, sectionName: web}]
  rules: [{backendRefs: [{name: web, port: 80}, {name: gone, port: 80, weight: 0}]}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {name: more, namespace: green}
spec:
  parentRef: {name: shared, namespace: infra}
  listeners: [{name: amqp, protocol: TCP, port: 5672}]
---
apiVersion: example.com/v1
kind: Unknown
metadata: {name: x}
`

const plannedClass = `---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: nlb}
spec: {controllerName: alibabacloud.com/nlb}
`

// network is a cloud with two vSwitches and the instance of the node.
func network() *state.Cloud {
	seed := state.New("cn-hangzhou", "")
	seed.Vpcs["vpc-test"] = &state.Vpc{CidrBlock: "10.0.0.0/8"}
	seed.VSwitches["vsw-h"] = &state.VSwitch{VpcID: "vpc-test", ZoneID: "cn-hangzhou-h", CidrBlock: "10.1.0.0/24"}
	seed.VSwitches["vsw-i"] = &state.VSwitch{VpcID: "vpc-test", ZoneID: "cn-hangzhou-i", CidrBlock: "10.2.0.0/24"}
	seed.Instances["i-1"] = &state.Instance{VpcID: "vpc-test", VSwitchID: "vsw-h", ZoneID: "cn-hangzhou-h", Status: "Running",
		PrivateIPs: []string{"10.1.0.1"}}
	return seed
}

// planWorld is a cluster with a node and a Service, and a cloud.
func planWorld(t *testing.T) (*fake.Clientset, *inprocess.Cloud, config.Config) {
	t.Helper()
	kube := fake.NewClientset(
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "red"}},
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "red", Name: "web"},
			Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}}},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: corev1.NodeSpec{ProviderID: "cn-hangzhou.i-1"},
			Status: corev1.NodeStatus{
				Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
				Addresses:  []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.1.0.1"}},
			}},
	)
	cloud := inprocess.New(t, "vpc-test", network())
	cfg := config.Default()
	cfg.ClusterID, cfg.VPCID, cfg.VSwitchIDs = "c-test", "vpc-test", []string{"vsw-h", "vsw-i"}
	return kube, cloud, cfg
}

// TestPlanOfGateways: what would be made for a Gateway is said before it is in the cluster, and what a route lacks; with it
// there, what a change of it would change. Nothing is written.
func TestPlanOfGateways(t *testing.T) {
	t.Parallel()
	kube, cloud, cfg := planWorld(t)
	deps := replica.Dependencies{Client: kube, Gateway: cloud.Client(), Logger: slog.New(slog.DiscardHandler)}
	kinds := Kinds(cfg, deps)
	plan := func(gateways *gatewayfake.Clientset, which Selection) string {
		t.Helper()
		var text bytes.Buffer
		var found Preview
		var err error
		if gateways == nil {
			found, err = PreviewAll(t.Context(), kube, nil, cfg, kinds, which)
		} else {
			found, err = PreviewAll(t.Context(), kube, gateways, cfg, kinds, which)
		}
		if err != nil {
			return err.Error()
		}
		if err := found.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		rows := strings.Split(strings.Split(text.String(), "\n\n")[0], "\n")[1:]
		for i, row := range rows {
			rows[i] = strings.Join(strings.Fields(row), " ")
			rows[i] = strings.TrimPrefix(strings.TrimPrefix(rows[i], "infra/gw-shared-5b607cfb80 - "), "infra/Gateway shared - ")
		}
		return strings.Join(rows, "\n")
	}
	check := func(what, want, got string) {
		t.Helper()
		if diff := cmp.Diff(strings.Split(strings.TrimSpace(want), "\n"), strings.Split(got, "\n")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
	check("a class that nobody knows", "REFUSED there is no GatewayClass nlb, or it is not accepted",
		plan(nil, Selection{Gateways: planned}))
	const lacks = `warning listener tls: ResolvedRefs False, InvalidCertificateRef: Secret infra/shop-tls: ` +
		`namespace infra is not among tlsSecretNamespaces
warning ListenerSet green/more: Accepted False, NotAllowed: spec.allowedListeners of the Gateway doesn't let it in
warning TCPRoute red/web: ResolvedRefs False, BackendNotFound: there is no Service red/gone`
	const all = `
change create load balancer a0000000000000000000000000000000
change create server group k8s.30000.TCP.gw-shared-5b607cfb80.infra.c-test with 1 servers
change create listener 80/tcp
` + lacks + `
warning its Service is not made yet: load balancer and server groups will have other names
`
	check("nothing of it is in the cluster", all, plan(nil, Selection{Gateways: planned + plannedClass}))
	check("another namespace", ``, plan(nil, Selection{Gateways: planned + plannedClass, Namespace: "red"}))
	check("a version that is not served", "read the manifest: there is no TCPRoute of gateway.networking.k8s.io/v1alpha2 here; use version v1",
		plan(nil, Selection{Gateways: "apiVersion: gateway.networking.k8s.io/v1alpha2\nkind: TCPRoute\nmetadata: {name: web}\n"}))
	misspelt := strings.Replace(planned, "gatewayClassName", "class", 1)
	check("a word that there isn't", `read the manifest: strict decoding error: unknown field "spec.class"`,
		plan(nil, Selection{Gateways: misspelt}))
	class := &gatewayv1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Name: "nlb"},
		Spec: gatewayv1.GatewayClassSpec{ControllerName: "alibabacloud.com/nlb"}}
	check("the class is in the cluster", all, plan(gatewayfake.NewSimpleClientset(class), Selection{Gateways: planned}))

	of := metav1.OwnerReference{APIVersion: "gateway.networking.k8s.io/v1", Kind: "Gateway", Name: "shared", UID: "uid",
		Controller: new(true)}
	bare := gatewayfake.NewSimpleClientset(class)
	bare.PrependReactor("list", "tcproutes", func(kubetesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewNotFound(schema.GroupResource{}, "")
	})
	check("a custom resource is missing", "REFUSED custom resources of the Gateway API are missing: TCPRoute",
		plan(bare, Selection{Gateways: planned}))

	live := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "gw-shared-5b607cfb80", UID: "live",
		OwnerReferences: []metav1.OwnerReference{of},
		Labels:          map[string]string{shadow.LabelManagedBy: backend.SlicesManager},
		Annotations:     map[string]string{shadow.AnnotationKeys: "team", "team": "before"}},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: new("alibabacloud.com/nlb"),
			Ports: []corev1.ServicePort{{Name: "tcp-80", Port: 80, NodePort: 31080, Protocol: corev1.ProtocolTCP}}}}
	if err := kube.Tracker().Add(live); err != nil {
		t.Fatal(err)
	}
	old := &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "shared", UID: "uid"},
		Spec: gatewayv1.GatewaySpec{GatewayClassName: "nlb", Listeners: []gatewayv1.Listener{
			{Name: "web", Protocol: gatewayv1.TCPProtocolType, Port: 80},
			{Name: "dns", Protocol: gatewayv1.UDPProtocolType, Port: 53}}}}
	served := gatewayfake.NewSimpleClientset(class) // It takes the plural for "gatewaies".
	resource := schema.GroupVersionResource{Group: gatewayv1.GroupName, Version: "v1", Resource: "gateways"}
	if err := served.Tracker().Create(resource, old, "infra"); err != nil {
		t.Fatal(err)
	}
	check("a Gateway of the cluster with a listener more", `
change create load balancer alive
change create server group k8s.30000.UDP.gw-shared-5b607cfb80.infra.c-test with 1 servers
change create server group k8s.31080.TCP.gw-shared-5b607cfb80.infra.c-test with 1 servers
change create listener 53/udp
change create listener 80/tcp
`, plan(served, Selection{Namespace: "infra"}))
	check("the file in its place", `
change create load balancer alive
change create server group k8s.31080.TCP.gw-shared-5b607cfb80.infra.c-test with 1 servers
change create listener 80/tcp
`+lacks, plan(served, Selection{Gateways: planned}))
	other := class.DeepCopy()
	other.Name, other.Spec.ControllerName = "other", "example.com/other"
	if err := served.Tracker().Add(other); err != nil {
		t.Fatal(err)
	}
	check("another controller's class", `
REFUSED Service infra/gw-shared-5b607cfb80 is deleted, and its load balancer with it: it is of another class
`, plan(served, Selection{Gateways: strings.ReplaceAll(planned, "gatewayClassName: nlb", "gatewayClassName: other")}))
	check("a Service by name", ``, plan(served, Selection{Namespace: "infra", Service: "web",
		Gateways: strings.ReplaceAll(planned, "gatewayClassName: nlb", "gatewayClassName: other")}))
	orphaned := live.DeepCopy()
	orphaned.OwnerReferences = nil
	if err := kube.Tracker().Update(corev1.SchemeGroupVersion.WithResource("services"), orphaned, "infra"); err != nil {
		t.Fatal(err)
	}
	if got := plan(served, Selection{Namespace: "infra"}); !strings.Contains(got, "REFUSED Service infra/gw-shared-5b607cfb80 is in the way") {
		t.Errorf("a Service of nobody: %s", got)
	}
	if err := kube.Tracker().Update(corev1.SchemeGroupVersion.WithResource("services"), live, "infra"); err != nil {
		t.Fatal(err)
	}
	mistaken := strings.ReplaceAll(planned, "protocol: TCP", "protocol: HTTPS")
	check("a mistake in it", `
REFUSED Gateway infra/shared: Accepted False, ListenersNotValid: no listener can be made; see their conditions
REFUSED listener web: Accepted False, UnsupportedProtocol: protocol HTTPS is not served: use TCP, UDP or TLS
REFUSED listener tls: ResolvedRefs False, InvalidCertificateRef: Secret infra/shop-tls: `+
		`namespace infra is not among tlsSecretNamespaces
REFUSED ListenerSet green/more: Accepted False, NotAllowed: spec.allowedListeners of the Gateway doesn't let it in
REFUSED TCPRoute red/web: Accepted False, NotAllowedByListeners: no listener lets routes of this kind and namespace in
REFUSED TCPRoute red/web: ResolvedRefs False, BackendNotFound: there is no Service red/gone
`, plan(served, Selection{Gateways: mistaken}))
	if writes := cloud.Writes(); len(writes) > 0 {
		t.Errorf("the cloud was written to: %v", writes)
	}
	for _, a := range kube.Actions() {
		if a.GetVerb() != "list" && a.GetVerb() != "get" {
			t.Errorf("%s of %s", a.GetVerb(), a.GetResource().Resource)
		}
	}
}

// TestPlanOfATakeover: a Gateway that names the NLB which a Service has given up is planned as it will be done, and one
// whose Service still has it is refused.
func TestPlanOfATakeover(t *testing.T) {
	t.Parallel()
	kube, cloud, cfg := planWorld(t)
	const made = "k8s.31080.TCP.web.red.c-test"
	cloud.Add(&state.Cloud{
		NLBs:            map[string]*state.NLB{"nlb-1": {VpcID: "vpc-test", DNSName: "nlb-1.example.com", AddressType: "Internet"}},
		NLBServerGroups: map[string]*state.NLBServerGroup{"sgp-1": {Name: made, VpcID: "vpc-test"}},
		NLBListeners: map[string]*state.NLBListener{"lsn-1": {NLBID: "nlb-1", Port: 80, Protocol: "TCP", Description: made,
			ServerGroupID: "sgp-1"}},
	})
	const taking = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: shared, namespace: red}
spec:
  gatewayClassName: nlb
  addresses: [{type: alibabacloud.com/load-balancer, value: nlb-1}]
  infrastructure: {annotations: {service.beta.kubernetes.io/alibaba-cloud-loadbalancer-force-override-listeners: "on"}}
  listeners: [{name: web, protocol: TCP, port: 80}]
`
	kinds := Kinds(cfg, replica.Dependencies{Client: kube, Gateway: cloud.Client(), Logger: slog.New(slog.DiscardHandler)})
	plan := func() controller.Preview {
		t.Helper()
		found, err := PreviewAll(t.Context(), kube, nil, cfg, kinds, Selection{Gateways: taking + plannedClass})
		if err != nil || len(found.Services) != 1 {
			t.Fatal(found, err)
		}
		return found.Services[0]
	}
	if got := plan(); len(got.Refused) > 0 || !slices.ContainsFunc(got.Actions, func(text string) bool {
		return strings.HasPrefix(text, "change listener 80/tcp: ")
	}) {
		t.Errorf("it is given up: %+v", got)
	}
	web, err := kube.CoreV1().Services("red").Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	web.Spec.Type = corev1.ServiceTypeLoadBalancer
	if _, err := kube.CoreV1().Services("red").Update(t.Context(), web, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := plan(); len(got.Refused) != 1 || !strings.Contains(got.Refused[0], "that of Service red/web") {
		t.Errorf("the Service has it: %+v", got)
	}
}

// TestPlanHasAnOrder: what is said of ListenerSets has the same order each time.
func TestPlanHasAnOrder(t *testing.T) {
	t.Parallel()
	kube, cloud, cfg := planWorld(t)
	manifest := strings.Builder{}
	manifest.WriteString(planned + plannedClass)
	var want []string
	for i := range 10 {
		fmt.Fprintf(&manifest, `---
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {name: set-%d, namespace: green}
spec:
  parentRef: {name: shared, namespace: infra}
  listeners: [{name: a, protocol: TCP, port: 5672}]
`, i)
		want = append(want, fmt.Sprintf("ListenerSet green/set-%d", i))
	}
	kinds := Kinds(cfg, replica.Dependencies{Client: kube, Gateway: cloud.Client(), Logger: slog.New(slog.DiscardHandler)})
	found, err := PreviewAll(t.Context(), kube, nil, cfg, kinds, Selection{Gateways: manifest.String()})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, text := range found.Services[0].Warnings {
		if of, _, ok := strings.Cut(text, ":"); ok && strings.HasPrefix(text, "ListenerSet green/set-") {
			got = append(got, of)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
