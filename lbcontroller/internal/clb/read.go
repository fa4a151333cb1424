package clb

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"unique"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/observe"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
)

// ours is what the names of all vServer groups made for a Service begin with.
const ours = "k8s/"

// Read implements observe.Reader.
func (p Product) Read(ctx context.Context, id string, e observe.Extent) (model.Observed, error) {
	switch {
	case e.View == observe.Servers && e.User != nil:
		return p.groups(ctx, id, *e.User)
	case e.User != nil:
		return p.reused(ctx, id, *e.User)
	}
	request := &slbv1.GetLoadBalancerRequest{LoadBalancerId: id, View: slbv1.View_VIEW_FULL}
	switch e.View {
	case observe.Basic:
		request.View = slbv1.View_VIEW_BASIC
	case observe.Config, observe.Full, observe.Servers:
		request.ServerGroupNamePrefixes = []string{ours}
	case observe.Whole:
	}
	found, _, err := p.get(ctx, request)
	return found, err
}

// Locked implements lb.Product.
func (p Product) Locked(ctx context.Context, id string) (bool, error) {
	answer, err := p.Gateway.LoadBalancers.GetLoadBalancer(ctx, &slbv1.GetLoadBalancerRequest{LoadBalancerId: id, View: slbv1.View_VIEW_BASIC})
	return answer.GetLoadBalancer().GetStatus() == "locked", err
}

// isStarting is the status of a listener between its start and the first connection.
const isStarting = "starting"

// Starting implements lb.Starter.
func (p Product) Starting(ctx context.Context, id string) ([]model.ListenerKey, error) {
	answer, err := p.Gateway.Listeners.ListListeners(ctx, &slbv1.ListListenersRequest{LoadBalancerIds: []string{id}})
	var keys []model.ListenerKey
	for _, l := range answer.GetListeners() {
		if l.GetStatus() == isStarting {
			keys = append(keys, listener(l).Key)
		}
	}
	return keys, err
}

// Complete implements observe.Reader.
func (p Product) Complete(ctx context.Context, found *model.Observed, want *model.Desired) error {
	if err := p.addWantedDefault(ctx, found, want.Groups); err != nil {
		return err
	}
	return p.readExtensions(ctx, found, plan.Unread(want, *found))
}

// Search implements observe.Reader.
func (p Product) Search(ctx context.Context, q observe.Query) ([]model.Observed, error) {
	request := &slbv1.ListLoadBalancersRequest{Name: q.Name}
	if q.Tag != "" {
		request.Tags = []*commonv1.Tag{{Key: q.Tag, Value: q.Value}}
	}
	answer, err := p.Gateway.LoadBalancers.ListLoadBalancers(ctx, request)
	if err != nil {
		return nil, err
	}
	list := make([]model.Observed, len(answer.GetLoadBalancers()))
	for i, lb := range answer.GetLoadBalancers() {
		list[i] = model.Observed{InstanceID: lb.GetLoadBalancerId(), Instance: lb}
	}
	return list, nil
}

// reused reads a user's instance with its listeners, and its vServer groups so far as they concern the Service: many Services may
// share an instance.
func (p Product) reused(ctx context.Context, id string, parts observe.Parts) (model.Observed, error) {
	found, others, err := p.get(ctx, &slbv1.GetLoadBalancerRequest{
		LoadBalancerId: id, View: slbv1.View_VIEW_FULL,
		ServerGroupIds:          slices.DeleteFunc(slices.Clone(parts.IDs), func(id string) bool { return id == defaultGroup }),
		ServerGroupNamePrefixes: append(slices.Clone(parts.Names), parts.Owner.Group("0")), // No group has it, and no selection is all.
	})
	if err != nil {
		return model.Observed{}, err
	}
	found.Reused = true
	for _, g := range others {
		if parts.Owner.Owns(g.GetName()) {
			if err := p.addGroup(ctx, &found, g.GetServerGroupId()); err != nil {
				return model.Observed{}, err
			}
			delete(found.OtherGroups, g.GetServerGroupId())
		}
	}
	if slices.Contains(parts.IDs, defaultGroup) {
		err = p.addDefault(ctx, &found)
	}
	return found, err
}

// get reads an instance. A vServer group whose servers weren't read is no part of the result.
func (p Product) get(ctx context.Context, request *slbv1.GetLoadBalancerRequest) (found model.Observed,
	others []*slbv1.ServerGroup, err error) {
	answer, err := p.Gateway.LoadBalancers.GetLoadBalancer(ctx, request)
	if err != nil {
		return model.Observed{}, nil, fmt.Errorf("read CLB %s: %w", request.GetLoadBalancerId(), err)
	}
	lb := answer.GetLoadBalancer()
	result := model.Observed{InstanceID: lb.GetLoadBalancerId(), ConfigKnown: request.GetView() == slbv1.View_VIEW_FULL, Instance: lb}
	for _, l := range lb.GetListeners() {
		result.Listeners = append(result.Listeners, listener(l))
	}
	for _, g := range lb.GetServerGroups() {
		if g.GetServersLoaded() {
			result.Groups = append(result.Groups, group(g))
			continue
		}
		others = append(others, g)
		if result.OtherGroups == nil {
			result.OtherGroups = map[string]string{}
		}
		result.OtherGroups[g.GetServerGroupId()] = g.GetName()
	}
	// The parts live on their own; one copy of them is enough.
	lb.Listeners, lb.ServerGroups = nil, nil
	return result, others, nil
}

// readExtensions reads the further certificates of listeners.
func (p Product) readExtensions(ctx context.Context, found *model.Observed, keys []model.ListenerKey) error {
	for i := range found.Listeners {
		l := &found.Listeners[i]
		if !slices.Contains(keys, l.Key) {
			continue
		}
		answer, err := p.Gateway.DomainExtensions.ListDomainExtensions(ctx, &slbv1.ListDomainExtensionsRequest{
			Key: &slbv1.ListenerKey{LoadBalancerId: found.InstanceID, Port: l.Key.Port, Protocol: slbv1.Protocol(l.Key.Protocol)},
		})
		if err != nil {
			return fmt.Errorf("read the domain extensions of listener %d: %w", l.Key.Port, err)
		}
		l.Further = []model.FurtherCertificates{}
		for _, e := range answer.GetDomainExtensions() {
			l.Further = append(l.Further, model.FurtherCertificates{ID: e.GetDomainExtensionId(), Domain: e.GetDomain(),
				Certificates: oneOrNone(e.GetServerCertificateId())})
		}
	}
	return nil
}

// addGroup reads a vServer group with its servers.
func (p Product) addGroup(ctx context.Context, to *model.Observed, id string) error {
	answer, err := p.Gateway.ServerGroups.GetServerGroup(ctx, &slbv1.GetServerGroupRequest{ServerGroupId: id})
	if err != nil {
		return fmt.Errorf("read vServer group %s: %w", id, err)
	}
	to.Groups = append(to.Groups, group(answer.GetServerGroup()))
	return nil
}

// groups reads only the vServer groups on an instance that concern a Service: two calls where there is one group. The
// cloud has no way to read servers of several groups at once. To note the ids of the groups on the Service would save
// the list, but no time, since each action has a budget of its own, and groups that are left over would go unseen.
func (p Product) groups(ctx context.Context, id string, parts observe.Parts) (model.Observed, error) {
	list, err := p.Gateway.ServerGroups.ListServerGroups(ctx, &slbv1.ListServerGroupsRequest{LoadBalancerId: id})
	if err != nil {
		return model.Observed{}, fmt.Errorf("list the vServer groups of CLB %s: %w", id, err)
	}
	result := model.Observed{InstanceID: id}
	for _, g := range list.GetServerGroups() {
		if !parts.Owner.Owns(g.GetName()) && !slices.Contains(parts.IDs, g.GetServerGroupId()) {
			continue
		}
		if err := p.addGroup(ctx, &result, g.GetServerGroupId()); err != nil {
			return model.Observed{}, err
		}
	}
	if slices.Contains(parts.IDs, defaultGroup) {
		if err := p.addDefault(ctx, &result); err != nil {
			return model.Observed{}, err
		}
	}
	return result, nil
}

func listener(l *slbv1.Listener) model.Listener {
	config := l.GetConfig()
	if config == nil {
		config = &slbv1.ListenerConfig{}
	}
	return model.Listener{
		Key:     model.ListenerKey{Port: l.GetKey().GetPort(), Protocol: model.Protocol(l.GetKey().GetProtocol())},
		LeadsTo: config.GetForwardPort(),
		Config:  config,
		Stopped: l.GetStatus() == "stopped", Starting: l.GetStatus() == isStarting,
		Tags: l.GetTags(),
	}
}

func group(g *slbv1.ServerGroup) model.Group {
	result := model.Group{ID: g.GetServerGroupId(), Name: g.GetName()}
	// What is remembered of thousands of Services names the same nodes again and again.
	shared := func(text string) string { return unique.Make(text).Value() }
	result.Servers = make([]model.Server, 0, len(g.GetServers()))
	for _, s := range g.GetServers() {
		key := model.ServerKey{Type: model.ServerType(s.GetType()), ID: shared(s.GetServerId()), Port: s.GetPort()}
		if s.GetType() != slbv1.ServerType_SERVER_TYPE_ECS {
			key.IP = shared(s.GetServerIp())
		}
		result.Servers = append(result.Servers, model.Server{ServerKey: key, Weight: s.GetWeight(), Description: shared(s.GetDescription())})
	}
	slices.SortFunc(result.Servers, func(a, b model.Server) int { return cmp.Or(a.Compare(b), cmp.Compare(a.Description, b.Description)) })
	return result
}
