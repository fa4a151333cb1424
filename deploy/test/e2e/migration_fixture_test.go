package e2e

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/deploy/tools/local/world"
)

// era is a version of the existing controller manager: what it is run with, and what it leaves.
type era struct {
	name    string
	version ccmVersion
	// global is its cloud-config file, words its command line.
	global map[string]any
	words  []string
	// inCommand has the words in the command of the container, where old manifests have them, not in its arguments.
	inCommand bool
	// routes says that it makes routes.
	routes bool
	// masters is the label of the node on which it runs, and that serves no Service.
	masters []string
	// labels are those that it puts on a node.
	labels func(*state.Instance) map[string]string
	// services makes what it leaves of Services.
	services func(migration) []legacyService
}

const (
	oldMaster    = "node-role.kubernetes.io/master"
	controlPlane = "node-role.kubernetes.io/control-plane"
	excluded     = "node.kubernetes.io/exclude-from-external-load-balancers"
)

// paidBySpec is how CLBs were created before v2.12, without the way of payment, which was by specification then.
func paidBySpec() map[string]string {
	return map[string]string{"InstanceChargeType": "", "LoadBalancerSpec": "slb.s1.small"}
}

// Labels by the version that began with them.
func labelsOfV1(i *state.Instance) map[string]string {
	return map[string]string{
		corev1.LabelInstanceType: i.InstanceType, corev1.LabelFailureDomainBetaZone: i.ZoneID, corev1.LabelFailureDomainBetaRegion: world.Region,
	}
}

func labelsOfV2(i *state.Instance) map[string]string {
	labels := labelsOfV1(i)
	labels[corev1.LabelInstanceTypeStable], labels[corev1.LabelTopologyZone],
		labels[corev1.LabelTopologyRegion] = i.InstanceType, i.ZoneID, world.Region
	return labels
}

func labelsOfV210(i *state.Instance) map[string]string {
	labels := labelsOfV2(i)
	labels["node.alibabacloud.com/instance-charge-type"] = i.ChargeType
	return labels
}

func labelsOfV211(i *state.Instance) map[string]string {
	labels := labelsOfV210(i)
	labels["node.alibabacloud.com/spot-strategy"] = i.SpotStrategy
	return labels
}

// eras are the versions that are moved from. Their settings are those of the published manifests, and each of the keys of the file once.
func eras() []era {
	key := base64.StdEncoding.EncodeToString([]byte("not-the-key-of-this-world"))
	vSwitches := ":" + strings.Join(world.VSwitchIDs(), ",:")
	return []era{
		{
			// Of its last public build, .376: before finalizers and the tag of reused CLBs. Without an id the cluster is called clusterid.
			name:    "v1.9.3",
			version: ccmVersion{clusterID: "clusterid", noFinalizer: true, noID: true, noReuseTag: true, create: paidBySpec()},
			global: map[string]any{
				"uid": "1000000000000001", "accessKeyID": key, "accessKeySecret": key, "kubernetesClusterTag": "ack.aliyun.com",
				"zoneid": world.Region + "-h",
				"vpcid":  world.VpcID, "vswitchid": vSwitches, "nodeMonitorPeriod": 120, "nodeAddrSyncPeriod": 240, "routeTableIDs": world.RouteTableID,
			},
			words: []string{
				"/cloud-controller-manager", "--kubeconfig=/etc/kubernetes/cloud-controller-manager.conf", "--address=127.0.0.1",
				"--allow-untagged-cloud=true", "--leader-elect=true", "--cloud-provider=alicloud", "--use-service-account-credentials=true",
				"--cloud-config=/etc/kubernetes/config/cloud-config.conf", "--configure-cloud-routes=true", "--allocate-node-cidrs=true",
				"--route-reconciliation-period=3m", "--v=5", "--cluster-cidr=10.0.0.0/10",
			},
			inCommand: true, routes: true, masters: []string{oldMaster}, labels: labelsOfV1, services: servicesOfV1,
		},
		{
			name:    "v2.0.1",
			version: ccmVersion{noID: true, create: paidBySpec()},
			global: map[string]any{
				"clusterID": world.ClusterID, "region": world.Region, "vpcid": world.VpcID, "vswitchid": vSwitches, "serviceMaxConcurrentReconciles": 5,
				"nodeMaxConcurrentReconciles": 2, "routeMaxConcurrentReconciles": 1, "disablePublicSLB": false,
			},
			words: []string{
				"--cloud-config=/etc/kubernetes/config/cloud-config.conf", "--metrics-bind-addr=0", "--configure-cloud-routes=true",
				"--cluster-cidr=10.0.0.0/10",
				"--feature-gates=EndpointSlice=false", "--concurrent-service-syncs=4",
			},
			routes: true, masters: []string{oldMaster}, labels: labelsOfV2, services: servicesOfV2,
		},
		{
			name:    "v2.10 with Terway",
			version: ccmVersion{pods: true, create: paidBySpec()},
			global: map[string]any{
				"clusterID": world.ClusterID, "vpcid": world.VpcID, "vswitchid": vSwitches, "serviceBackendType": "eni",
				"featureGates": "EndpointSlice=true,FilterServiceOnNodeChange=true",
			},
			words: []string{
				"--cloud-config=/etc/kubernetes/config/cloud-config.conf", "--configure-cloud-routes=false", "--controllers=node,route,service,nlb",
				"--network=vpc", "--sg-batch-size=20", "--kube-api-qps=50", "--kube-api-burst=60",
			},
			masters: []string{oldMaster}, labels: labelsOfV210, services: servicesOfTerway,
		},
		{
			name:    "v2.14",
			version: ccmVersion{},
			global: map[string]any{
				"clusterID": world.ClusterID, "region": world.Region, "vpcid": world.VpcID, "vswitchid": vSwitches, "resourceGroupID": "",
				"routeTableIDs": world.RouteTableID, "featureGates": "IPv6DualStack=false,LoadBalancerTypeAnnotation=false",
			},
			words: []string{
				"--kubeconfig=/etc/kubernetes/cloud-controller-manager.conf", "--cloud-config=/etc/kubernetes/config/cloud-config.conf",
				"--metrics-bind-addr=0", "--configure-cloud-routes=true", "--cluster-cidr=10.0.0.0/10", "--max-concurrent-actions=5",
				"--node-reconcile-batch-size=50", "--route-reconcile-batch-size=25", "--node-event-aggregation-wait-seconds=1", "--enable-imdsv2=true",
				"--max-throttling-retry-times=10", "--skip-disable-source-dest-check=false", "--leader-elect-resource-name=ccm",
			},
			routes: true, masters: []string{controlPlane, excluded}, labels: labelsOfV211, services: servicesOfV214,
		},
	}
}

// withSettings gives a Service annotations of the present prefix, and further parameters to the listener of its port 80.
func tcpService(name string, annotations map[string]string, params map[string]string) legacyService {
	return legacyService{service: newService(name, annotations, 80),
		listeners: map[int32]legacyListener{80: {protocol: "TCP", params: params}}}
}

func servicesOfV1(m migration) []legacyService {
	// From before the label of the hash, the tag of the cluster, protections and descriptions of servers.
	ancient := tcpService("ancient", nil, nil)
	ancient.unmarked = true
	ancient.lb = map[string]string{
		"Tag.2.Key": "", "Tag.2.Value": "", "DeleteProtection": "", "ModificationProtectionStatus": "", "ModificationProtectionReason": "",
	}
	ancient.servers = func(port corev1.ServicePort) []map[string]any {
		servers := m.nodePorts(port)
		for _, server := range servers {
			server["description"] = ""
		}
		return servers
	}
	var shapes []legacyService
	for _, l := range legacyServices() {
		if l.service.Name != "old" { // It is unmarked, as ancient is.
			shapes = append(shapes, l)
		}
	}
	return append(shapes, ancient, m.onUsers("taken", true), m.onUsers("hands-off", false))
}

func servicesOfV2(m migration) []legacyService {
	drained := tcpService("drained", map[string]string{"connection-drain": "on", "connection-drain-timeout": "30", "scheduler": "wrr"},
		map[string]string{"ConnectionDrain": "on", "ConnectionDrainTimeout": "30", "Scheduler": "wrr"})
	local := tcpService("local", nil, nil)
	local.service.Spec.ExternalTrafficPolicy, local.service.Spec.Selector = corev1.ServiceExternalTrafficPolicyLocal, nil
	local.servers = func(port corev1.ServicePort) []map[string]any {
		m.endpoints("local", 3, false)
		servers := m.nodePorts(port)
		for i, server := range servers { // Pods are on nodes in turn: one node has two, the other one.
			server["weight"] = 2 - i
		}
		return servers
	}
	shared := m.onUsers("shared", false)
	shared.group = m.groupOfUser(shared.on)
	maps.Copy(shared.service.Annotations, map[string]string{annotationPrefix + "vgroup-port": shared.group +
		":80", annotationPrefix + "weight": "60"})
	shared.servers = func(port corev1.ServicePort) []map[string]any {
		servers := m.nodePorts(port)
		for _, server := range servers {
			server["weight"] = 60 / len(servers)
		}
		return servers
	}
	return append(legacyServices()[:1], drained, local, shared, m.onUsers("taken", true), m.onUsers("hands-off", false))
}

func servicesOfTerway(m migration) []legacyService {
	pods := func(l legacyService, gated bool) legacyService {
		l.service.Spec.Selector = nil
		l.servers = func(port corev1.ServicePort) []map[string]any { return m.podPorts(l.service.Name, port, gated) }
		return l
	}
	nodes := tcpService("nodes", nil, nil)
	nodes.service.Annotations[backendType] = "ecs"
	kept := tcpService("kept", map[string]string{"preserve-lb-on-delete": "true", "spec": "slb.s1.small"}, nil)
	kept.lb = map[string]string{"LoadBalancerSpec": "slb.s1.small"}
	return []legacyService{pods(tcpService("plain", nil, nil), false), pods(tcpService("gated", nil, nil), true), nodes, pods(kept, false)}
}

func servicesOfV214(m migration) []legacyService {
	weighted := tcpService("weighted", map[string]string{"default-weight": "30"}, nil)
	weighted.servers = func(port corev1.ServicePort) []map[string]any {
		servers := m.nodePorts(port)
		for _, server := range servers {
			server["weight"] = 30
		}
		return servers
	}
	named := tcpService("named", map[string]string{"hostname": "svc.example.com"}, nil)
	named.address = &corev1.LoadBalancerIngress{Hostname: "svc.example.com"}
	listed := tcpService("listed", map[string]string{"acl-status": "on", "acl-id": world.AclID, "acl-type": "white"},
		map[string]string{"AclStatus": "on", "AclId": world.AclID, "AclType": "white"})
	tagged := tcpService("tagged", map[string]string{"additional-resource-tags": "team=blue,cost=1", "name": "tagged"}, nil)
	tagged.lb = map[string]string{
		"LoadBalancerName": "tagged", "Tag.3.Key": "team", "Tag.3.Value": "blue", "Tag.4.Key": "cost", "Tag.4.Value": "1",
	}
	shapes := legacyServices()
	return append([]legacyService{shapes[0], shapes[2], shapes[3]}, weighted, named, listed, tagged,
		m.onUsers("taken", true), m.onUsers("hands-off", false))
}

// migration is a cluster that a version of the existing controller manager has run.
type migration struct {
	oldCCM
	era era
}

// workers are the instances of the nodes that serve Services, in order.
func (m migration) workers() []string {
	list, err := m.Client().CoreV1().Nodes().List(m.t.Context(), metav1.ListOptions{})
	if err != nil {
		m.t.Fatal(err)
	}
	var ids []string
	for _, node := range list.Items {
		if _, ok := node.Labels[m.era.masters[0]]; !ok {
			ids = append(ids, instanceOf(&node))
		}
	}
	slices.Sort(ids)
	return ids
}

func instanceOf(node *corev1.Node) string {
	return strings.TrimPrefix(node.Spec.ProviderID, world.Region+".")
}

// nodePorts are the servers of a Service in front of nodes.
func (m migration) nodePorts(port corev1.ServicePort) []map[string]any {
	var servers []map[string]any
	for _, id := range m.workers() {
		servers = append(servers, map[string]any{"serverId": id, "port": port.NodePort, "weight": 100, "type": "ecs", "serverIp": ""})
	}
	return servers
}

// podPorts are the servers of a Service in front of two pods.
func (m migration) podPorts(service string, port corev1.ServicePort, gated bool) []map[string]any {
	var servers []map[string]any
	for i, address := range m.endpoints(service, 2, gated) {
		servers = append(servers, map[string]any{
			"serverId": fmt.Sprintf("eni-%s-%d", service, i), "port": port.TargetPort.IntVal, "weight": 100, "type": "eni", "serverIp": address,
		})
	}
	return servers
}

// gate is the readiness gate of pods of a Service.
func gate(service string) corev1.PodConditionType {
	return corev1.PodConditionType("service.readiness.alibabacloud.com/" + service)
}

// endpoints makes n pods of a Service on the workers in turn, each with a network interface, and returns their addresses. Those with a gate
// have it open, as it is once they are registered.
func (m migration) endpoints(service string, n int, gated bool) []string {
	m.t.Helper()
	workers, existing := m.workers(), len(m.state(m.t).Interfaces)
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Name: service + "-1", Labels: map[string]string{discoveryv1.LabelServiceName: service,
			discoveryv1.LabelManagedBy: "test"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: new("p80"), Port: new(int32(8080)), Protocol: new(corev1.ProtocolTCP)}},
	}
	interfaces := map[string]*state.NetworkInterface{}
	var addresses []string
	for i := range n {
		address, worker := fmt.Sprintf("192.168.1.%d", existing+i), workers[i%len(workers)]
		addresses = append(addresses, address)
		id := fmt.Sprintf("eni-%s-%d", service, i)
		interfaces[id] = &state.NetworkInterface{
			ID: id, Type: "Secondary", Status: "InUse", InstanceID: worker, VpcID: world.VpcID, VSwitchID: world.VSwitchIDs()[0],
			PrimaryIP: address, PrivateIPs: []string{address},
		}
		pod := m.pod(fmt.Sprintf("%s-%d", service, i), m.nodeOf(worker), service, gated)
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{address}, NodeName: &pod.Spec.NodeName,
			Conditions: discoveryv1.EndpointConditions{Ready: new(true), Serving: new(true), Terminating: new(false)},
			TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		})
	}
	if err := m.Cloud().Seed(m.t.Context(), &state.Cloud{Interfaces: interfaces}); err != nil {
		m.t.Fatal(err)
	}
	if _, err := m.Client().DiscoveryV1().EndpointSlices(metav1.NamespaceDefault).Create(m.t.Context(), slice,
		metav1.CreateOptions{}); err != nil {
		m.t.Fatal(err)
	}
	return addresses
}

func (m migration) nodeOf(instance string) string {
	m.t.Helper()
	list, err := m.Client().CoreV1().Nodes().List(m.t.Context(), metav1.ListOptions{})
	if err != nil {
		m.t.Fatal(err)
	}
	for _, node := range list.Items {
		if instanceOf(&node) == instance {
			return node.Name
		}
	}
	m.t.Fatalf("%s is no node", instance)
	return ""
}

// pod makes a pod that runs, and is ready.
func (m migration) pod(name, node, service string, gated bool) *corev1.Pod {
	m.t.Helper()
	pods := m.Client().CoreV1().Pods(metav1.NamespaceDefault)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "web", Image: "web"}},
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}},
	}
	if gated {
		pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: gate(service)}}
	}
	if _, err := pods.Create(m.t.Context(), pod, metav1.CreateOptions{}); err != nil {
		m.t.Fatal(err)
	}
	eventually(m.t, "pod "+name+" runs", func(ctx context.Context) error {
		var err error
		if pod, err = pods.Get(ctx, name, metav1.GetOptions{}); err != nil || pod.Status.PodIP == "" {
			return fmt.Errorf("it has no address: %w", err)
		}
		if !gated {
			return nil
		}
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: gate(service), Status: corev1.ConditionTrue, Reason: "ServerRegistered", LastTransitionTime: metav1.Now().Rfc3339Copy(),
		})
		_, err = pods.UpdateStatus(ctx, pod, metav1.UpdateOptions{})
		return err
	})
	return pod
}

// onUsers is a Service on a CLB that a user has made, with the user's own listener besides. With override it has the listener of its port.
func (m migration) onUsers(name string, override bool) legacyService {
	m.t.Helper()
	lb := "users-" + name
	m.call("CreateLoadBalancer", map[string]string{"AddressType": "internet", "LoadBalancerName": lb, "InstanceChargeType": "PayByCLCU"})
	id := m.lbOf(lb).ID
	l := tcpService(name, map[string]string{"id": id, "force-override-listeners": fmt.Sprint(override)}, nil)
	l.on, l.servers = lb, m.nodePorts
	m.call("CreateVServerGroup", map[string]string{"LoadBalancerId": id, "VServerGroupName": "users"})
	m.call("CreateLoadBalancerTCPListener", map[string]string{
		"LoadBalancerId": id, "ListenerPort": "9000", "Bandwidth": "-1", "Description": "by hand", "VServerGroupId": m.groupOf(id, "users"),
	})
	return l
}

// groupOfUser is the user's vServer group on a CLB of onUsers, with a server of the user's in it.
func (m migration) groupOfUser(lb string) string {
	m.t.Helper()
	group := m.groupOf(m.lbOf(lb).ID, "users")
	m.addServers(group, map[string]any{"ServerId": outsider, "Port": 8080, "Weight": 40, "Type": "ecs", "Description": "by hand"})
	return group
}

// prepare brings nodes, routes and Services into the state in which the version leaves them, and runs it.
func (m migration) prepare() {
	m.t.Helper()
	m.nodes()
	m.seedOutsider()
	if m.era.routes {
		m.makeRoutes()
	}
	for _, l := range m.era.services(m) {
		if l.servers == nil {
			l.servers = m.nodePorts
		}
		m.serve(l)
		if l.on != "" && l.group == "" && annotation(l.service, "force-override-listeners") != "true" {
			m.bindByHand(l)
		}
	}
	m.deploy()
}

// bindByHand gives a Service without listeners of its own the one that users make, on its vServer group.
func (m migration) bindByHand(l legacyService) {
	m.t.Helper()
	lb := m.lbOf(l.on)
	for id, g := range m.state(m.t).ServerGroups {
		if g.LoadBalancerID == lb.ID && strings.HasPrefix(g.Name, "k8s/") {
			m.call("CreateLoadBalancerTCPListener", map[string]string{
				"LoadBalancerId": lb.ID, "ListenerPort": "80", "Bandwidth": "-1", "Description": "by hand", "VServerGroupId": id,
			})
			m.call("StartLoadBalancerListener", map[string]string{"LoadBalancerId": lb.ID, "ListenerPort": "80", "ListenerProtocol": "tcp"})
		}
	}
}

// nodes initialises the nodes as the version does. The first one is a master.
func (m migration) nodes() {
	m.t.Helper()
	nodes := m.Client().CoreV1().Nodes()
	list, err := nodes.List(m.t.Context(), metav1.ListOptions{})
	if err != nil {
		m.t.Fatal(err)
	}
	instances := m.state(m.t).Instances
	master := slices.MinFunc(list.Items, func(a, b corev1.Node) int { return strings.Compare(instanceOf(&a), instanceOf(&b)) }).Name
	ecs := m.product(m.t, "ECS", "2014-05-26")
	for _, listed := range list.Items {
		eventually(m.t, "node "+listed.Name+" has its range", func(ctx context.Context) error {
			node, err := nodes.Get(ctx, listed.Name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if node.Spec.PodCIDR == "" || condition(node, corev1.NodeReady) != corev1.ConditionTrue {
				return fmt.Errorf("it has the range %q, conditions %v", node.Spec.PodCIDR, node.Status.Conditions)
			}
			if slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key != uninitialized }) {
				return fmt.Errorf("it has the taints %v", node.Spec.Taints) // The API server adds one, which kube-controller-manager removes.
			}
			i := instances[instanceOf(node)]
			maps.Copy(node.Labels, m.era.labels(i))
			if node.Name == master {
				for _, label := range m.era.masters {
					node.Labels[label] = ""
				}
			}
			node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == uninitialized })
			if node, err = nodes.Update(ctx, node, metav1.UpdateOptions{}); err != nil {
				return err
			}
			node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: i.PrivateIPs[0]},
				{Type: corev1.NodeHostName, Address: node.Name}}
			if m.era.routes {
				node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
					Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionFalse, Reason: "RouteCreated", Message: "RouteController created a route",
				})
			}
			_, err = nodes.UpdateStatus(ctx, node, metav1.UpdateOptions{})
			return err
		})
		// Pods are reached by routes only where the check of sources and destinations is off. Early versions left that to others.
		if m.era.routes {
			eni := "eni-" + strings.TrimPrefix(instanceOf(&listed), "i-")
			if err := ecs.Call(m.t.Context(), "ModifyNetworkInterfaceAttribute", map[string]string{
				"RegionId": world.Region, "NetworkInterfaceId": eni, "SourceDestCheck": "false",
			}); err != nil {
				m.t.Fatal(err)
			}
		}
	}
}

// makeRoutes makes the routes of the nodes, without name and description, that of a node that has gone, and one of a user's.
func (m migration) makeRoutes() {
	m.t.Helper()
	vpc := m.product(m.t, "VPC", "2016-04-28")
	route := func(cidr, instance string) {
		m.t.Helper()
		if err := vpc.Call(m.t.Context(), "CreateRouteEntry", map[string]string{
			"RegionId": world.Region, "RouteTableId": world.RouteTableID, "DestinationCidrBlock": cidr, "NextHopId": instance,
			"NextHopType": "Instance",
		}); err != nil {
			m.t.Fatal(err)
		}
	}
	list, err := m.Client().CoreV1().Nodes().List(m.t.Context(), metav1.ListOptions{})
	if err != nil {
		m.t.Fatal(err)
	}
	for _, node := range list.Items {
		route(node.Spec.PodCIDR, instanceOf(&node))
	}
	route("10.63.1.0/24", outsider)
	gone := *m.state(m.t).Instances[outsider]
	gone.ID, gone.PrivateIPs = "i-gone", []string{"192.168.2.1"}
	if err := m.Cloud().Seed(m.t.Context(), &state.Cloud{Instances: map[string]*state.Instance{gone.ID: &gone}}); err != nil {
		m.t.Fatal(err)
	}
	route("10.63.2.0/24", gone.ID)
	if err := m.DeleteInstance(m.t.Context(), gone.ID); err != nil {
		m.t.Fatal(err)
	}
}

// deploy runs the old process on the masters, with its settings, as its manifest does. Its program is not what it says.
func (m migration) deploy() {
	m.t.Helper()
	global, err := json.Marshal(map[string]any{"Global": m.era.global})
	if err != nil {
		m.t.Fatal(err)
	}
	container := map[string]any{"name": "cloud-controller-manager", "image": "acs/cloud-controller-manager-amd64:" +
		strings.Fields(m.era.name)[0], "args": m.era.words}
	if m.era.inCommand {
		container["command"] = m.era.words
		delete(container, "args")
	}
	labels := map[string]string{"app": "cloud-controller-manager", "tier": "control-plane"}
	meta := map[string]any{"name": "cloud-controller-manager", "namespace": "kube-system"}
	list, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": []any{
		map[string]any{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta},
		map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "cloud-config", "namespace": "kube-system"},
			"data": map[string]any{"cloud-config.conf": string(global)},
		},
		map[string]any{"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": meta, "spec": map[string]any{
			"selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{"metadata": map[string]any{"labels": labels}, "spec": map[string]any{
				"serviceAccountName": "cloud-controller-manager", "hostNetwork": true, "nodeSelector": map[string]string{m.era.masters[0]: ""},
				"tolerations": []any{map[string]any{"operator": "Exists"}}, "containers": []any{container},
			}},
		}},
		map[string]any{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": map[string]any{"name": "ccm",
			"namespace": "kube-system"}, "spec": map[string]any{
			"holderIdentity": "master_1", "leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.000000Z",
		}},
	}})
	if err != nil {
		m.t.Fatal(err)
	}
	// kubectl would read the API server's schema, which takes a busy machine longer than kubectl waits.
	cmd := m.shell("kubectl apply --validate=false -f -")
	cmd.Stdin = strings.NewReader(string(list))
	if out, err := cmd.CombinedOutput(); err != nil {
		m.t.Fatalf("run the old one: %v\n%s", err, out)
	}
	m.awaitOld(1)
}

// awaitOld waits until so many pods of the old one run.
func (m migration) awaitOld(n int) {
	m.t.Helper()
	eventually(m.t, "the pods of the old one", func(ctx context.Context) error {
		list, err := m.Client().CoreV1().Pods("kube-system").List(ctx, metav1.ListOptions{LabelSelector: "app=cloud-controller-manager"})
		if err == nil && len(list.Items) != n {
			err = fmt.Errorf("there are %d, want %d", len(list.Items), n)
		}
		return err
	})
}
