package world

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/deploy/tools/local/cloud"
)

const (
	// fakeNode is the annotation of the nodes that kwok takes care of.
	fakeNode = "kwok.x-k8s.io/node"
	// uninitialized is the taint with which a kubelet registers when a cloud controller is to come.
	uninitialized = "node.cloudprovider.kubernetes.io/uninitialized"
	// creators is how many nodes are registered at the same time.
	creators = 16
	// insistence is how long an act of an operator is repeated.
	insistence = 2 * time.Minute
)

// AddNodes adds n instances to the cloud and registers them as nodes, as their kubelets would.
func (w *World) AddNodes(ctx context.Context, n int) ([]string, error) {
	return w.addNodes(ctx, n)
}

// AddMutes is AddNodes with kubelets that report nothing after the registration.
func (w *World) AddMutes(ctx context.Context, n int) ([]string, error) {
	return w.addNodes(ctx, n, fakeNode)
}

// addNodes adds nodes without the given annotations.
func (w *World) addNodes(ctx context.Context, n int, without ...string) ([]string, error) {
	first := w.number(n)
	resources := &state.Cloud{Instances: map[string]*state.Instance{}, Interfaces: map[string]*state.NetworkInterface{}}
	var nodes []*corev1.Node
	for i := first; i < first+n; i++ {
		m := w.plan.newMachine(i)
		resources.Instances[m.instance.ID] = m.instance
		resources.Interfaces[m.primary.ID] = m.primary
		node := m.node()
		maps.DeleteFunc(node.Annotations, func(key, _ string) bool { return slices.Contains(without, key) })
		nodes = append(nodes, node)
	}
	if n == 0 {
		return nil, nil
	}
	if err := w.cloud.Seed(ctx, resources); err != nil {
		return nil, fmt.Errorf("add instances: %w", err)
	}
	names := make([]string, n)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(creators)
	for i, node := range nodes {
		names[i] = node.Name
		group.Go(func() error {
			if _, err := w.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
				return fmt.Errorf("register node %s: %w", node.Name, err)
			}
			return nil
		})
	}
	return names, group.Wait()
}

// number gives n machines their numbers, of which those in one cloud have each another.
func (w *World) number(n int) (first int) {
	if w.cfg.Beside != nil {
		return w.cfg.Beside.number(n)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	first = w.nextNode
	w.nextNode += n
	return first
}

// RemoveNode deletes a node and its instance, as a scale-in does.
func (w *World) RemoveNode(ctx context.Context, name string) error {
	node, err := w.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("remove node: %w", err)
	}
	if err := w.client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("remove node: %w", err)
	}
	id := strings.TrimPrefix(node.Spec.ProviderID, Region+".")
	if err := w.DeleteInstance(ctx, id); err != nil {
		return fmt.Errorf("remove node %s: %w", name, err)
	}
	return nil
}

// node is what the kubelet of a machine registers. It says at once that it is ready, so that kwok has nothing to add before the first
// heartbeat, and has all labels of kubelets, which kube-controller-manager would add otherwise.
func (m machine) node() *corev1.Node {
	now := metav1.Now()
	resources := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("32"), corev1.ResourceMemory: resource.MustParse("128Gi"),
		corev1.ResourcePods: resource.MustParse("250"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: m.name,
			Labels: map[string]string{
				corev1.LabelHostname: m.name, corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64",
				"beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "amd64",
			},
			Annotations: map[string]string{fakeNode: "fake"},
		},
		Spec: corev1.NodeSpec{
			ProviderID: m.providerID(),
			Taints:     []corev1.Taint{{Key: uninitialized, Value: "true", Effect: corev1.TaintEffectNoSchedule}},
		},
		Status: corev1.NodeStatus{
			Phase: corev1.NodeRunning, Capacity: resources, Allocatable: resources,
			Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", Message: "fake kubelet",
				LastHeartbeatTime: now, LastTransitionTime: now,
			}},
		},
	}
}

// DeleteInstance deletes an instance as a user at the console would, who clicks again until it is gone. Faults and limits of the cloud
// can't keep it from that.
func (w *World) DeleteInstance(ctx context.Context, id string) error {
	ecs := cloud.API{
		URL: "http://" + w.addresses["ecs"], Version: "2014-05-26", AccessKeyID: w.accessKey.id, AccessKeySecret: w.accessKey.secret,
	}
	ctx, cancel := context.WithTimeout(ctx, insistence)
	defer cancel()
	return ecs.Insist(ctx, "DeleteInstance", "InvalidInstanceId.NotFound", map[string]string{"RegionId": Region,
		"InstanceId": id, "Force": "true"})
}
