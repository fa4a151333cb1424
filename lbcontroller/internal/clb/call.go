package clb

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/lbcontroller/internal/lb/apply"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
)

// Call implements apply.Caller.
func (p Product) Call(ctx context.Context, w apply.Work, now model.Observed, action plan.Action) (plan.Result, error) {
	var err error
	id := now.InstanceID
	switch a := action.(type) {
	case CreateInstance:
		return p.createInstance(ctx, w, a)
	case plan.CreateGroup:
		return p.createGroup(ctx, id, a)
	case UpdateInstance:
		request := proto.CloneOf(a.Request)
		request.LoadBalancerId = id
		_, err = p.Gateway.LoadBalancers.UpdateLoadBalancer(ctx, request)
	case plan.DeleteInstance:
		_, err = p.Gateway.LoadBalancers.DeleteLoadBalancer(ctx, &slbv1.DeleteLoadBalancerRequest{LoadBalancerId: id})
	case plan.ChangeServers:
		if a.BuiltIn {
			_, err = p.Gateway.ServerGroups.ApplyDefaultServerChanges(ctx, &slbv1.ApplyDefaultServerChangesRequest{
				LoadBalancerId: id, RemoveFirst: a.RemoveFirst, Add: defaultServers(a.Add), Remove: defaultServers(a.Remove),
				Update: defaultServers(a.Update),
			})
			break
		}
		_, err = p.Gateway.ServerGroups.ApplyServerChanges(ctx, &slbv1.ApplyServerChangesRequest{
			ServerGroupId: a.GroupID, LoadBalancerId: id, RemoveFirst: a.RemoveFirst,
			Add: servers(a.Add), Remove: servers(a.Remove), Update: servers(a.Update),
		})
	case plan.DeleteGroup:
		return p.deleteGroup(ctx, id, a)
	case plan.CreateListener:
		config := withGroup(a.Listener.Config, a.Group.Resolve(now))
		_, err = p.Gateway.Listeners.CreateListener(ctx,
			&slbv1.CreateListenerRequest{Key: key(id, a.Listener.Key), Config: config, Tags: a.Listener.Tags})
	case plan.UpdateListener:
		config := withGroup(a.Changed, a.Group.Resolve(now))
		_, err = p.Gateway.Listeners.UpdateListener(ctx, &slbv1.UpdateListenerRequest{Key: key(id, a.Key), Config: config})
	case plan.StartListener:
		_, err = p.Gateway.Listeners.StartListener(ctx, &slbv1.StartListenerRequest{Key: key(id, a.Key)})
	case plan.AddCertificates:
		answer, err := p.Gateway.DomainExtensions.CreateDomainExtension(ctx, &slbv1.CreateDomainExtensionRequest{
			RequestId: extensionRequestID(), Key: key(id, a.Key), Domain: a.Further.Domain, ServerCertificateId: only(a.Further),
		})
		return plan.Result{CertificatesID: answer.GetDomainExtensionId()}, err
	case plan.ChangeCertificates:
		_, err = p.Gateway.DomainExtensions.UpdateDomainExtension(ctx, &slbv1.UpdateDomainExtensionRequest{
			LoadBalancerId: id, DomainExtensionId: a.Further.ID, ServerCertificateId: only(a.Further),
		})
	case plan.RemoveCertificates:
		_, err = p.Gateway.DomainExtensions.DeleteDomainExtension(ctx, &slbv1.DeleteDomainExtensionRequest{LoadBalancerId: id,
			DomainExtensionId: a.Further.ID})
	case plan.DeleteListener:
		_, err = p.Gateway.Listeners.DeleteListener(ctx, &slbv1.DeleteListenerRequest{Key: key(id, a.Key)})
	case plan.CreateList, plan.ChangeList, plan.KeepList, plan.DeleteList:
		return p.callList(ctx, w, a)
	case AllocateEIP, BindEIP, UnbindEIP, ReleaseEIP:
		return p.callEIP(ctx, w, now, a)
	default:
		err = fmt.Errorf("no call is known for %T", action)
	}
	return plan.Result{}, err
}

// withGroup returns the attributes with the id of the group, which may have been created only now.
func withGroup(c model.ListenerConfig, id string) *slbv1.ListenerConfig {
	config := &slbv1.ListenerConfig{}
	if c != nil {
		config = proto.CloneOf(configOf(c))
	}
	if id != "" {
		config.ServerGroupId = new(id)
	}
	return config
}

func (p Product) createGroup(ctx context.Context, instance string, a plan.CreateGroup) (plan.Result, error) {
	answer, err := p.Gateway.ServerGroups.CreateServerGroup(ctx, &slbv1.CreateServerGroupRequest{
		RequestId: groupRequestID(), LoadBalancerId: instance, Name: a.Group.Name, Servers: servers(a.Group.Servers),
	})
	if slices.Contains([]rpcerr.Reason{rpcerr.ServerNotFound, rpcerr.ServerLimit, rpcerr.QuotaExceeded}, rpcerr.ReasonOf(err)) {
		// The servers were refused, not the group: listeners must not wait for one node that the cloud doesn't know.
		id, findErr := p.groupNamed(ctx, instance, a.Group.Name)
		return plan.Result{GroupID: id}, errors.Join(err, findErr)
	}
	if err != nil {
		return plan.Result{}, err
	}
	return plan.Result{GroupID: answer.GetServerGroupId()}, nil
}

// groupNamed finds a vServer group that a creation left behind, or creates it without servers.
func (p Product) groupNamed(ctx context.Context, instance, name string) (string, error) {
	list, err := p.Gateway.ServerGroups.ListServerGroups(ctx, &slbv1.ListServerGroupsRequest{LoadBalancerId: instance})
	if err != nil {
		return "", fmt.Errorf("look for vServer group %s: %w", name, err)
	}
	for _, g := range list.GetServerGroups() {
		if g.GetName() == name {
			return g.GetServerGroupId(), nil
		}
	}
	answer, err := p.Gateway.ServerGroups.CreateServerGroup(ctx,
		&slbv1.CreateServerGroupRequest{RequestId: groupRequestID(), LoadBalancerId: instance, Name: name})
	if err != nil {
		return "", fmt.Errorf("create vServer group %s without servers: %w", name, err)
	}
	return answer.GetServerGroupId(), nil
}

// deleteGroup deletes a group, or takes our servers out of one that is still in use. The existing CCM can't end the release of a Service
// whose group a listener of the user's goes on using.
func (p Product) deleteGroup(ctx context.Context, instance string, a plan.DeleteGroup) (plan.Result, error) {
	_, err := p.Gateway.ServerGroups.DeleteServerGroup(ctx, &slbv1.DeleteServerGroupRequest{ServerGroupId: a.GroupID,
		LoadBalancerId: instance})
	if rpcerr.ReasonOf(err) != rpcerr.ServerGroupInUse {
		return plan.Result{}, err
	}
	if len(a.Servers) > 0 {
		if _, err := p.Gateway.ServerGroups.ApplyServerChanges(ctx, &slbv1.ApplyServerChangesRequest{
			ServerGroupId: a.GroupID, LoadBalancerId: instance, Remove: servers(a.Servers),
		}); err != nil {
			return plan.Result{}, err
		}
	}
	return plan.Result{Held: true}, nil
}

func key(id string, k model.ListenerKey) *slbv1.ListenerKey {
	return &slbv1.ListenerKey{LoadBalancerId: id, Port: k.Port, Protocol: slbv1.Protocol(k.Protocol)}
}

func servers(list []model.Server) []*slbv1.Server {
	if !slices.IsSortedFunc(list, model.Server.Compare) {
		list = slices.SortedFunc(slices.Values(list), model.Server.Compare)
	}
	block, result := make([]slbv1.Server, len(list)), make([]*slbv1.Server, len(list)) // A thousand at once, not one by one.
	weights := make([]int32, len(list))
	for i := range list {
		s, m := &list[i], &block[i]
		weights[i] = s.Weight
		m.Type, m.ServerId, m.ServerIp, m.Port, m.Weight, m.Description = slbv1.ServerType(s.Type), s.ID, s.IP, s.Port, &weights[i], s.Description
		result[i] = m
	}
	return result
}
