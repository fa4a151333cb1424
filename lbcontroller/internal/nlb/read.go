package nlb

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
	"unique"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/observe"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
	"alicloud-controllers.dev/lbcontroller/internal/readiness"
)

// retryProvisioning is when an NLB is looked at again that is being made.
const retryProvisioning = 10 * time.Second

// Read implements observe.Reader. Server groups are found by the mark of the Service that they bear, which the NLB
// bears, too, by their ids, or because a listener uses them. Without an id there is no NLB, but maybe server groups.
func (p Product) Read(ctx context.Context, id string, e observe.Extent) (model.Observed, error) {
	var parts observe.Parts
	found := model.Observed{InstanceID: id}
	if id != "" {
		lb, err := p.balancer(ctx, id)
		if err != nil {
			return model.Observed{}, fmt.Errorf("read NLB %s: %w", id, err)
		}
		found.Instance = Balancer{LoadBalancer: lb}
		parts.Mark = cmp.Or(e.Mark, found.Tags()[ownership.TagService], lb.GetName())
	}
	if e.User != nil {
		parts = *e.User
	}
	if e.View == observe.Servers && e.User != nil {
		found.Instance = nil
		err := p.addGroups(ctx, &found, parts, nil, e.Known)
		return found, err
	}
	found.Reused = e.User != nil
	var used []string
	if e.View != observe.Basic {
		found.ConfigKnown = true
		var err error
		if found.Listeners, err = p.listeners(ctx, id); err != nil {
			return model.Observed{}, err
		}
		for _, l := range found.Listeners {
			used = append(used, l.GroupID())
		}
	}
	if e.View == observe.Config {
		err := p.addMarked(ctx, &found, e)
		return found, err
	}
	if e.View == observe.Whole {
		parts.IDs = slices.Concat(parts.IDs, used)
	}
	if err := p.addGroups(ctx, &found, parts, used, e.Known); err != nil {
		return model.Observed{}, err
	}
	return found, nil
}

// balancer reads an NLB. One that is being made can't be worked with yet, and one that could not be made is none.
func (p Product) balancer(ctx context.Context, id string) (*nlbv1.LoadBalancer, error) {
	answer, err := p.Gateway.NetworkLoadBalancers.GetLoadBalancer(ctx, &nlbv1.GetLoadBalancerRequest{LoadBalancerId: id})
	if err != nil {
		return nil, err
	}
	lb := answer.GetLoadBalancer()
	switch lb.GetStatus() {
	case nlbv1.LoadBalancerStatus_LOAD_BALANCER_STATUS_PROVISIONING:
		return nil, &observe.MakingError{ID: id, Err: rpcerr.Errorf(rpcerr.ResourceBusy,
			"the cloud is making it, which takes a while; it is looked at again").WithRetry(retryProvisioning)}
	case nlbv1.LoadBalancerStatus_LOAD_BALANCER_STATUS_CREATE_FAILED:
		return nil, rpcerr.Errorf(rpcerr.LoadBalancerNotFound, "the cloud could not make NLB %s", id)
	default:
		return lb, nil
	}
}

// Locked implements lb.Product.
func (p Product) Locked(ctx context.Context, id string) (bool, error) {
	lb, err := p.balancer(ctx, id)
	return lb.GetBusinessStatus() == nlbv1.BusinessStatus_BUSINESS_STATUS_LOCKED, err
}

func (p Product) listeners(ctx context.Context, id string) ([]model.Listener, error) {
	answer, err := p.Gateway.NetworkListeners.ListListeners(ctx, &nlbv1.ListListenersRequest{LoadBalancerIds: []string{id}})
	if err != nil {
		return nil, fmt.Errorf("list the listeners of NLB %s: %w", id, err)
	}
	var list []model.Listener
	for _, l := range answer.GetListeners() {
		key := model.ListenerKey{Port: cmp.Or(l.GetPort(), l.GetStartPort()), Protocol: protocolOf(l.GetProtocol()), End: l.GetEndPort()}
		config := l.GetConfig()
		if config == nil {
			config = &nlbv1.ListenerConfig{}
		}
		list = append(list, model.Listener{
			Key: key, ID: l.GetListenerId(), Config: config, Stopped: l.GetStatus() == nlbv1.ListenerStatus_LISTENER_STATUS_STOPPED,
			Tags: l.GetTags(),
		})
	}
	return list, nil
}

func protocolOf(p nlbv1.ListenerProtocol) model.Protocol {
	switch p {
	case nlbv1.ListenerProtocol_LISTENER_PROTOCOL_TCP:
		return model.TCP
	case nlbv1.ListenerProtocol_LISTENER_PROTOCOL_UDP:
		return model.UDP
	case nlbv1.ListenerProtocol_LISTENER_PROTOCOL_TCPSSL:
		return model.TCPSSL
	default:
		return 0
	}
}

// addGroups reads the server groups that concern a Service, and the names of the others that are used. The servers of
// one that is known aren't read where there are as many.
func (p Product) addGroups(ctx context.Context, to *model.Observed, parts observe.Parts, used []string,
	known []model.Group) error {
	var list []*nlbv1.ServerGroup
	add := func(request *nlbv1.ListServerGroupsRequest) error {
		answer, err := p.Gateway.NetworkServerGroups.ListServerGroups(ctx, request)
		if err != nil {
			return fmt.Errorf("list server groups: %w", err)
		}
		list = append(list, answer.GetServerGroups()...)
		return nil
	}
	if parts.Mark != "" {
		if err := add(&nlbv1.ListServerGroupsRequest{Tags: []*commonv1.Tag{{Key: ownership.TagService, Value: parts.Mark}}}); err != nil {
			return err
		}
	}
	isKnown := func(id string) bool {
		return id == "" || slices.ContainsFunc(list, func(g *nlbv1.ServerGroup) bool { return g.GetServerGroupId() == id })
	}
	named := slices.DeleteFunc(slices.Concat(parts.IDs, used), isKnown)
	marked := len(list)
	if len(named) > 0 {
		slices.Sort(named)
		if err := add(&nlbv1.ListServerGroupsRequest{ServerGroupIds: slices.Compact(named)}); err != nil {
			return err
		}
	}
	for i, g := range list {
		id := g.GetServerGroupId()
		if i >= marked && !slices.Contains(parts.IDs, id) {
			if to.OtherGroups == nil {
				to.OtherGroups = map[string]string{}
			}
			to.OtherGroups[id] = g.GetName()
			continue
		}
		isUnchanged := func(k model.Group) bool { return k.ID == id && len(k.Servers) == int(g.GetServerCount()) }
		if at := slices.IndexFunc(known, isUnchanged); at >= 0 {
			there := group(g)
			there.Servers = known[at].Servers
			to.Groups = append(to.Groups, there)
			continue
		}
		read, isThere, err := p.group(ctx, id)
		if err != nil {
			return err
		}
		if isThere {
			to.Groups = append(to.Groups, group(read))
		}
	}
	return nil
}

// addMarked reads some server groups by their ids. One that doesn't bear the mark of the Service is none.
func (p Product) addMarked(ctx context.Context, to *model.Observed, e observe.Extent) error {
	for _, id := range e.Groups {
		read, isThere, err := p.group(ctx, id)
		if err != nil {
			return err
		}
		isMarked := slices.ContainsFunc(read.GetTags(), func(t *commonv1.Tag) bool {
			return t.GetKey() == ownership.TagService && t.GetValue() == e.Mark
		})
		if isThere && isMarked {
			to.Groups = append(to.Groups, group(read))
		}
	}
	return nil
}

// group reads a server group with its servers. It isn't there if it has gone meanwhile.
func (p Product) group(ctx context.Context, id string) (g *nlbv1.ServerGroup, isThere bool, err error) {
	answer, err := p.Gateway.NetworkServerGroups.GetServerGroup(ctx, &nlbv1.GetServerGroupRequest{ServerGroupId: id})
	switch {
	case rpcerr.IsNotFound(err):
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("read server group %s: %w", id, err)
	}
	return answer.GetServerGroup(), true, nil
}

// group returns a server group as the engine knows it.
func group(g *nlbv1.ServerGroup) model.Group {
	config := &nlbv1.CreateServerGroupRequest{
		Type: cmp.Or(g.GetType(), nlbv1.ServerGroupType_SERVER_GROUP_TYPE_INSTANCE), Protocol: cmp.Or(g.GetProtocol(),
			nlbv1.ServerGroupProtocol_SERVER_GROUP_PROTOCOL_TCP),
		IpVersion: cmp.Or(g.GetIpVersion(), nlbv1.IpVersion_IP_VERSION_IPV4), AnyPortEnabled: g.GetAnyPortEnabled(),
		ResourceGroupId: g.GetResourceGroupId(), IpVersionAffinity: g.GetIpVersionAffinity(),
		Scheduler: new(schedulerWord(g.GetScheduler())), ConnectionDrainEnabled: new(g.GetConnectionDrainEnabled()),
		ConnectionDrainTimeout:  new(g.GetConnectionDrainTimeout()),
		PreserveClientIpEnabled: new(g.GetPreserveClientIpEnabled()), HealthCheck: g.GetHealthCheck(),
	}
	result := model.Group{ID: g.GetServerGroupId(), Name: g.GetName(), Shape: fixedOf(config), Config: config}
	// What is remembered of thousands of Services names the same nodes again and again.
	shared := func(text string) string { return unique.Make(text).Value() }
	result.Servers = make([]model.Server, 0, len(g.GetServers()))
	for _, s := range g.GetServers() {
		key := model.ServerKey{Type: model.ServerType(s.GetType()), ID: shared(s.GetServerId()), Port: s.GetPort()}
		switch s.GetType() {
		case nlbv1.ServerType_SERVER_TYPE_ECS:
		case nlbv1.ServerType_SERVER_TYPE_IP:
			key.IP = key.ID
		default:
			key.IP = shared(s.GetServerIp())
		}
		result.Servers = append(result.Servers, model.Server{ServerKey: key, Weight: s.GetWeight(), Description: shared(s.GetDescription())})
	}
	slices.SortFunc(result.Servers, func(a, b model.Server) int { return cmp.Or(a.Compare(b), cmp.Compare(a.Description, b.Description)) })
	return result
}

// Complete implements observe.Reader.
func (p Product) Complete(ctx context.Context, found *model.Observed, want *model.Desired) error {
	if err := p.readGroups(ctx, found, want); err != nil {
		return err
	}
	unread := plan.Unread(want, *found)
	for i := range found.Listeners {
		l := &found.Listeners[i]
		if !slices.Contains(unread, l.Key) {
			continue
		}
		answer, err := p.Gateway.NetworkListeners.ListListenerCertificates(ctx, &nlbv1.ListListenerCertificatesRequest{ListenerId: l.ID})
		if err != nil {
			return fmt.Errorf("read the certificates of listener %s: %w", plan.KeyText(l.Key), err)
		}
		var ids []string
		for _, c := range answer.GetCertificates() {
			if !c.GetDefault() && !c.GetCa() {
				ids = append(ids, c.GetCertificateId())
			}
		}
		l.Further = together(ids)
	}
	return nil
}

// Search implements observe.Reader. An NLB that could not be made is none.
func (p Product) Search(ctx context.Context, q observe.Query) ([]model.Observed, error) {
	request := &nlbv1.ListLoadBalancersRequest{}
	if q.Name != "" {
		request.Names = []string{q.Name}
	}
	if q.Tag != "" {
		request.Tags = []*commonv1.Tag{{Key: q.Tag, Value: q.Value}}
	}
	answer, err := p.Gateway.NetworkLoadBalancers.ListLoadBalancers(ctx, request)
	if err != nil {
		return nil, err
	}
	var list []model.Observed
	for _, lb := range answer.GetLoadBalancers() {
		if lb.GetStatus() != nlbv1.LoadBalancerStatus_LOAD_BALANCER_STATUS_CREATE_FAILED {
			list = append(list, model.Observed{InstanceID: lb.GetLoadBalancerId(), Instance: Balancer{LoadBalancer: lb}})
		}
	}
	return list, nil
}

// Health implements lb.Product. The cloud names the servers that aren't healthy, listener by listener.
func (p Product) Health(ctx context.Context, there model.Observed) (map[model.ServerKey][]readiness.Health, error) {
	listeners := there.Listeners
	if !there.ConfigKnown {
		var err error
		if listeners, err = p.listeners(ctx, there.InstanceID); err != nil {
			return nil, err
		}
	}
	found := map[model.ServerKey][]readiness.Health{}
	for _, l := range listeners {
		i := slices.IndexFunc(there.Groups, func(g model.Group) bool { return g.ID == l.GroupID() })
		if i < 0 || l.ID == "" {
			continue
		}
		answer, err := p.Gateway.NetworkListeners.ListServerHealth(ctx, &nlbv1.ListServerHealthRequest{ListenerId: l.ID})
		if err != nil {
			return nil, err
		}
		for _, s := range there.Groups[i].Servers {
			key := s.ServerKey
			key.Type = 0
			found[key] = append(found[key], healthOf(key, answer.GetServers()))
		}
	}
	return found, nil
}

// healthOf is what a listener found of a server: it is good if the cloud doesn't name it.
func healthOf(server model.ServerKey, ill []*nlbv1.ServerHealth) readiness.Health {
	for _, h := range ill {
		if h.GetServerId() != server.ID || h.GetPort() != server.Port || server.IP != "" && h.GetServerIp() != "" &&
			h.GetServerIp() != server.IP {
			continue
		}
		if h.GetStatus() == "Unhealthy" {
			return readiness.Bad
		}
		return readiness.Unknown
	}
	return readiness.Good
}
