package e2e

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/deploy/tools/local/cloud"
	"alicloud-controllers.dev/deploy/tools/local/world"
)

const legacyPrefix = "service.beta.kubernetes.io/alicloud-loadbalancer-"

// slb calls the cloud behind the back of the gateway.
func (w testWorld) slb(t *testing.T) cloud.API {
	t.Helper()
	return w.product(t, "SLB", "2014-05-15")
}

// product calls a product of the cloud behind the back of the gateway.
func (w testWorld) product(t *testing.T, name, version string) cloud.API {
	t.Helper()
	text, err := os.ReadFile(w.EnvFile())
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		if name, value, ok := strings.Cut(strings.TrimPrefix(lines.Text(), "export "), "="); ok {
			env[name] = strings.Trim(value, "'")
		}
	}
	return cloud.API{
		URL: "http://" + env[name+"_ENDPOINT"], Version: version, AccessKeyID: env["ACCESS_KEY_ID"], AccessKeySecret: env["ACCESS_KEY_SECRET"],
	}
}

// oldCCM does for Services what the existing cloud controller manager does, in its calls and with its parameters.
type oldCCM struct {
	testWorld
	t   *testing.T
	api cloud.API
	// version is how it does that; the zero value is the last one.
	version ccmVersion
}

// ccmVersion is in what a version differs from the last one.
type ccmVersion struct {
	clusterID string // "" for the world's
	// noFinalizer is for versions before v2.0.1, noID for those before v2.4, noReuseTag for those before v1.9.3.378.
	noFinalizer, noID, noReuseTag bool
	// pods is on where serviceBackendType is eni.
	pods bool
	// create replaces parameters of CreateLoadBalancer; an empty one is not sent.
	create map[string]string
}

func (o oldCCM) clusterID() string {
	if o.version.clusterID != "" {
		return o.version.clusterID
	}
	return world.ClusterID
}

// legacyListener is a listener with parameters beyond those that every one has.
type legacyListener struct {
	protocol string
	params   map[string]string
}

// legacyService is a Service and what the existing one makes of it.
type legacyService struct {
	service   *corev1.Service
	lb        map[string]string // further parameters of the CLB
	listeners map[int32]legacyListener
	// unmarked has neither finalizer nor labels, as Services of old versions.
	unmarked bool
	// servers are those of the vServer groups if not all nodes are, with weight 100.
	servers func(port corev1.ServicePort) []map[string]any
	// on is the CLB of a user that the Service names. Its listeners are the Service's only with force-override-listeners.
	on string
	// group is the user's vServer group for all ports, by vgroup-port.
	group string
	// address is published instead of the CLB's.
	address *corev1.LoadBalancerIngress
}

func (o oldCCM) call(action string, params map[string]string) {
	o.t.Helper()
	params["RegionId"] = world.Region
	if err := o.api.Call(o.t.Context(), action, params); err != nil {
		o.t.Fatal(err)
	}
}

// serve makes the CLB of a Service, from its creation to the marks on the Service.
func (o oldCCM) serve(l legacyService) {
	o.t.Helper()
	o.create(o.t, l.service)
	services := o.Client().CoreV1().Services(l.service.Namespace)
	svc, err := services.Get(o.t.Context(), l.service.Name, metav1.GetOptions{})
	if err != nil {
		o.t.Fatal(err)
	}
	name := ("a" + strings.ReplaceAll(string(svc.UID), "-", ""))[:32]
	if l.on != "" {
		o.reuse(svc, l)
		return
	}
	params := map[string]string{
		"AddressType": "internet", "LoadBalancerName": name, "InstanceChargeType": "PayByCLCU", "DeleteProtection": "on",
		"ModificationProtectionStatus": "ConsoleProtection", "ModificationProtectionReason": "managed.by.ack", "ClientToken": name,
		"Tag.1.Key": serviceTag, "Tag.1.Value": name, "Tag.2.Key": "ack.aliyun.com", "Tag.2.Value": o.clusterID(),
	}
	maps.Copy(params, o.version.create)
	maps.Copy(params, l.lb)
	maps.DeleteFunc(params, func(_, value string) bool { return value == "" })
	if params["LoadBalancerSpec"] != "" { // as it was until 2025-06
		err := o.Cloud().Limits(o.t.Context(), func(doc *openapisim.LimitsDocument) { doc.Settings.SpecificationsNotSold = false })
		if err != nil {
			o.t.Fatal(err)
		}
	}
	o.call("CreateLoadBalancer", params)
	lb := o.lbOf(name)
	for _, port := range slices.Backward(svc.Spec.Ports) { // The target of a redirect comes first.
		o.listen(svc, lb.ID, port, l.listeners[port.Port], o.fill(svc, lb.ID, port, l))
	}
	o.mark(svc, lb, l)
}

// reuse takes the CLB of a user for a Service.
func (o oldCCM) reuse(svc *corev1.Service, l legacyService) {
	o.t.Helper()
	lb := o.lbOf(l.on)
	if !o.version.noReuseTag {
		o.call("TagResources", map[string]string{
			"ResourceType": "instance", "ResourceId.1": lb.ID, "Tag.1.Key": "kubernetes.reused.by.user", "Tag.1.Value": "true",
		})
	}
	for _, port := range svc.Spec.Ports {
		group := l.group
		if group == "" {
			group = o.fill(svc, lb.ID, port, l)
		} else {
			o.addServers(group, o.described(svc, port, l.servers(port))...)
		}
		if annotation(svc, "force-override-listeners") == "true" {
			o.listen(svc, lb.ID, port, l.listeners[port.Port], group)
		}
	}
	o.mark(svc, lb, l)
}

// described gives servers the description of a Service's, if they have none.
func (o oldCCM) described(svc *corev1.Service, port corev1.ServicePort, servers []map[string]any) []map[string]any {
	for _, server := range servers {
		if server["description"] == nil {
			server["description"] = o.groupName(svc, port)
		}
	}
	return servers
}

// mark publishes the address and puts the labels and the finalizer on a Service.
func (o oldCCM) mark(svc *corev1.Service, lb *state.LoadBalancer, l legacyService) {
	o.t.Helper()
	services := o.Client().CoreV1().Services(svc.Namespace)
	svc.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: lb.Address}}
	if l.address != nil {
		svc.Status.LoadBalancer.Ingress[0] = *l.address
	}
	svc, err := services.UpdateStatus(o.t.Context(), svc, metav1.UpdateOptions{})
	if err != nil {
		o.t.Fatal(err)
	}
	if l.unmarked {
		return
	}
	svc.Labels = map[string]string{hashLabel: strings.Repeat("a", 56), idLabel: lb.ID}
	if o.version.noID {
		delete(svc.Labels, idLabel)
	}
	if !o.version.noFinalizer {
		svc.Finalizers = append(svc.Finalizers, clbFinalizer)
	}
	if _, err := services.Update(o.t.Context(), svc, metav1.UpdateOptions{}); err != nil {
		o.t.Fatal(err)
	}
}

// groupName is the name of a port's vServer group, and the description of its servers.
func (o oldCCM) groupName(svc *corev1.Service, port corev1.ServicePort) string {
	number := fmt.Sprint(port.NodePort)
	if backend := svc.Annotations[backendType]; backend == "eni" || backend == "" && o.version.pods {
		number = port.TargetPort.String()
	}
	return fmt.Sprintf("k8s/%s/%s/%s/%s", number, svc.Name, svc.Namespace, o.clusterID())
}

// fill makes the vServer group of a port.
func (o oldCCM) fill(svc *corev1.Service, lb string, port corev1.ServicePort, l legacyService) (id string) {
	o.t.Helper()
	group := o.groupName(svc, port)
	o.call("CreateVServerGroup", map[string]string{"LoadBalancerId": lb, "VServerGroupName": group})
	id = o.groupOf(lb, group)
	var servers []map[string]any
	if l.servers != nil {
		servers = l.servers(port)
	} else {
		for _, instance := range slices.Sorted(maps.Keys(o.state(o.t).Instances)) {
			servers = append(servers, map[string]any{"serverId": instance, "port": port.NodePort, "weight": 100, "type": "ecs", "serverIp": ""})
		}
	}
	o.addServers(id, o.described(svc, port, servers)...)
	return id
}

// listen makes the listener of a port; a redirect has no use for the group.
func (o oldCCM) listen(svc *corev1.Service, lb string, port corev1.ServicePort, l legacyListener, id string) {
	o.t.Helper()
	params := map[string]string{
		"LoadBalancerId": lb, "ListenerPort": strconv.Itoa(int(port.Port)), "Scheduler": "rr",
		"Description": fmt.Sprintf("k8s/%d/%s/%s/%s", port.Port, svc.Name, svc.Namespace, o.clusterID()),
	}
	if l.protocol == "HTTP" || l.protocol == "HTTPS" {
		params["HealthCheck"], params["StickySession"] = "off", "off"
	}
	if l.protocol != "HTTP" {
		params["Bandwidth"] = "-1"
	}
	if l.params["ListenerForward"] != "on" {
		params["VServerGroupId"] = id
	}
	maps.Copy(params, l.params)
	o.call("CreateLoadBalancer"+l.protocol+"Listener", params)
	o.call("StartLoadBalancerListener", map[string]string{
		"LoadBalancerId": lb, "ListenerPort": params["ListenerPort"], "ListenerProtocol": strings.ToLower(l.protocol),
	})
}

func (o oldCCM) lbOf(name string) *state.LoadBalancer {
	o.t.Helper()
	for _, lb := range o.state(o.t).LoadBalancers {
		if lb.Name == name || tag(lb, serviceTag) == name {
			return lb
		}
	}
	o.t.Fatalf("no CLB %s", name)
	return nil
}

func (o oldCCM) groupOf(lb, name string) string {
	o.t.Helper()
	for id, g := range o.state(o.t).ServerGroups {
		if g.LoadBalancerID == lb && g.Name == name {
			return id
		}
	}
	o.t.Fatalf("no vServer group %s", name)
	return ""
}

// legacyServices are Services in the shapes in which the existing one leaves them.
func legacyServices() []legacyService {
	plain := legacyService{service: newService("plain", nil, 80), listeners: map[int32]legacyListener{80: {protocol: "TCP"}}}

	old := legacyService{service: newService("old", nil, 80, 8080), unmarked: true, listeners: map[int32]legacyListener{
		// What somebody set by hand, or an annotation that went.
		80:   {protocol: "TCP", params: map[string]string{"Scheduler": "wlc", "Bandwidth": "20", "PersistenceTimeout": "300"}},
		8080: {protocol: "UDP"},
	}}
	old.service.Spec.Ports[0].Protocol, old.service.Spec.Ports[1].Protocol = corev1.ProtocolTCP, corev1.ProtocolUDP

	web := legacyService{service: newService("web", map[string]string{"idle-timeout": "30"}, 80, 443), listeners: map[int32]legacyListener{
		80: {protocol: "HTTP", params: map[string]string{"ListenerForward": "on", "ForwardPort": "443", "IdleTimeout": "30"}},
		443: {protocol: "HTTPS", params: map[string]string{
			"ServerCertificateId": world.CertificateID, "IdleTimeout": "30", "HealthCheck": "on", "HealthCheckURI": "/healthz",
			"HealthCheckHttpCode": "http_2xx",
			"HealthCheckInterval": "2", "HealthCheckTimeout": "5", "HealthyThreshold": "3", "UnhealthyThreshold": "3",
			"HealthCheckConnectPort": "-520",
			"StickySession":          "on", "StickySessionType": "insert", "CookieTimeout": "100",
		}},
	}}
	for key, value := range map[string]string{"protocol-port": "http:80,https:443", "forward-port": "80:443", "cert-id": world.CertificateID} {
		web.service.Annotations[legacyPrefix+key] = value
	}

	inside := legacyService{
		service: newService("inside", map[string]string{
			"address-type": "intranet", "name": "renamed", "health-check-type": "http", "health-check-uri": "/ok",
			"additional-resource-tags": "team=blue",
		}, 80),
		lb: map[string]string{
			"AddressType": "intranet", "VSwitchId": world.VSwitchIDs()[0], "LoadBalancerName": "renamed", "Tag.3.Key": "team", "Tag.3.Value": "blue",
		},
		listeners: map[int32]legacyListener{80: {protocol: "TCP", params: map[string]string{"HealthCheckType": "http", "HealthCheckURI": "/ok"}}},
	}
	return []legacyService{plain, old, web, inside}
}

// TestLegacyServices takes over what the existing controller manager made, call by call, of Services in several shapes: nothing in the
// cloud is written, each CLB costs the reads of its shape, and from then on the CLBs are kept right and given up as our own.
func TestLegacyServices(t *testing.T) {
	t.Parallel()
	w := boot(t, 2, instant)
	w.initialised(t)
	if err := w.Kill(world.LB); err != nil {
		t.Fatal(err)
	}
	old := oldCCM{testWorld: w, t: t, api: w.slb(t)}
	shapes := legacyServices()
	groups := 0
	for _, l := range shapes {
		old.serve(l)
		groups += len(l.listeners)
	}
	before := w.state(t)
	since := w.position(t)
	if err := w.Restart(t.Context(), world.LB); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Services are taken over", func(ctx context.Context) error {
		for _, l := range shapes {
			svc, err := w.Client().CoreV1().Services(l.service.Namespace).Get(ctx, l.service.Name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if hash := svc.Labels[hashLabel]; hash == "" || hash == strings.Repeat("a", 56) || !slices.Contains(svc.Finalizers, clbFinalizer) {
				return fmt.Errorf("Service %s has hash %q and finalizers %v; events: %v", svc.Name, hash, svc.Finalizers, w.events(ctx, svc.Name))
			}
		}
		return nil
	})
	calls, next := w.settle(t, since)
	got := counts(calls, "slb")
	// CLBs and listeners of several Services are read together; Services that don't name their CLB look for it by tag, one by one.
	if got["DescribeLoadBalancers"] > len(shapes)+1 || got["DescribeLoadBalancerListeners"] > len(shapes) {
		t.Errorf("%d reads of CLBs and %d of listeners, for %d CLBs of which 1 isn't named",
			got["DescribeLoadBalancers"], got["DescribeLoadBalancerListeners"], len(shapes))
	}
	delete(got, "DescribeLoadBalancers")
	delete(got, "DescribeLoadBalancerListeners")
	// A Service that shows an address and notes nothing of a list has its lists looked for by their tags, all Services at once.
	if diff := cmp.Diff(map[string]int{
		"DescribeVServerGroups": len(shapes), "DescribeVServerGroupAttribute": groups, "DescribeAccessControlLists": 1,
	}, got); diff != "" {
		t.Errorf("other calls to SLB (-want +got):\n%s", diff)
	}
	after := w.state(t)
	if diff := cmp.Diff(before.LoadBalancers, after.LoadBalancers) + cmp.Diff(before.ServerGroups, after.ServerGroups); diff != "" {
		t.Errorf("the cloud changed (-before +after):\n%s", diff)
	}

	w.addNodes(t, 1)
	eventually(t, "the new node serves", func(context.Context) error {
		for _, g := range w.state(t).ServerGroups {
			if len(g.Servers) != 3 {
				return fmt.Errorf("vServer group %s has %d servers", g.Name, len(g.Servers))
			}
		}
		return nil
	})
	calls, _ = w.settle(t, next)
	if diff := cmp.Diff(map[string]int{"AddVServerGroupBackendServers": groups}, counts(calls, "slb")); diff != "" {
		t.Errorf("calls to SLB for a node (-want +got):\n%s", diff)
	}
	for _, l := range shapes {
		w.remove(t, l.service.Name)
	}
	if left := w.state(t); len(left.LoadBalancers)+len(left.ServerGroups) > 0 {
		t.Errorf("left in the cloud: %d CLBs, %d vServer groups", len(left.LoadBalancers), len(left.ServerGroups))
	}
}
