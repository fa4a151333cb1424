// Package observe reads what the cloud holds for a Service. Every answer is complete or an error.
package observe

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"unique"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
)

// ours is what the names of all vServer groups made for a Service begin with.
const ours = "k8s/"

// Observer reads through the gateway.
type Observer struct{ Client *gateway.Client }

// Hint is what is known about the instance of a Service.
type Hint struct {
	// RecordedID is the id written on the Service. Labels can be copied, so the instance must prove to be ours.
	RecordedID string
	// Addresses are the published ones, which only the API server's status can hold.
	Addresses []string
	// DefaultName is the name and tag that a creation gives.
	DefaultName string
	// ClusterID is in another tag that a creation gives.
	ClusterID string
	// Users are the ids of instances that the Service takes for a user's. Only the tag of a creation proves such a one to be ours.
	Users []string
}

// owns reports whether an instance was created for the Service: by its tag, or, if that was removed, by another mark together
// with the published address. The address alone proves nothing: a Service of the existing CCM may publish that of a user's instance.
func (h Hint) owns(found model.Observed) bool {
	tags := found.Tags()
	if h.belongsElsewhere(tags) {
		return false
	}
	if _, ok := tags[ownership.TagService]; ok {
		return true
	}
	return h.publishes(found) && (found.Instance.GetName() == h.DefaultName || tags[ownership.TagCluster] != "")
}

// belongsElsewhere reports whether a user made an instance, or another Service or cluster has it: a cluster that was restored from this
// one's backup has Services with the same UIDs. Instances of old versions of the existing CCM name no cluster.
func (h Hint) belongsElsewhere(tags map[string]string) bool {
	_, reused := tags[ownership.TagReused]
	cluster, named := tags[ownership.TagCluster]
	service, made := tags[ownership.TagService]
	return reused || named && cluster != h.ClusterID || made && service != h.DefaultName
}

// takesForUsers reports whether a user has made an instance his own, say by taking our tags off: it may still bear the default name.
func (h Hint) takesForUsers(found model.Observed) bool {
	return slices.Contains(h.Users, found.InstanceID) && found.Tags()[ownership.TagService] != h.DefaultName
}

func (h Hint) publishes(found model.Observed) bool {
	return slices.Contains(h.Addresses, found.Instance.GetAddress())
}

// Full reads an instance of a Service's own with its listeners and those of its vServer groups that may be ours.
func (o Observer) Full(ctx context.Context, id string) (model.Observed, error) {
	found, _, err := o.get(ctx, &slbv1.GetLoadBalancerRequest{
		LoadBalancerId: id, View: slbv1.View_VIEW_FULL, ServerGroupNamePrefixes: []string{ours},
	})
	return found, err
}

// Whole reads an instance with its listeners and all its vServer groups.
func (o Observer) Whole(ctx context.Context, id string) (model.Observed, error) {
	found, _, err := o.get(ctx, &slbv1.GetLoadBalancerRequest{LoadBalancerId: id, View: slbv1.View_VIEW_FULL})
	return found, err
}

// Parts are the vServer groups on a user's instance that concern a Service.
type Parts struct {
	// Owner has those that bear its name.
	Owner ownership.Owner
	// Names are the names that are expected among these: they save calls.
	Names []string
	// IDs are those of the user's that are or were filled, model.DefaultGroup among them.
	IDs []string
}

// Reused reads a user's instance with its listeners, and its vServer groups so far as they concern the Service: many Services may
// share an instance.
func (o Observer) Reused(ctx context.Context, id string, parts Parts) (model.Observed, error) {
	found, others, err := o.get(ctx, &slbv1.GetLoadBalancerRequest{
		LoadBalancerId: id, View: slbv1.View_VIEW_FULL,
		ServerGroupIds:          slices.DeleteFunc(slices.Clone(parts.IDs), func(id string) bool { return id == model.DefaultGroup }),
		ServerGroupNamePrefixes: append(slices.Clone(parts.Names), parts.Owner.Group("0")), // No group has it, and no selection is all.
	})
	if err != nil {
		return model.Observed{}, err
	}
	found.Reused = true
	for _, g := range others {
		if parts.Owner.Owns(g.GetName()) {
			if err := o.addGroup(ctx, &found, g.GetServerGroupId()); err != nil {
				return model.Observed{}, err
			}
			delete(found.OtherGroups, g.GetServerGroupId())
		}
	}
	if slices.Contains(parts.IDs, model.DefaultGroup) {
		err = o.addDefault(ctx, &found)
	}
	return found, err
}

// Default reads the default server group, too, if it is among the wanted ones.
func (o Observer) Default(ctx context.Context, found *model.Observed, wanted []model.Group) error {
	if found.InstanceID == "" || !slices.ContainsFunc(wanted, func(g model.Group) bool { return g.ID == model.DefaultGroup }) {
		return nil
	}
	return o.addDefault(ctx, found)
}

func (o Observer) addDefault(ctx context.Context, to *model.Observed) error {
	answer, err := o.Client.ServerGroups.GetDefaultServerGroup(ctx, &slbv1.GetDefaultServerGroupRequest{LoadBalancerId: to.InstanceID})
	if err != nil {
		return fmt.Errorf("read the default server group of CLB %s: %w", to.InstanceID, err)
	}
	g := &slbv1.ServerGroup{ServerGroupId: model.DefaultGroup, Name: model.DefaultGroup}
	for _, s := range answer.GetServers() {
		g.Servers = append(g.Servers, &slbv1.Server{
			Type: s.GetType(), ServerId: s.GetServerId(), ServerIp: s.GetServerIp(), Weight: s.GetWeight(), Description: s.GetDescription(),
		})
	}
	to.Groups = append(to.Groups, group(g))
	return nil
}

// get reads an instance. A vServer group whose servers weren't read is no part of the result.
func (o Observer) get(ctx context.Context, request *slbv1.GetLoadBalancerRequest) (found model.Observed, others []*slbv1.ServerGroup, err error) {
	answer, err := o.Client.LoadBalancers.GetLoadBalancer(ctx, request)
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

// Extensions reads the further certificates of listeners.
func (o Observer) Extensions(ctx context.Context, found *model.Observed, keys []model.ListenerKey) error {
	for i := range found.Listeners {
		l := &found.Listeners[i]
		if !slices.Contains(keys, l.Key) {
			continue
		}
		answer, err := o.Client.DomainExtensions.ListDomainExtensions(ctx, &slbv1.ListDomainExtensionsRequest{
			Key: &slbv1.ListenerKey{LoadBalancerId: found.InstanceID, Port: l.Key.Port, Protocol: l.Key.Protocol},
		})
		if err != nil {
			return fmt.Errorf("read the domain extensions of listener %d: %w", l.Key.Port, err)
		}
		l.Extensions = []model.Extension{}
		for _, e := range answer.GetDomainExtensions() {
			l.Extensions = append(l.Extensions, model.Extension{ID: e.GetDomainExtensionId(), Domain: e.GetDomain(), Certificate: e.GetServerCertificateId()})
		}
	}
	return nil
}

// addGroup reads a vServer group with its servers.
func (o Observer) addGroup(ctx context.Context, to *model.Observed, id string) error {
	answer, err := o.Client.ServerGroups.GetServerGroup(ctx, &slbv1.GetServerGroupRequest{ServerGroupId: id})
	if err != nil {
		return fmt.Errorf("read vServer group %s: %w", id, err)
	}
	to.Groups = append(to.Groups, group(answer.GetServerGroup()))
	return nil
}

// Groups reads only the vServer groups on an instance that concern a Service: two calls where there is one group. The cloud has no way to read
// servers of several groups at once. To note the ids of the groups on the Service would save the list, but no time, since each action
// has a budget of its own, and groups that are left over would go unseen.
func (o Observer) Groups(ctx context.Context, id string, parts Parts) (model.Observed, error) {
	list, err := o.Client.ServerGroups.ListServerGroups(ctx, &slbv1.ListServerGroupsRequest{LoadBalancerId: id})
	if err != nil {
		return model.Observed{}, fmt.Errorf("list the vServer groups of CLB %s: %w", id, err)
	}
	result := model.Observed{InstanceID: id}
	for _, g := range list.GetServerGroups() {
		if !parts.Owner.Owns(g.GetName()) && !slices.Contains(parts.IDs, g.GetServerGroupId()) {
			continue
		}
		if err := o.addGroup(ctx, &result, g.GetServerGroupId()); err != nil {
			return model.Observed{}, err
		}
	}
	if slices.Contains(parts.IDs, model.DefaultGroup) {
		if err := o.addDefault(ctx, &result); err != nil {
			return model.Observed{}, err
		}
	}
	return result, nil
}

// Find looks for the instance of a Service: by the recorded id, by tag, by name. The result has no instance if there is none.
func (o Observer) Find(ctx context.Context, hint Hint, view slbv1.View) (model.Observed, error) {
	if hint.RecordedID != "" && !slices.Contains(hint.Users, hint.RecordedID) {
		found, err := o.read(ctx, hint.RecordedID, view)
		switch {
		case err == nil && hint.owns(found):
			return found, nil
		case err != nil && rpcerr.ReasonOf(err) != rpcerr.LoadBalancerNotFound:
			return model.Observed{}, err
		}
	}
	id, err := o.search(ctx, &slbv1.ListLoadBalancersRequest{Tags: []*commonv1.Tag{{Key: ownership.TagService, Value: hint.DefaultName}}})
	if err == nil && id == "" {
		id, err = o.search(ctx, &slbv1.ListLoadBalancersRequest{Name: hint.DefaultName})
	}
	if err != nil {
		return model.Observed{}, err
	}
	if id == "" {
		return model.Nothing(), nil
	}
	found, err := o.read(ctx, id, view)
	if err == nil && (hint.belongsElsewhere(found.Tags()) || hint.takesForUsers(found)) {
		return model.Nothing(), nil
	}
	return found, err
}

func (o Observer) read(ctx context.Context, id string, view slbv1.View) (model.Observed, error) {
	if view == slbv1.View_VIEW_FULL {
		return o.Full(ctx, id)
	}
	found, _, err := o.get(ctx, &slbv1.GetLoadBalancerRequest{LoadBalancerId: id, View: view})
	return found, err
}

// Serving reads the recorded instance to keep its servers right. If that isn't known to be the Service's own, but the one that the
// Service publishes, only its vServer groups are answered. The result has no instance if it is neither, or gone.
func (o Observer) Serving(ctx context.Context, hint Hint) (model.Observed, error) {
	found, err := o.Full(ctx, hint.RecordedID)
	switch {
	case rpcerr.ReasonOf(err) == rpcerr.LoadBalancerNotFound:
		return model.Nothing(), nil
	case err != nil:
		return model.Observed{}, err
	case hint.owns(found):
		return found, nil
	case hint.publishes(found):
		return model.Observed{InstanceID: found.InstanceID, Groups: found.Groups}, nil
	default:
		return model.Nothing(), nil
	}
}

func (o Observer) search(ctx context.Context, r *slbv1.ListLoadBalancersRequest) (string, error) {
	answer, err := o.Client.LoadBalancers.ListLoadBalancers(ctx, r)
	if err != nil {
		return "", fmt.Errorf("look for the CLB: %w", err)
	}
	var ids []string
	for _, lb := range answer.GetLoadBalancers() {
		ids = append(ids, lb.GetLoadBalancerId())
	}
	switch len(ids) {
	case 0:
		return "", nil
	case 1:
		return ids[0], nil
	}
	return "", fmt.Errorf("more than one CLB carries the mark of this Service: %v; remove tag %s from all but one", ids, ownership.TagService)
}

func listener(l *slbv1.Listener) model.Listener {
	config := l.GetConfig()
	if config == nil {
		config = &slbv1.ListenerConfig{}
	}
	return model.Listener{
		Key:     model.ListenerKey{Port: l.GetKey().GetPort(), Protocol: l.GetKey().GetProtocol()},
		Config:  config,
		Stopped: l.GetStatus() == "stopped",
	}
}

func group(g *slbv1.ServerGroup) model.Group {
	result := model.Group{ID: g.GetServerGroupId(), Name: g.GetName()}
	// What is remembered of thousands of Services names the same nodes again and again.
	shared := func(text string) string { return unique.Make(text).Value() }
	result.Servers = make([]model.Server, 0, len(g.GetServers()))
	for _, s := range g.GetServers() {
		key := model.ServerKey{Type: s.GetType(), ID: shared(s.GetServerId()), Port: s.GetPort()}
		if s.GetType() != slbv1.ServerType_SERVER_TYPE_ECS {
			key.IP = shared(s.GetServerIp())
		}
		result.Servers = append(result.Servers, model.Server{ServerKey: key, Weight: s.GetWeight(), Description: shared(s.GetDescription())})
	}
	slices.SortFunc(result.Servers, func(a, b model.Server) int { return cmp.Or(a.Compare(b), cmp.Compare(a.Description, b.Description)) })
	return result
}
