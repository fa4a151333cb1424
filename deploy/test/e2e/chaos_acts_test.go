package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/deploy/tools/local/world"
)

const (
	backendType = "service.beta.kubernetes.io/backend-type"
	theirCLB    = "lb-theirs"
	theirPort   = 9999
	// theirInstance is no node, so that it stays.
	theirInstance = "i-theirs"
	// podENI carries the addresses of all pods, podAddresses of them.
	podENI, podAddresses = "eni-pods", 9
)

func podIP(n int) string { return fmt.Sprintf("192.168.0.%d", 200+n) }

// prepare adds an interface for pods, and a CLB of others whose vServer group is named like one of ours.
func (m *monkey) prepare() {
	m.t.Helper()
	m.byHand = map[string]addition{}
	pods := &state.NetworkInterface{ID: podENI, Type: "Secondary", Status: "InUse", VpcID: world.VpcID,
		VSwitchID: world.VSwitchIDs()[0], PrimaryIP: podIP(1)}
	for n := range podAddresses {
		pods.PrivateIPs = append(pods.PrivateIPs, podIP(1+n))
	}
	name := "k8s/30001/chaos-0/default/" + world.ClusterID
	err := m.Cloud().Seed(m.t.Context(), &state.Cloud{
		Instances: map[string]*state.Instance{theirInstance: {
			ID: theirInstance, Name: theirInstance, ZoneID: world.Region + "-h", InstanceType: "ecs.g7.xlarge", Status: "Running",
			VpcID: world.VpcID, VSwitchID: world.VSwitchIDs()[0], PrivateIPs: []string{"192.168.0.250"},
		}},
		Interfaces: map[string]*state.NetworkInterface{podENI: pods},
		LoadBalancers: map[string]*state.LoadBalancer{theirCLB: {
			ID: theirCLB, Name: "theirs", Address: "203.0.113.77", AddressType: "internet", AddressIPVersion: "ipv4",
			NetworkType: "classic", Status: "active",
			Tags: []state.Tag{{Key: "kubernetes.do.not.delete", Value: "somebody"}, {Key: "ack.aliyun.com", Value: "another"}},
			Listeners: []*state.Listener{{Port: 80, Protocol: "tcp", Status: "running",
				Attributes: map[string]string{"VServerGroupId": "rsp-theirs"}}},
		}},
		ServerGroups: map[string]*state.ServerGroup{"rsp-theirs": {ID: "rsp-theirs", LoadBalancerID: theirCLB, Name: name,
			Servers: []*state.Server{
				{Type: "ecs", ServerID: theirInstance, Port: 30001, Weight: 100, Description: name},
			}}},
	})
	if err != nil {
		m.t.Fatal(err)
	}
	m.theirs = m.describeTheirs(m.state(m.t))
}

func (m *monkey) describeTheirs(c *state.Cloud) string {
	text, err := json.Marshal([]any{c.LoadBalancers[theirCLB], c.ServerGroups["rsp-theirs"]})
	if err != nil {
		m.t.Fatal(err)
	}
	return string(text)
}

func (m *monkey) somePorts() []corev1.ServicePort {
	var ports []corev1.ServicePort
	for _, port := range []int32{80, 443, 8080} {
		if port != 80 && m.random.IntN(2) == 0 {
			continue
		}
		ports = append(ports, corev1.ServicePort{
			Name: fmt.Sprint("p", port), Port: port, TargetPort: intstr.FromInt32(pick[int32](m, 8080, 9090)),
			Protocol: pick(m, corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolUDP),
		})
	}
	return ports
}

// someAnnotation draws an annotation, now and then a wrong one; nil takes it away.
func (m *monkey) someAnnotation() (key string, value any) {
	menu := map[string][]any{
		"scheduler":                  {"wrr", "wlc", "fastest", nil},
		"protocol-port":              {"http:80", "http:80,https:443", "https:443", "gopher:70", nil},
		"forward-port":               {"80:443", nil},
		"cert-id":                    {world.CertificateID},
		"connection-drain":           {"on", "off", nil},
		"health-check-flag":          {"on", "off", nil},
		"name":                       {"mine", "yours", nil},
		"delete-protection":          {"on", "off", nil},
		"additional-resource-tags":   {"a=1,b=2", "b=3", nil},
		"default-weight":             {"50", "many", nil},
		"remove-unscheduled-backend": {"on", nil},
	}
	key = pick(m, slices.Sorted(maps.Keys(menu))...)
	return key, pick(m, menu[key]...)
}

// movePods gives a Service up to four pods, some not ready.
func (m *monkey) movePods(service string) string {
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: service, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{},
	}
	nodes := m.nodes()
	for _, n := range m.random.Perm(podAddresses)[:m.random.IntN(5)] {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{podIP(1 + n)}, NodeName: &nodes[n%len(nodes)].Name,
			Conditions: discoveryv1.EndpointConditions{Ready: new(m.random.IntN(4) > 0)},
		})
	}
	client := m.Client().DiscoveryV1().EndpointSlices(metav1.NamespaceDefault)
	if _, err := client.Update(m.t.Context(), slice, metav1.UpdateOptions{}); err != nil {
		_, err = client.Create(m.t.Context(), slice, metav1.CreateOptions{})
		m.harmless(err)
	}
	return fmt.Sprintf("%s has %d pods", service, len(slice.Endpoints))
}

func (m *monkey) nodes() []corev1.Node {
	m.t.Helper()
	list, err := m.Client().CoreV1().Nodes().List(m.t.Context(), metav1.ListOptions{})
	if err != nil {
		m.t.Fatal(err)
	}
	return list.Items
}

const excludeLabel = "node.kubernetes.io/exclude-from-external-load-balancers"

// changeNodes cordons or excludes a node, or replaces it with its instance.
func (m *monkey) changeNodes() string {
	node := pick(m, m.nodes()...)
	if m.random.IntN(3) == 0 {
		m.addNodes(m.t, 1)
		if err := m.RemoveNode(m.t.Context(), node.Name); err != nil {
			m.t.Fatal(err)
		}
		return node.Name + " is replaced"
	}
	cordoned, excluded := m.random.IntN(2) == 0, "null"
	if m.random.IntN(3) == 0 {
		excluded = `"true"`
	}
	data := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%s}},"spec":{"unschedulable":%t}}`, excludeLabel, excluded, cordoned)
	_, err := m.Client().CoreV1().Nodes().Patch(m.t.Context(), node.Name, types.MergePatchType, data, metav1.PatchOptions{})
	m.harmless(err)
	return fmt.Sprintf("%s is cordoned: %t, excluded: %s", node.Name, cordoned, excluded)
}

// console is what somebody does by hand to a CLB of ours. What faults refuse is not done.
func (m *monkey) console() string {
	c := m.state(m.t)
	ids := slices.DeleteFunc(slices.Sorted(maps.Keys(c.LoadBalancers)), func(id string) bool { return id == theirCLB })
	if len(ids) == 0 {
		return "nobody finds a CLB in the console"
	}
	id := pick(m, ids...)
	switch m.random.IntN(4) {
	case 0:
		m.byAPI("SetLoadBalancerDeleteProtection", map[string]string{"LoadBalancerId": id, "DeleteProtection": "off"})
		done := m.byAPI("DeleteLoadBalancer", map[string]string{"LoadBalancerId": id})
		return fmt.Sprintf("%s is deleted in the console: %t", id, done)
	case 1:
		listeners := 0
		for _, l := range c.LoadBalancers[id].Listeners {
			if m.byAPI("StopLoadBalancerListener", map[string]string{
				"LoadBalancerId": id, "ListenerPort": strconv.Itoa(l.Port), "ListenerProtocol": l.Protocol,
			}) {
				listeners++
			}
		}
		return fmt.Sprintf("%d listeners of %s are stopped", listeners, id)
	default:
		groups := 0
		servers := fmt.Sprintf(`[{"ServerId":%q,"Port":%d,"Weight":7,"Type":"ecs","Description":"by hand"}]`, theirInstance, theirPort)
		for group, g := range c.ServerGroups {
			if g.LoadBalancerID == id && m.byAPI("AddVServerGroupBackendServers", map[string]string{"VServerGroupId": group,
				"BackendServers": servers}) {
				m.byHand[group] = addition{instance: id, at: time.Now()}
				groups++
			}
		}
		return fmt.Sprintf("%d groups of %s get a server of others", groups, id)
	}
}

// byAPI calls the cloud as an operator does and reports whether it obeyed.
func (m *monkey) byAPI(action string, params map[string]string) bool {
	m.t.Helper()
	params["RegionId"] = world.Region
	return m.slb(m.t).Call(m.t.Context(), action, params) == nil
}
