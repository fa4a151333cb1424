package controller

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/kube"
	"alicloud-controllers.dev/services/nodes"
	"alicloud-controllers.dev/services/reconcile"

	"alicloud-controllers.dev/nodecontroller/internal/nodestate"
)

// Maintenance says that nodes tell what the cloud is about to do to their instances.
type Maintenance struct {
	// Interval is the time between two looks.
	Interval time.Duration
	// Lead is how long before an interruption it is imminent.
	Lead time.Duration
}

// announcePlans says on all nodes what the cloud is about to do to their instances. Where that is switched off, it takes
// back once what was said before: nobody else would.
func (c *Controller) announcePlans(ctx context.Context, key string) error {
	all, err := c.nodes.List(labels.Everything())
	if err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	plans := map[string]nodestate.Plan{}
	unknown := map[string]bool{}
	lead := time.Duration(0)
	if c.cfg.Maintenance != nil {
		lead = c.cfg.Maintenance.Lead
		plans, unknown, err = c.readPlans(ctx, all)
		c.reportPlansUnread(err)
		if err != nil { // What was said stays: that an answer lacks something is no news.
			return err
		}
		defer c.maintenance.AddAfter(key, reconcile.Periodic, c.cfg.Maintenance.Interval)
	}
	var group errgroup.Group
	group.SetLimit(sweepWrites)
	for _, node := range all {
		id, ours := c.ours(node)
		plan := nodestate.Plan{}
		if ours && !nodes.Foreign(node) {
			plan = plans[id.InstanceID]
		}
		if unknown[id.InstanceID] {
			continue
		}
		change := nodestate.Announce(node, plan, time.Now(), lead)
		c.reportPlan(node, change)
		if !change.Empty() {
			group.Go(func() error {
				_, err := c.write(ctx, node, func(*corev1.Node) (nodestate.Change, error) { return change, nil })
				return err
			})
		}
	}
	return group.Wait()
}

// readPlans reads what the cloud is about to do to instances: one call for the events of all, and one for 100 spot
// instances, of which no event reports that they are released. It gives besides the instances of which nothing is known.
func (c *Controller) readPlans(ctx context.Context, all []*corev1.Node) (map[string]nodestate.Plan, map[string]bool, error) {
	ctx, cancel := context.WithTimeout(gateway.WithPriority(ctx, gateway.Background), answerTimeout)
	defer cancel()
	answer, err := c.cfg.Gateway.Instances.ListInstanceEvents(ctx, &ecsv1.ListInstanceEventsRequest{})
	if err != nil {
		return nil, nil, fmt.Errorf("list the system events of instances: %w", err)
	}
	plans := map[string]nodestate.Plan{}
	for _, event := range answer.GetEvents() {
		plan := plans[event.GetInstanceId()]
		plan.Events = append(plan.Events, event)
		plans[event.GetInstanceId()] = plan
	}
	var spot []string
	for _, node := range all {
		if id, ours := c.ours(node); ours && !nodes.Foreign(node) && nodestate.IsSpot(node) {
			spot = append(spot, id.InstanceID)
		}
	}
	unknown := map[string]bool{}
	slices.Sort(spot)
	for part := range slices.Chunk(slices.Compact(spot), firstPart) {
		answer, err := c.cfg.Gateway.Instances.BatchGetInstances(ctx, &ecsv1.BatchGetInstancesRequest{InstanceIds: part})
		if err != nil {
			return nil, nil, fmt.Errorf("get %d spot instances: %w", len(part), err)
		}
		for _, result := range answer.GetResults() {
			id := result.GetRequested()
			plan := plans[id]
			plan.Reclaimed = nodestate.Reclaimed(result.GetInstance())
			plans[id] = plan
			unknown[id] = result.GetInstance() == nil && rpcerr.ReasonOf(rpcerr.FromItem(result.GetError())) != rpcerr.InstanceNotFound
		}
	}
	return plans, unknown, nil
}

// reportPlan says in an event what the condition says, and that it is over.
func (c *Controller) reportPlan(node *corev1.Node, change nodestate.Change) {
	switch {
	case change.Condition == nil:
	case change.Condition.Status == corev1.ConditionTrue:
		c.warn(node.Name, eventMaintenance, change.Condition.Message)
	default:
		c.events.Resolve(kube.NodeReference(node.Name), eventMaintenance)
	}
}

// reportPlansUnread says on the cluster that nothing is known of planned maintenance.
func (c *Controller) reportPlansUnread(err error) {
	about := &corev1.ObjectReference{APIVersion: "v1", Kind: "Namespace", Name: metav1.NamespaceSystem}
	if err == nil {
		c.events.Resolve(about, eventMaintenanceUnread)
		return
	}
	if _, wait := rpcerr.RetryAfter(err); !wait {
		c.events.Failure(about, eventMaintenanceUnread,
			fmt.Errorf("planned maintenance of instances can't be read: conditions MaintenancePlanned stay as they are: %w", err))
	}
}

// announced counts the nodes with planned maintenance by how near it is. A standby counts none.
func (c *Controller) announced() map[string]int {
	count := map[string]int{"scheduled": 0, "imminent": 0}
	if !c.leading.Load() {
		return count
	}
	all, err := c.nodes.List(labels.Everything())
	if err != nil { // A cache gives none.
		return count
	}
	for _, node := range all {
		switch nodestate.Announced(node) {
		case nodestate.ReasonEventScheduled:
			count["scheduled"]++
		case nodes.ReasonEventImminent:
			count["imminent"]++
		}
	}
	return count
}
