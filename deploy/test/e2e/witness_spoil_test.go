package e2e

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/openapisim/openapisimtest"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/deploy/tools/local/world"
)

// badWitness is one who says something wrong.
type badWitness struct {
	name string
	// spoil lets the witness begin, and gives what makes it end.
	spoil func(t *testing.T) (mend func(t *testing.T))
	// said is the text of the event about silent nodes, and held the cause in the metric of those; empty if the witness is not about nodes.
	said, held string
	// reason and text are those of the event about routes, and metric the value that counts them; empty if the witness keeps the controller
	// from looking at any table.
	reason, text, metric string
	routes               int
}

// badWitnesses are those of the cloud and of the API server.
func (j *jury) badWitnesses() []badWitness {
	const noNode = "RoutesWithoutNode"
	list := []badWitness{
		{
			name: "no instance at all", spoil: j.faulty(fault.Rule{Product: "ecs", Action: "DescribeInstances", Empty: true}),
			said: "Not one instance of the nodes was found", held: "nothing_found", reason: noNode,
		},
		{
			name: "some of the instances", spoil: j.partial,
			said: "The cloud does not know the instances of 4 nodes that are ready", held: "contradicted", reason: noNode,
		},
		{
			name: "all instances but those of silent nodes", spoil: j.withoutSilent,
			said: "The cloud does not list the instance, but its network interface eni-local", held: "witness", reason: noNode,
		},
		{
			name:  "throttled",
			spoil: j.faulty(fault.Rule{Product: "ecs", Action: "DescribeInstances", Error: &fault.Error{Code: "Throttling.User", Message: "slow down", RetryAfter: api.Duration(time.Second)}}),
			said:  "whether the instance exists can't be found out", held: "unanswered", reason: noNode,
		},
		{
			name: "of another region", spoil: j.elsewhere,
			said: "Not one instance of the nodes was found", held: "nothing_found",
		},
		{
			name: "expired token",
			spoil: j.faulty(fault.Rule{Error: &fault.Error{
				Code: "InvalidSecurityToken.Expired", Message: "Specified SecurityToken is expired.",
			}}),
			said: "whether the instance exists can't be found out", held: "unanswered",
		},
		{
			name: "gateway away", spoil: j.gatewayAway,
			said: "whether the instance exists can't be found out", held: "unanswered",
		},
		{
			name: "API server without half of the nodes", spoil: j.lost(func(i int) bool { return i%2 == 0 }),
			reason: noNode, text: "Each is deleted", routes: 11,
		},
		{
			name: "API server without nodes", spoil: j.lost(func(int) bool { return true }),
			reason: "RouteDeletionHeld", text: "20 routes carry the mark of cluster c-local and no Node claims any", metric: "routecontroller_no_node_claims", routes: 1,
		},
	}
	for i := range list {
		if b := &list[i]; b.reason == noNode {
			if b.metric = "routecontroller_orphan_routes"; b.routes == 0 {
				b.text, b.routes = "2 routes of cluster c-local have no Node", 2
			}
		}
	}
	return list
}

// faulty lets calls to the cloud go wrong.
func (j *jury) faulty(rule fault.Rule) func(t *testing.T) func(t *testing.T) {
	return func(t *testing.T) func(t *testing.T) {
		t.Helper()
		if err := j.Cloud().SetFaults(t.Context(), rule); err != nil {
			t.Fatal(err)
		}
		return j.honest
	}
}

func (j *jury) honest(t *testing.T) {
	t.Helper()
	if err := j.Cloud().ClearFaults(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// hide lets the list of instances lack some.
func (j *jury) hide(t *testing.T, instances []string) func(t *testing.T) {
	t.Helper()
	whole, part := j.state(t), j.state(t)
	for _, id := range instances {
		delete(part.Instances, id)
	}
	if err := j.Cloud().SetState(t.Context(), part); err != nil {
		t.Fatal(err)
	}
	if err := j.Cloud().SetFaults(t.Context(), fault.Rule{Product: "ecs", Action: "DescribeInstances", Stale: true}); err != nil {
		t.Fatal(err)
	}
	if err := j.Cloud().SetState(t.Context(), whole); err != nil {
		t.Fatal(err)
	}
	return j.honest
}

// partial hides the instances of the silent nodes, of four others, and of the nodes that are deleted.
func (j *jury) partial(t *testing.T) func(t *testing.T) {
	t.Helper()
	hidden := slices.Clone(j.orphans)
	ready := 0
	for _, node := range j.nodes(t) {
		if isSilent := slices.Contains(j.silent, node.Name); isSilent || ready < 4 {
			hidden = append(hidden, node)
			if !isSilent {
				ready++
			}
		}
	}
	return j.hide(t, instancesOf(hidden))
}

func (j *jury) withoutSilent(t *testing.T) func(t *testing.T) {
	t.Helper()
	return j.hide(t, instancesOf(slices.DeleteFunc(j.nodes(t), func(n corev1.Node) bool { return !slices.Contains(j.silent, n.Name) })))
}

func instancesOf(nodes []corev1.Node) []string {
	var ids []string
	for _, node := range nodes {
		ids = append(ids, instanceOf(&node))
	}
	return ids
}

// elsewhere lets the gateway work in another region, where others have their instances.
func (j *jury) elsewhere(t *testing.T) func(t *testing.T) {
	t.Helper()
	const region = "cn-beijing"
	other := openapisimtest.New(t, openapisim.Config{
		Region: region, AccessKeys: []openapisim.AccessKey{{ID: j.AccessKeyID(), Secret: j.AccessKeySecret()}},
		Seed: &state.Cloud{
			Vpcs:      map[string]*state.Vpc{world.VpcID: {CidrBlock: "192.168.0.0/16"}},
			VSwitches: map[string]*state.VSwitch{"vsw-1": {VpcID: world.VpcID, ZoneID: region + "-h", CidrBlock: "192.168.0.0/24"}},
			Instances: map[string]*state.Instance{"i-others": {VSwitchID: "vsw-1", PrivateIPs: []string{"192.168.0.11"}}},
		},
	})
	endpoints := map[string]any{}
	for _, product := range []string{"slb", "vpc", "ecs", "sts"} {
		endpoints[product] = other.Endpoint(product)
	}
	before, err := j.Configuration(active)
	if err != nil {
		t.Fatal(err)
	}
	j.reconfigureGateway(t, map[string]any{"region": region, "endpoints": endpoints})
	return func(t *testing.T) {
		t.Helper()
		j.reconfigureGateway(t, before)
	}
}

func (j *jury) reconfigureGateway(t *testing.T, keys map[string]any) {
	t.Helper()
	if err := j.Reconfigure(active, keys); err != nil {
		t.Fatal(err)
	}
	if err := j.Process(active).Stop(); err != nil {
		t.Fatal(err)
	}
	j.restart(t, active)
}

func (j *jury) gatewayAway(t *testing.T) func(t *testing.T) {
	t.Helper()
	if err := j.Kill(active); err != nil {
		t.Fatal(err)
	}
	return func(t *testing.T) { t.Helper(); j.restart(t, active) }
}

// lost lets the API server lose nodes, as one that was restored from an old backup, while nobody watches. In the end the kubelets register
// again.
func (j *jury) lost(which func(i int) bool) func(t *testing.T) func(t *testing.T) {
	return func(t *testing.T) func(t *testing.T) {
		t.Helper()
		var nodes []corev1.Node
		for i, node := range j.nodes(t) {
			if which(i) {
				nodes = append(nodes, node)
				j.deleteNode(t, node.Name)
			}
		}
		return func(t *testing.T) {
			t.Helper()
			for _, node := range nodes {
				node.ResourceVersion, node.UID = "", ""
				if _, err := j.Client().CoreV1().Nodes().Create(t.Context(), &node, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
				if slices.Contains(j.silent, node.Name) {
					j.silence(t, node.Name)
				}
			}
		}
	}
}
