package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/deploy/chart"
	"alicloud-controllers.dev/deploy/tools/local/world"
)

// parseService reads a manifest as kubectl does.
func parseService(t *testing.T, manifest string) *corev1.Service {
	t.Helper()
	var s corev1.Service
	if err := yaml.UnmarshalStrict([]byte(manifest), &s); err != nil {
		t.Fatalf("%v\n%s", err, manifest)
	}
	return &s
}

// outsider is an ECS instance that is no node.
const outsider = "i-outside"

// addServers adds servers to a vServer group by hand.
func (o oldCCM) addServers(group string, servers ...map[string]any) {
	o.t.Helper()
	list, err := json.Marshal(servers)
	if err != nil {
		o.t.Fatal(err)
	}
	o.call("AddVServerGroupBackendServers", map[string]string{"VServerGroupId": group, "BackendServers": string(list)})
}

// seedOutsider makes the instance.
func (o oldCCM) seedOutsider() {
	o.t.Helper()
	all := o.state(o.t).Instances
	i := *all[slices.Sorted(maps.Keys(all))[0]]
	i.ID, i.Name, i.HostName, i.PrivateIPs, i.Tags = outsider, "outside", "outside", []string{"10.255.255.1"}, nil
	if err := o.Cloud().Seed(o.t.Context(), &state.Cloud{Instances: map[string]*state.Instance{outsider: &i}}); err != nil {
		o.t.Fatal(err)
	}
}

// servers waits until a vServer group has the weights, by server.
func (o oldCCM) servers(group string, want map[string]int) {
	o.t.Helper()
	eventually(o.t, "the servers of "+group, func(context.Context) error {
		got := map[string]int{}
		for _, s := range o.state(o.t).ServerGroups[group].Servers {
			got[s.ServerID] = s.Weight
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("weights (-want +got):\n%s", diff)
		}
		return nil
	})
}

// defaultServers waits until the default server group of a load balancer has the weights, by server.
func (o oldCCM) defaultServers(id string, want map[string]int) {
	o.t.Helper()
	eventually(o.t, "the default server group of "+id, func(context.Context) error {
		got := map[string]int{}
		for _, s := range o.state(o.t).LoadBalancers[id].DefaultServers {
			got[s.ServerID] = s.Weight
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("weights (-want +got):\n%s", diff)
		}
		return nil
	})
}

// instances are the ids of the instances that are nodes of a cluster.
func (w testWorld) instances(t *testing.T) (ids []string) {
	t.Helper()
	list, err := w.Client().CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range list.Items {
		ids = append(ids, strings.TrimPrefix(node.Spec.ProviderID, world.Region+"."))
	}
	return ids
}

// share notes the same weight for each of some servers.
func share(want map[string]int, weight int, servers []string) {
	for _, id := range servers {
		want[id] = weight
	}
}

// The manifests of the scenarios as they are published (Alibaba Cloud, "Use the CCM to deploy services across
// clusters"), but for their comments.
const (
	hybridService = `apiVersion: v1
kind: Service
metadata:
  annotations:
    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-id: ${YOUR_LB_ID}
    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-force-override-listeners: "false"
  labels:
    app: nignx
  name: my-nginx-svc
  namespace: default
spec:
  ports:
  - port: 80
    protocol: TCP
    targetPort: 80
  selector:
    app: nginx
  type: LoadBalancer
`
	serviceOfA = `apiVersion: v1
kind: Service
metadata:
  annotations:
    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-id: "${YOUR_LB_ID}"
    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-vgroup-port: "${YOUR_VGROUP_ID}:80"
    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-weight: "20"
  name: service-a
  namespace: default
spec:
  ports:
  - name: http
    port: 80
    protocol: TCP
    targetPort: 80
  selector:
    app: nginx
  sessionAffinity: None
  type: LoadBalancer
`
	serviceOfB = `apiVersion: v1
kind: Service
metadata:
  annotations:
    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-id: "${YOUR_LB_ID}"
    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-vgroup-port: "${YOUR_VGROUP_ID}:80"
    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-weight: "80"
  name: service-b
  namespace: default
spec:
  ports:
  - name: http
    port: 80
    protocol: TCP
    targetPort: 80
  selector:
    app: nginx
  sessionAffinity: None
  type: LoadBalancer
`
)

// TestNodesAndOutsideServers is the published scenario of one load balancer for nodes and for instances outside of the cluster: the vServer
// group is the Service's, the listener and the outside server are the user's. The default server group is kept the same way.
func TestNodesAndOutsideServers(t *testing.T) {
	t.Parallel()
	w := boot(t, 2, instant)
	w.initialised(t)
	users := oldCCM{testWorld: w, t: t, api: w.slb(t)}
	users.call("CreateLoadBalancer", map[string]string{"AddressType": "internet", "LoadBalancerName": "mine",
		"InstanceChargeType": "PayByCLCU"})
	id := users.lbOf("mine").ID
	w.create(t, parseService(t, strings.ReplaceAll(hybridService, "${YOUR_LB_ID}", id)))
	service := w.balanced(t, "my-nginx-svc")
	var group string
	for groupID, g := range w.state(t).ServerGroups {
		if g.LoadBalancerID == id {
			group = groupID
		}
	}
	users.listenOn(id, group)
	users.seedOutsider()
	users.addServers(group, map[string]any{"ServerId": outsider, "Port": service.Spec.Ports[0].NodePort, "Weight": 30,
		"Type": "ecs", "Description": "by hand"})

	want := map[string]int{outsider: 30}
	share(want, 100, w.instances(t))
	users.servers(group, want)
	users.call("AddBackendServers", map[string]string{"LoadBalancerId": id, "BackendServers": `[{"ServerId":"` + outsider + `","Weight":30}]`})
	w.change(t, "my-nginx-svc", func(s *corev1.Service) { s.Annotations[annotationPrefix+"default-server-group"] = "on" })
	users.defaultServers(id, want)
	added, err := w.AddNodes(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	without := maps.Clone(want)
	share(want, 100, w.instances(t))
	users.servers(group, want)
	users.defaultServers(id, want)
	if err := w.RemoveNode(t.Context(), added[0]); err != nil {
		t.Fatal(err)
	}
	users.servers(group, without)
	users.defaultServers(id, without)

	w.remove(t, "my-nginx-svc")
	users.servers(group, map[string]int{outsider: 30})
	users.defaultServers(id, map[string]int{outsider: 30})
	users.listening(id)
}

// TestClustersShareAGroup is the published scenario of one load balancer for two clusters: both fill one vServer group
// of the user's, each with its part of the weight.
func TestClustersShareAGroup(t *testing.T) {
	t.Parallel()
	a := boot(t, 2, instant)
	b := bootWith(t, world.Config{
		Nodes: 2, Controllers: []string{world.LB}, Fast: true, Beside: a.World, LB: map[string]any{"clusterID": "c-b"},
		Gateway: map[string]any{"scopes": []map[string]any{
			{"callers": []string{"system:serviceaccount:" + chart.Namespace + ":lbcontroller"}, "clusterID": "c-b", "controller": true},
		}},
	})
	a.initialised(t)
	users := oldCCM{testWorld: a, t: t, api: a.slb(t)}
	users.call("CreateLoadBalancer", map[string]string{"AddressType": "internet", "LoadBalancerName": "mine",
		"InstanceChargeType": "PayByCLCU"})
	id := users.lbOf("mine").ID
	users.call("CreateVServerGroup", map[string]string{"LoadBalancerId": id, "VServerGroupName": "both"})
	group := users.groupOf(id, "both")
	users.listenOn(id, group)
	ids := strings.NewReplacer("${YOUR_LB_ID}", id, "${YOUR_VGROUP_ID}", group)
	a.create(t, parseService(t, ids.Replace(serviceOfA)))
	a.balanced(t, "service-a")
	b.create(t, parseService(t, ids.Replace(serviceOfB)))
	b.balanced(t, "service-b")
	want := map[string]int{}
	share(want, 10, a.instances(t))
	share(want, 40, b.instances(t))
	users.servers(group, want)

	a.addNodes(t, 2)
	share(want, 5, a.instances(t))
	users.servers(group, want)
	// The user moves the traffic.
	a.change(t, "service-a", func(s *corev1.Service) { s.Annotations[annotationPrefix+"weight"] = "100" })
	share(want, 25, a.instances(t))
	users.servers(group, want)
	b.change(t, "service-b", func(s *corev1.Service) { s.Annotations[annotationPrefix+"weight"] = "0" })
	share(want, 0, b.instances(t))
	users.servers(group, want)
	a.remove(t, "service-a")
	rest := map[string]int{}
	share(rest, 0, b.instances(t))
	users.servers(group, rest)
	b.remove(t, "service-b")
	users.servers(group, map[string]int{})
	users.listening(id)
}

// listenOn makes the user's listener and starts it.
func (o oldCCM) listenOn(id, group string) {
	o.t.Helper()
	o.call("CreateLoadBalancerTCPListener", map[string]string{
		"LoadBalancerId": id, "ListenerPort": "80", "Bandwidth": "-1", "VServerGroupId": group,
	})
	o.call("StartLoadBalancerListener", map[string]string{"LoadBalancerId": id, "ListenerPort": "80", "ListenerProtocol": "tcp"})
}

// listening fails unless the user's load balancer still has its one listener.
func (o oldCCM) listening(id string) {
	o.t.Helper()
	if lb := o.state(o.t).LoadBalancers[id]; lb == nil || len(lb.Listeners) != 1 || lb.Listeners[0].Status != "running" {
		o.t.Errorf("the user's load balancer: %+v", lb)
	}
}
