package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/kube"
	"alicloud-controllers.dev/services/nodes"
	"alicloud-controllers.dev/services/reconcile"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/nodecontroller/internal/lifecycle"
)

const (
	// recordDeletions is the ConfigMap with the instances that seem gone and the deletions of late.
	recordDeletions = "nodecontroller-deletions"
	recordFormat    = 1
	// maxEvents bounds the events that one cause makes in one sweep.
	maxEvents = 20
)

// deletions is what is remembered about nodes without instances, by this leader and those before it.
type deletions struct {
	record *kube.Record[lifecycle.State]
	state  lifecycle.State
	loaded bool
}

// load reads the record unless it is known.
func (d *deletions) load(ctx context.Context) error {
	if d.loaded {
		return nil
	}
	state, err := d.record.Load(ctx)
	if err != nil {
		return err
	}
	d.state, d.loaded = state, true
	return nil
}

// save writes the record if the state is new. What is there after an error is read again.
func (d *deletions) save(ctx context.Context, state lifecycle.State) error {
	if state.Equal(d.state) {
		return nil
	}
	if err := d.record.Save(ctx, state); err != nil {
		d.loaded = false
		return err
	}
	d.state = state
	return nil
}

// held is why nodes are kept for now whose instances seem gone.
type held string

const (
	heldNothingFound held = "nothing_found" // not one instance was found
	heldContradicted held = "contradicted"  // the cloud does not know nodes that are ready
	heldBudget       held = "budget"
	heldWitness      held = "witness" // something else in the cloud says that the instance is there, or can't be asked
	heldRecord       held = "record"  // the next leader would not know of the deletion
	heldUnanswered   held = "unanswered"
)

// allHeld are the values of held.
func allHeld() []held {
	return []held{heldNothingFound, heldContradicted, heldBudget, heldWitness, heldRecord, heldUnanswered}
}

// expire deletes nodes whose instances are gone.
func (c *Controller) expire(ctx context.Context) error {
	if c.cfg.Deletion == nil {
		return nil
	}
	sightings, err := c.sightings()
	if err != nil {
		return err
	}
	kept := map[held]int{}
	defer func() { c.metrics.expiry(kept, c.round.fault) }()
	if c.round.fault {
		c.log.Error("not one instance of the nodes was found, none is deleted; check the gateway's credentials and region", "nodes", len(sightings))
		kept[heldNothingFound] = c.keepSilent("Not one instance of the nodes was found; check the credentials and the region of the gateway")
		return nil
	}
	kept[heldUnanswered] = c.keepUnclear(sightings)
	isAbsent := func(s lifecycle.Sighting) bool { return s.Answer == lifecycle.Absent }
	if c.deletions.loaded && c.deletions.state.Empty() && !slices.ContainsFunc(sightings, isAbsent) {
		return nil
	}
	if err := c.deletions.load(ctx); err != nil {
		kept[heldRecord] = c.keepSilent("Nodes are not deleted, for the next leader would not know of it: " + err.Error())
		return fmt.Errorf("read what earlier leaders did: %w", err)
	}
	now := time.Now()
	verdict, state := lifecycle.Decide(now, sightings, c.deletions.state, *c.cfg.Deletion)
	if verdict.Fault {
		c.log.Error("the cloud does not know the instances of nodes that are ready, no node is deleted", "nodes", verdict.Contradicted)
		kept[heldContradicted] = c.keepSilent(fmt.Sprintf("The cloud does not know the instances of %d nodes that are ready, so that its answers "+
			"are no evidence; check the gateway's credentials and region", verdict.Contradicted))
	}
	state, pending := c.refund(ctx, now, sightings, state)
	confirmed := c.agreed(ctx, c.inTurn(verdict.Confirmed, pending), kept)
	remove, deferred, state := lifecycle.Spend(now, confirmed, sightings, state, *c.cfg.Deletion)
	if err := c.deletions.save(ctx, state); err != nil {
		kept[heldRecord] = c.keepSilent("Nodes are not deleted, for the next leader would not know of it: " + err.Error())
		return fmt.Errorf("record what the next leader has to know: %w", err)
	}
	if kept[heldBudget] = len(deferred); len(deferred) > 0 {
		c.log.Warn("deletion of nodes put off, too many were deleted lately", "nodes", len(deferred), "first", deferred[0])
		c.warnAll(deferred, "The instance is gone, but too many nodes were deleted lately; the node is deleted later")
	}
	c.round.confirm = slices.Concat(verdict.Waiting, pending)
	for _, name := range remove {
		if err := c.deleteNode(ctx, name); err != nil {
			c.log.Warn("node is not deleted", "node", name, "error", err)
			c.fail(name, eventDeleteFailed, err)
			if c.round.failed[name].IsZero() { // Else the next sweep is soon enough.
				c.round.confirm = append(c.round.confirm, name)
			}
			c.round.failed[name] = now
		}
	}
	if len(c.round.confirm) > 0 {
		c.sweeps.AddAfter(confirmKey, reconcile.Periodic, c.cfg.Deletion.ConfirmAfter)
	}
	return nil
}

// refund takes back what was counted for deletions that failed, or whose leader died before: a live read finds their nodes there still. It gives
// the names of the other nodes that were counted, of which that is not certain yet: a request without an answer may be under way for a while.
func (c *Controller) refund(ctx context.Context, now time.Time, sightings []lifecycle.Sighting, state lifecycle.State) (lifecycle.State, []string) {
	var pending []string
	for _, s := range sightings {
		switch at, counted := state.Charged[s.Key()]; {
		case !counted:
		case now.Sub(at) >= c.cfg.Deletion.ConfirmAfter && c.isThere(ctx, s):
			state = state.Refund(s.Key())
		default:
			pending = append(pending, s.Node)
		}
	}
	return state, pending
}

// inTurn orders the nodes that may be deleted, without those whose deletion is pending. Those whose deletion failed come last, and of them those
// whose failure is the longest ago come first, so that nodes which can't be deleted keep no others.
func (c *Controller) inTurn(names, pending []string) []string {
	maps.DeleteFunc(c.round.failed, func(name string, _ time.Time) bool { return !slices.Contains(names, name) })
	names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(pending, name) })
	slices.SortStableFunc(names, func(a, b string) int { return c.round.failed[a].Compare(c.round.failed[b]) })
	return names
}

// agreed gives those of the nodes without instances that nothing else in the cloud speaks for: the gateway works in the region of the
// nodes, and no network interface of an instance has the address of its node.
func (c *Controller) agreed(ctx context.Context, names []string, kept map[held]int) []string {
	if len(names) == 0 {
		return nil
	}
	alive, err := c.interfacesOf(gateway.WithPriority(ctx, gateway.Deletion), names)
	if err != nil {
		kept[heldWitness] = len(names)
		c.log.Warn("nodes without instances are kept, a second witness can't be asked", "nodes", len(names), "error", err)
		for _, name := range names[:min(len(names), maxEvents)] {
			c.fail(name, eventDeleteFailed, fmt.Errorf("the instance seems gone, and the node stays until that is certain: %w", err))
		}
		return nil
	}
	agreed := make([]string, 0, len(names))
	for _, name := range names {
		eni, ok := alive[name]
		if !ok {
			agreed = append(agreed, name)
			continue
		}
		kept[heldWitness]++
		if kept[heldWitness] <= maxEvents {
			c.warn(name, eventDeleteFailed, "The cloud does not list the instance, but its network interface "+eni+" exists; the node stays")
		}
	}
	return agreed
}

// interfacesOf finds the network interfaces of the instances of nodes by the addresses of the nodes, which is another answer of the cloud
// than the list of instances. Nodes whose instances were found lately are asked about as well: an answer without any of their interfaces is
// no evidence.
func (c *Controller) interfacesOf(ctx context.Context, names []string) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	capabilities, err := c.cfg.Gateway.Capabilities.GetCapabilities(ctx, &commonv1.GetCapabilitiesRequest{})
	if err != nil {
		return nil, fmt.Errorf("ask the gateway for its region: %w", err)
	}
	if region := capabilities.GetRegionId(); region != "" && region != c.cfg.Region {
		return nil, fmt.Errorf("the gateway works in region %s, and this controller for %s", region, c.cfg.Region)
	}
	suspects := c.addressed(names)
	if len(suspects) == 0 {
		return nil, nil
	}
	witnesses := c.addressed(c.round.witnesses(names))
	all := slices.Concat(suspects, witnesses)
	addresses := make([]string, len(all))
	for i, of := range all {
		addresses[i] = of.address
	}
	vpc, err := c.cfg.Gateway.VPC(ctx, c.cfg.VPCID)
	if err != nil {
		return nil, err
	}
	resp, err := c.cfg.Gateway.NetworkInterfaces.BatchGetNetworkInterfaces(ctx,
		&ecsv1.BatchGetNetworkInterfacesRequest{VpcId: vpc, IpAddresses: addresses})
	if err != nil {
		return nil, fmt.Errorf("find the network interfaces of %d nodes: %w", len(addresses), err)
	}
	if len(resp.GetResults()) != len(addresses) {
		return nil, fmt.Errorf("gateway answered %d results for %d addresses", len(resp.GetResults()), len(addresses))
	}
	alive := map[string]string{}
	for i, result := range resp.GetResults() {
		err := rpcerr.FromItem(result.GetError())
		switch eni := result.GetNetworkInterface(); {
		case eni != nil && eni.GetInstanceId() == all[i].instance:
			alive[all[i].node] = eni.GetNetworkInterfaceId()
		case eni != nil || rpcerr.ReasonOf(err) == rpcerr.NetworkInterfaceNotFound || i >= len(suspects):
		case err == nil:
			return nil, errors.New("gateway answered neither a network interface nor an error")
		default:
			return nil, err
		}
	}
	found := func(w addressed) bool { return alive[w.node] != "" }
	if len(witnesses) > 0 && !slices.ContainsFunc(witnesses, found) {
		return nil, fmt.Errorf("the cloud does not list the network interfaces of nodes whose instances are there, such as %s", witnesses[0].node)
	}
	return alive, nil
}

// addressed is a node with its instance and its internal IPv4 address.
type addressed struct{ node, instance, address string }

// addressed gives those of the nodes that have an address. The kubelet may have written anything, and what is no address the gateway would refuse
// together with those of all other nodes.
func (c *Controller) addressed(names []string) []addressed {
	list := make([]addressed, 0, len(names))
	for _, name := range names {
		node, err := c.nodes.Get(name)
		if err != nil {
			continue // It is gone already.
		}
		id, _ := c.ours(node)
		for _, a := range node.Status.Addresses {
			if ip, err := netip.ParseAddr(a.Address); a.Type == corev1.NodeInternalIP && err == nil && ip.Is4() {
				list = append(list, addressed{name, id.InstanceID, a.Address})
				break
			}
		}
	}
	return list
}

// unanswered reports that the instances of nodes can't be read.
func (c *Controller) unanswered(err error) {
	if c.cfg.Deletion == nil {
		return
	}
	c.metrics.expiry(map[held]int{heldUnanswered: c.silent(func(name string) { c.failUnclear(name, err) })}, c.round.fault)
}

// keepUnclear reports to silent nodes that their instances in particular can't be read, and counts them.
func (c *Controller) keepUnclear(sightings []lifecycle.Sighting) int {
	unclear := 0
	for _, s := range sightings {
		if !s.Silent || s.Answer != lifecycle.Unclear {
			continue
		}
		if unclear++; unclear <= maxEvents {
			c.failUnclear(s.Node, c.round.answers[identity{s.Node, types.UID(s.UID)}].err)
		}
	}
	return unclear
}

func (c *Controller) failUnclear(node string, err error) {
	c.fail(node, eventDeleteFailed, fmt.Errorf("whether the instance exists can't be found out: %w", err))
}

// keepSilent warns on the silent nodes why they are not deleted, and counts them.
func (c *Controller) keepSilent(message string) int {
	return c.silent(func(name string) { c.warn(name, eventDeleteFailed, message) })
}

// silent calls report for the first of the silent nodes, and counts all of them.
func (c *Controller) silent(report func(name string)) int {
	all, err := c.nodes.List(labels.Everything())
	if err != nil {
		return 0
	}
	var names []string
	for _, node := range all {
		if nodes.Silent(node) && c.sweepable(node) {
			names = append(names, node.Name)
		}
	}
	slices.Sort(names)
	for _, name := range names[:min(len(names), maxEvents)] {
		report(name)
	}
	return len(names)
}

// warnAll warns on the first of some nodes why they are not deleted.
func (c *Controller) warnAll(names []string, message string) {
	for _, name := range names[:min(len(names), maxEvents)] {
		c.warn(name, eventDeleteFailed, message)
	}
}
