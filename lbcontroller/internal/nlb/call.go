package nlb

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"google.golang.org/protobuf/proto"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/lbcontroller/internal/lb/apply"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
)

// requestID is new each time: after a lost answer what was made is looked for, while a repeated id could be answered
// with what has been deleted since.
func requestID(prefix string) string { return prefix + rand.Text() }

// Call implements apply.Caller.
func (p Product) Call(ctx context.Context, w apply.Work, now model.Observed, action plan.Action) (plan.Result, error) {
	var err error
	id := now.InstanceID
	switch a := action.(type) {
	case CreateInstance:
		if err = p.checkGroups(ctx, now, a); err != nil {
			return plan.Result{}, err
		}
		return p.createInstance(ctx, w, a)
	case UpdateInstance:
		err = p.updateInstance(ctx, id, a)
	case plan.DeleteInstance:
		_, err = p.Gateway.NetworkLoadBalancers.DeleteLoadBalancer(ctx, &nlbv1.DeleteLoadBalancerRequest{LoadBalancerId: id})
	case plan.DeleteFailed:
		_, err = p.Gateway.NetworkLoadBalancers.DeleteLoadBalancer(ctx,
			&nlbv1.DeleteLoadBalancerRequest{LoadBalancerId: a.ID})
		if rpcerr.ReasonOf(err) == rpcerr.DeleteProtected {
			return plan.Result{Held: true}, nil
		}
	case plan.CreateGroup:
		return p.createGroup(ctx, w, now, a)
	case plan.UpdateGroup:
		_, err = p.Gateway.NetworkServerGroups.UpdateServerGroup(ctx, groupChange(a))
	case plan.ChangeServers:
		err = p.changeServers(ctx, a)
	case plan.DeleteGroup:
		return p.deleteGroup(ctx, a)
	case plan.CreateList, plan.ChangeList, plan.KeepList, plan.DeleteList:
		return p.callList(ctx, w, a)
	case plan.CreateListener:
		return p.createListener(ctx, id, a, a.Group.Resolve(now))
	default:
		err = p.changeListener(ctx, now, action)
	}
	return plan.Result{}, err
}

// changeListener makes the call of an action about a listener that there is.
func (p Product) changeListener(ctx context.Context, now model.Observed, action plan.Action) error {
	listener := func(key model.ListenerKey) string {
		i := slices.IndexFunc(now.Listeners, func(l model.Listener) bool { return l.Key == key })
		if i < 0 {
			return ""
		}
		return now.Listeners[i].ID
	}
	certificates := func(key model.ListenerKey, ids []string) error {
		_, err := p.Gateway.NetworkListeners.UpdateListener(ctx, &nlbv1.UpdateListenerRequest{
			ListenerId: listener(key), LoadBalancerId: now.InstanceID, AdditionalCertificates: &nlbv1.CertificateIds{CertificateIds: ids},
		})
		return err
	}
	var err error
	switch a := action.(type) {
	case plan.UpdateListener:
		_, err = p.Gateway.NetworkListeners.UpdateListener(ctx, &nlbv1.UpdateListenerRequest{
			ListenerId: listener(a.Key), LoadBalancerId: now.InstanceID, Config: withGroup(a.Changed, a.Group.Resolve(now)),
		})
	case plan.StartListener:
		_, err = p.Gateway.NetworkListeners.StartListener(ctx, &nlbv1.StartListenerRequest{ListenerId: listener(a.Key),
			LoadBalancerId: now.InstanceID})
	case plan.DeleteListener:
		_, err = p.Gateway.NetworkListeners.DeleteListener(ctx, &nlbv1.DeleteListenerRequest{ListenerId: listener(a.Key),
			LoadBalancerId: now.InstanceID})
	case plan.AddCertificates:
		err = certificates(a.Key, a.Further.Certificates)
	case plan.ChangeCertificates:
		err = certificates(a.Key, a.Further.Certificates)
	case plan.RemoveCertificates:
		err = certificates(a.Key, nil)
	default:
		err = fmt.Errorf("no call is known for %T", action)
	}
	return err
}

func (p Product) createListener(ctx context.Context, id string, a plan.CreateListener, group string) (plan.Result, error) {
	request := &nlbv1.CreateListenerRequest{
		RequestId: requestID("ls-"), LoadBalancerId: id, Protocol: listenerProtocol(a.Listener.Key.Protocol),
		Config: withGroup(a.Listener.Config, group), Tags: a.Listener.Tags,
	}
	if key := a.Listener.Key; key.End == 0 {
		request.Port = key.Port
	} else {
		request.StartPort, request.EndPort = key.Port, key.End
	}
	answer, err := p.Gateway.NetworkListeners.CreateListener(ctx, request)
	return plan.Result{ListenerID: answer.GetListenerId()}, err
}

// Prove implements apply.Caller: the cloud checks the listener, at a port that is free.
func (p Product) Prove(ctx context.Context, now model.Observed, coming plan.CreateListener) error {
	request := &nlbv1.CreateListenerRequest{
		RequestId: requestID("ls-"), LoadBalancerId: now.InstanceID, Protocol: listenerProtocol(coming.Listener.Key.Protocol),
		Config: withGroup(coming.Listener.Config, coming.Group.Resolve(now)), ValidateOnly: true,
	}
	if key := coming.Listener.Key; key.End != 0 {
		request.StartPort, request.EndPort = key.Port, key.End
	} else {
		request.Port = freePort(now)
	}
	_, err := p.Gateway.NetworkListeners.CreateListener(ctx, request)
	switch rpcerr.ReasonOf(err) {
	case rpcerr.ListenerExists, rpcerr.QuotaExceeded: // The one that is to go has a port of the range, or its place among all.
		return nil
	default:
		return err
	}
}

// freePort is a port that no listener has.
func freePort(now model.Observed) int32 {
	port := int32(65535)
	for slices.ContainsFunc(now.Listeners, func(l model.Listener) bool { return l.Key.Port <= port && port <= max(l.Key.Port, l.Key.End) }) {
		port--
	}
	return port
}

func listenerProtocol(p model.Protocol) nlbv1.ListenerProtocol {
	switch p {
	case model.UDP:
		return nlbv1.ListenerProtocol_LISTENER_PROTOCOL_UDP
	case model.TCPSSL:
		return nlbv1.ListenerProtocol_LISTENER_PROTOCOL_TCPSSL
	case model.TCP, model.HTTP, model.HTTPS: // An NLB has the first only.
	}
	return nlbv1.ListenerProtocol_LISTENER_PROTOCOL_TCP
}

// withGroup returns the attributes with the id of the group, which may have been created only now. Of a listener that is made again they
// are as they were read: texts that it doesn't have are empty there, which no request may have.
func withGroup(c model.ListenerConfig, id string) *nlbv1.ListenerConfig {
	config := &nlbv1.ListenerConfig{}
	if c != nil {
		config = proto.CloneOf(configOf(c))
	}
	if id != "" {
		config.ServerGroupId = new(id)
	}
	for _, text := range []**string{&config.Description, &config.SecurityPolicyId, &config.AlpnPolicy} {
		if *text != nil && **text == "" {
			*text = nil
		}
	}
	return config
}

// updateInstance takes the marks of ownership off server groups first: what is done last decides whether a preserved
// NLB counts as given up.
func (p Product) updateInstance(ctx context.Context, id string, a UpdateInstance) error {
	for _, group := range a.Untag {
		_, err := p.Gateway.NetworkServerGroups.UpdateServerGroup(ctx, &nlbv1.UpdateServerGroupRequest{ServerGroupId: group,
			RemoveTagKeys: markKeys()})
		if err != nil && !rpcerr.IsNotFound(err) {
			return fmt.Errorf("take the tags off server group %s: %w", group, err)
		}
	}
	request := proto.CloneOf(a.Request)
	request.LoadBalancerId = id
	if proto.Size(a.Request) == 0 {
		return nil
	}
	_, err := p.Gateway.NetworkLoadBalancers.UpdateLoadBalancer(ctx, request)
	return err
}

func (p Product) createGroup(ctx context.Context, w apply.Work, now model.Observed, a plan.CreateGroup) (plan.Result, error) {
	asked, _ := a.Group.Config.(*nlbv1.CreateServerGroupRequest)
	request := created(asked)
	mark := ownership.DefaultName(w.Life.UID)
	request.RequestId, request.Name, request.Servers, request.Tags = requestID("sg-"), a.Group.Name,
		servers(a.Group.Servers), ownMarks(mark, w.Life.ClusterID)
	request.VpcId = p.VPCID
	if lb := present(now); lb.GetVpcId() != "" {
		request.VpcId = lb.GetVpcId() // That of a user's NLB may be another.
	}
	if request.GetResourceGroupId() == "" {
		request.ResourceGroupId = p.ResourceGroupID
	}
	answer, err := p.Gateway.NetworkServerGroups.CreateServerGroup(ctx, request)
	if isOlder(err) && request.GetIpVersionAffinity() != 0 {
		// A group without it serves. The first look after the upgrade of the gateway sets it.
		request.RequestId, request.IpVersionAffinity = requestID("sg-"), nlbv1.IpVersionAffinity_IP_VERSION_AFFINITY_UNSPECIFIED
		answer, err = p.Gateway.NetworkServerGroups.CreateServerGroup(ctx, request)
	}
	if slices.Contains([]rpcerr.Reason{rpcerr.ServerNotFound, rpcerr.ServerLimit, rpcerr.QuotaExceeded}, rpcerr.ReasonOf(err)) {
		// The servers were refused, not the group: listeners must not wait for one node that the cloud doesn't know.
		id, findErr := p.groupNamed(ctx, mark, a.Group)
		if id != "" {
			err = full(err)
		}
		return plan.Result{GroupID: id}, errors.Join(err, findErr)
	}
	if err != nil {
		return plan.Result{}, err
	}
	return plan.Result{GroupID: answer.GetServerGroupId()}, nil
}

// isOlder reports that the gateway has refused fields that it doesn't know: it names them by their numbers.
func isOlder(err error) bool {
	e, ok := rpcerr.From(err)
	return ok && len(e.Fields) > 0 && !slices.ContainsFunc(e.Fields, func(f rpcerr.FieldViolation) bool {
		_, notNumber := strconv.Atoi(f.Field)
		return notNumber != nil
	})
}

// full says of a quota that is used up, where only servers were to be added, that the server group holds as many as it may.
func full(err error) error {
	e, ok := rpcerr.From(err)
	if !ok || e.Reason != rpcerr.QuotaExceeded {
		return err
	}
	limit := *e
	limit.Reason = rpcerr.ServerLimit
	return &limit
}

// groupNamed finds a server group that a creation left behind; without one there is no group.
func (p Product) groupNamed(ctx context.Context, mark string, want model.Group) (string, error) {
	list, err := p.Gateway.NetworkServerGroups.ListServerGroups(ctx, &nlbv1.ListServerGroupsRequest{
		Names: []string{want.Name}, Tags: []*commonv1.Tag{{Key: ownership.TagService, Value: mark}},
	})
	if err != nil {
		return "", fmt.Errorf("look for server group %s: %w", want.Name, err)
	}
	for _, g := range list.GetServerGroups() {
		if group(g).Shape == want.Shape {
			return g.GetServerGroupId(), nil
		}
	}
	return "", nil
}

func groupChange(a plan.UpdateGroup) *nlbv1.UpdateServerGroupRequest {
	c, _ := a.Changed.(*nlbv1.CreateServerGroupRequest)
	r := &nlbv1.UpdateServerGroupRequest{
		ServerGroupId: a.GroupID, Scheduler: c.Scheduler, ConnectionDrainEnabled: c.ConnectionDrainEnabled,
		ConnectionDrainTimeout:  c.ConnectionDrainTimeout,
		PreserveClientIpEnabled: c.PreserveClientIpEnabled, HealthCheck: c.GetHealthCheck(),
	}
	if mode := c.GetIpVersionAffinity(); mode != 0 {
		r.IpVersionAffinity = mode.Enum()
	}
	return r
}

// changeServers adds and removes. To make room in a group that is full it removes first.
func (p Product) changeServers(ctx context.Context, a plan.ChangeServers) error {
	change := func(r *nlbv1.ApplyServerChangesRequest) error {
		r.ServerGroupId = a.GroupID
		_, err := p.Gateway.NetworkServerGroups.ApplyServerChanges(ctx, r)
		return full(err)
	}
	if !a.RemoveFirst {
		return change(&nlbv1.ApplyServerChangesRequest{Add: servers(a.Add), Update: servers(a.Update), Remove: servers(a.Remove)})
	}
	if err := change(&nlbv1.ApplyServerChangesRequest{Remove: servers(a.Remove)}); err != nil {
		return err
	}
	return change(&nlbv1.ApplyServerChangesRequest{Add: servers(a.Add), Update: servers(a.Update)})
}

// deleteGroup deletes a group, or takes our servers out of one that is still in use.
func (p Product) deleteGroup(ctx context.Context, a plan.DeleteGroup) (plan.Result, error) {
	_, err := p.Gateway.NetworkServerGroups.DeleteServerGroup(ctx, &nlbv1.DeleteServerGroupRequest{ServerGroupId: a.GroupID})
	if rpcerr.ReasonOf(err) != rpcerr.ServerGroupInUse {
		return plan.Result{}, err
	}
	if len(a.Servers) > 0 {
		if err := p.changeServers(ctx, plan.ChangeServers{GroupID: a.GroupID, Remove: a.Servers}); err != nil {
			return plan.Result{}, err
		}
	}
	return plan.Result{Held: true}, nil
}

func servers(list []model.Server) []*nlbv1.Server {
	result := make([]*nlbv1.Server, len(list))
	for i := range list {
		s := &list[i]
		result[i] = &nlbv1.Server{
			Type: nlbv1.ServerType(s.Type), ServerId: s.ID, ServerIp: s.IP, Port: s.Port, Weight: new(s.Weight), Description: s.Description,
		}
	}
	return result
}
