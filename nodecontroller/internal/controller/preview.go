package controller

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/nodes"

	"alicloud-controllers.dev/nodecontroller/internal/nodestate"
)

// Preview is what the controller would do about the nodes of a cluster.
type Preview struct {
	// Nodes are those that would change or have a problem, by name.
	Nodes []NodePreview `json:"nodes"`
	// Unchanged counts the others.
	Unchanged int `json:"unchanged"`
}

// NodePreview is what the controller would do about one node.
type NodePreview struct {
	Node    string   `json:"node"`
	Changes []string `json:"changes,omitempty"`
	// Problem says why the node can't be brought in step, and what to do.
	Problem string `json:"problem,omitempty"`
}

// Preview finds out what the controller would change now. It writes nothing.
func (c *Controller) Preview(ctx context.Context) (Preview, error) {
	var err error
	if c.cfg.Region, err = c.cfg.Gateway.Region(ctx, c.cfg.Region); err != nil {
		return Preview{}, err
	}
	list, err := c.cfg.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return Preview{}, fmt.Errorf("list nodes: %w", err)
	}
	preview := Preview{Nodes: []NodePreview{}}
	for part := range slices.Chunk(list.Items, firstPart) {
		found, err := c.previewPart(ctx, part)
		if err != nil {
			return Preview{}, err
		}
		for _, node := range found {
			if len(node.Changes) == 0 && node.Problem == "" {
				preview.Unchanged++
				continue
			}
			preview.Nodes = append(preview.Nodes, node)
		}
	}
	slices.SortFunc(preview.Nodes, func(a, b NodePreview) int { return strings.Compare(a.Node, b.Node) })
	return preview, nil
}

// previewPart looks at nodes whose instances are read in one call.
func (c *Controller) previewPart(ctx context.Context, part []corev1.Node) ([]NodePreview, error) {
	var ids []string
	for i := range part {
		if id, ok := c.ours(&part[i]); ok {
			ids = append(ids, id.InstanceID)
		}
	}
	results := map[string]*ecsv1.InstanceResult{}
	if len(ids) > 0 {
		resp, err := c.cfg.Gateway.Instances.BatchGetInstances(ctx, &ecsv1.BatchGetInstancesRequest{InstanceIds: ids})
		if err != nil {
			return nil, fmt.Errorf("get %d instances: %w", len(ids), err)
		}
		if len(resp.GetResults()) != len(ids) {
			return nil, fmt.Errorf("gateway answered %d results for %d instances", len(resp.GetResults()), len(ids))
		}
		for i, id := range ids {
			results[id] = resp.GetResults()[i]
		}
	}
	found := make([]NodePreview, 0, len(part))
	for i := range part {
		node := &part[i]
		about := NodePreview{Node: node.Name}
		if id, ok := c.ours(node); ok {
			c.previewInstance(ctx, &about, node, id, results[id.InstanceID])
		} else if err := c.previewStranger(ctx, &about, node); err != nil {
			about.Problem = err.Error()
		}
		found = append(found, about)
	}
	return found, nil
}

// previewInstance is about a node with the id of an instance.
func (c *Controller) previewInstance(ctx context.Context, about *NodePreview, node *corev1.Node, id nodes.ID,
	result *ecsv1.InstanceResult) {
	switch err := rpcerr.FromItem(result.GetError()); {
	case result.GetInstance() != nil:
		c.previewChange(ctx, about, node, result.GetInstance())
	case rpcerr.ReasonOf(err) != rpcerr.InstanceNotFound:
		about.Problem = fmt.Sprintf("instance %s can't be read: %v", id.InstanceID, err)
	case nodes.Silent(node) && c.cfg.Deletion != nil:
		about.Changes = []string{fmt.Sprintf("delete the node, if the cloud lacks its instance %s still after %s",
			id.InstanceID, c.cfg.Deletion.ConfirmAfter)}
	default:
		about.Problem = fmt.Sprintf("the cloud does not know instance %s", id.InstanceID)
	}
}

// previewStranger is about a node that is no instance of this region, as far as it says.
func (c *Controller) previewStranger(ctx context.Context, about *NodePreview, node *corev1.Node) error {
	switch {
	case !nodes.IsUninitialized(node) || nodes.IsVirtual(node):
		return nil
	case node.Spec.ProviderID == "":
		instance, err := c.instanceByAddress(ctx, node)
		if errors.Is(err, errNoInstance) && nodes.Excluded(node) {
			return nil
		}
		if err == nil {
			c.previewChange(ctx, about, node, instance)
		}
		return err
	case nodes.IsLingjun(node):
		about.Changes = []string{"remove taint " + nodes.TaintUninitialized}
		return nil
	case nodes.Excluded(node):
		return nil
	default:
		about.Problem = c.providerIDProblem(node.Spec.ProviderID)
		return nil
	}
}

func (c *Controller) previewChange(ctx context.Context, about *NodePreview, node *corev1.Node, instance *ecsv1.Instance) {
	if err := c.belongs(ctx, node, instance); err != nil {
		about.Problem = err.Error()
		return
	}
	change, err := c.inStep(instance)(node)
	if err != nil {
		about.Problem = err.Error()
		return
	}
	about.Changes = describe(change)
	if nodes.IsUninitialized(node) && c.forwards() && instance.GetPrimaryNetworkInterfaceId() != "" {
		about.Changes = append(about.Changes,
			"switch off the source/destination check of network interface "+instance.GetPrimaryNetworkInterfaceId()+", if it is on")
	}
}

// describe gives the parts of a change for people, in a fixed order.
func describe(change nodestate.Change) []string {
	var parts []string
	if change.ProviderID != "" {
		parts = append(parts, "set provider ID "+change.ProviderID)
	}
	if change.AddressesDiffer {
		texts := make([]string, len(change.Addresses))
		for i, address := range change.Addresses {
			texts[i] = string(address.Type) + " " + address.Address
		}
		parts = append(parts, "set addresses "+strings.Join(texts, ", "))
	}
	for key, value := range change.Labels {
		parts = append(parts, "set label "+key+"="+value)
	}
	for _, key := range change.Unlabel {
		parts = append(parts, "remove label "+key)
	}
	for key, value := range change.Annotate {
		parts = append(parts, "set annotation "+key+"="+value)
	}
	for _, key := range change.Unannotate {
		parts = append(parts, "remove annotation "+key)
	}
	if change.Condition != nil {
		parts = append(parts, fmt.Sprintf("set condition %s=%s", change.Condition.Type, change.Condition.Status))
	}
	for _, taint := range change.Taint {
		parts = append(parts, "add taint "+taint.Key)
	}
	for _, key := range change.Untaint {
		parts = append(parts, "remove taint "+key)
	}
	slices.Sort(parts)
	return parts
}

// WriteText writes one line for each node that would change or has a problem, and a summary.
func (p Preview) WriteText(w io.Writer) error {
	var text strings.Builder
	problems := 0
	for _, node := range p.Nodes {
		if node.Problem != "" {
			problems++
			fmt.Fprintf(&text, "%s: problem: %s\n", node.Node, node.Problem)
			continue
		}
		fmt.Fprintf(&text, "%s: %s\n", node.Node, strings.Join(node.Changes, "; "))
	}
	fmt.Fprintf(&text, "%d nodes would change, %d have a problem, %d stay as they are.\n", len(p.Nodes)-problems, problems, p.Unchanged)
	_, err := io.WriteString(w, text.String())
	return err
}
