package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
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

// instances are the ids of the nodes' instances.
func (o oldCCM) instances() []string {
	var ids []string
	for id := range o.state(o.t).Instances {
		if id != outsider {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// TestNodesAndOutsideServers is the published scenario of one load balancer for nodes and for instances outside of the cluster: the vServer
// group is the Service's, the listener and the outside server are the user's.
func TestNodesAndOutsideServers(t *testing.T) {
	w := boot(t, 2, instant)
	w.initialised(t)
	users := oldCCM{testWorld: w, t: t, api: w.slb(t)}
	users.call("CreateLoadBalancer", map[string]string{"AddressType": "internet", "LoadBalancerName": "mine", "InstanceChargeType": "PayByCLCU"})
	id := users.lbOf("mine").ID
	w.create(t, parseService(t, `
apiVersion: v1
kind: Service
metadata:
  name: my-nginx-svc
  namespace: default
  annotations:
    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-id: `+id+`
    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-force-override-listeners: "false"
spec:
  type: LoadBalancer
  selector: {app: nginx}
  ports: [{port: 80, protocol: TCP, targetPort: 80}]
`))
	service := w.balanced(t, "my-nginx-svc")
	var group string
	for groupID, g := range w.state(t).ServerGroups {
		if g.LoadBalancerID == id {
			group = groupID
		}
	}
	users.call("CreateLoadBalancerTCPListener", map[string]string{
		"LoadBalancerId": id, "ListenerPort": "80", "Bandwidth": "-1", "VServerGroupId": group,
	})
	users.call("StartLoadBalancerListener", map[string]string{"LoadBalancerId": id, "ListenerPort": "80", "ListenerProtocol": "tcp"})
	users.seedOutsider()
	users.addServers(group, map[string]any{"ServerId": outsider, "Port": service.Spec.Ports[0].NodePort, "Weight": 30, "Type": "ecs", "Description": "by hand"})

	want := map[string]int{outsider: 30}
	for _, node := range users.instances() {
		want[node] = 100
	}
	users.servers(group, want)
	w.addNodes(t, 1)
	for _, node := range users.instances() {
		want[node] = 100
	}
	users.servers(group, want)

	w.remove(t, "my-nginx-svc")
	users.servers(group, map[string]int{outsider: 30})
	if lb := w.state(t).LoadBalancers[id]; lb == nil || len(lb.Listeners) != 1 || lb.Listeners[0].Status != "running" {
		t.Errorf("the user's load balancer: %+v", lb)
	}
}

// TestClustersShareAGroup is the published scenario of one load balancer for two clusters: both fill one vServer group of the user's, each with
// its part of the weight. What the other cluster has there is as it writes it.
func TestClustersShareAGroup(t *testing.T) {
	w := boot(t, 2, instant)
	w.initialised(t)
	users := oldCCM{testWorld: w, t: t, api: w.slb(t)}
	users.call("CreateLoadBalancer", map[string]string{"AddressType": "internet", "LoadBalancerName": "mine", "InstanceChargeType": "PayByCLCU"})
	id := users.lbOf("mine").ID
	users.call("CreateVServerGroup", map[string]string{"LoadBalancerId": id, "VServerGroupName": "both"})
	group := users.groupOf(id, "both")
	users.call("CreateLoadBalancerTCPListener", map[string]string{
		"LoadBalancerId": id, "ListenerPort": "80", "Bandwidth": "-1", "VServerGroupId": group,
	})
	users.call("StartLoadBalancerListener", map[string]string{"LoadBalancerId": id, "ListenerPort": "80", "ListenerProtocol": "tcp"})
	users.seedOutsider()
	users.addServers(group, map[string]any{
		"ServerId": outsider, "Port": 30080, "Weight": 80, "Type": "ecs", "Description": "k8s/30080/service-b/default/c-other",
	})
	w.create(t, parseService(t, `
apiVersion: v1
kind: Service
metadata:
  name: service-a
  namespace: default
  annotations:
    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-id: `+id+`
    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-vgroup-port: `+group+`:80
    service.beta.kubernetes.io/alibaba-cloud-loadbalancer-weight: "20"
spec:
  type: LoadBalancer
  selector: {app: nginx}
  sessionAffinity: None
  ports: [{name: http, port: 80, protocol: TCP, targetPort: 80}]
`))
	w.balanced(t, "service-a")
	want := map[string]int{outsider: 80}
	for _, node := range users.instances() {
		want[node] = 10
	}
	users.servers(group, want)
	// The user moves the traffic.
	w.change(t, "service-a", func(s *corev1.Service) { s.Annotations[annotationPrefix+"weight"] = "100" })
	for _, node := range users.instances() {
		want[node] = 50
	}
	users.servers(group, want)
	w.remove(t, "service-a")
	users.servers(group, map[string]int{outsider: 80})
}
