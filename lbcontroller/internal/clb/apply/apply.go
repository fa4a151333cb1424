// Package apply carries out a plan, call after call. It decides nothing; what it has done is folded into what is known to be there.
package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/lbcontroller/internal/clb/model"
	"alicloud-controllers.dev/lbcontroller/internal/clb/plan"
)

// Applier makes the calls.
type Applier struct{ Client *gateway.Client }

// Work is a plan with what it takes to carry it out.
type Work struct {
	Plan plan.Plan
	// Observed is what was there when the plan was made.
	Observed model.Observed
	// Life tells one instance of a Service from the next: the same life never buys twice.
	Life Life
	// OtherVSwitches may be tried if the vSwitch of a new instance has no free address.
	OtherVSwitches []string
	// Created is told about a new instance before anything else is done.
	Created func(ctx context.Context, id string) error
}

// run is one execution of a Work.
type run struct {
	Applier
	Work
	now model.Observed
}

// Apply carries out the plan and returns what is there afterwards. After an error what is there isn't known.
func (a Applier) Apply(ctx context.Context, w Work) (model.Observed, error) {
	r := &run{Applier: a, Work: w, now: w.Observed.Clone()}
	for _, phase := range w.Plan.Phases {
		if err := r.phase(ctx, phase); err != nil {
			return model.Observed{}, err
		}
	}
	return r.now, nil
}

// phase tries every action, for one broken listener must not hold back the others. The calls go one by one: the cloud changes an
// instance in one way at a time, and refuses a second change while the first is under way.
func (r *run) phase(ctx context.Context, phase plan.Phase) error {
	var errs []error
	for _, action := range phase {
		result, err := r.call(ctx, action)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", action, err))
			continue
		}
		action.Effect(&r.now, result)
	}
	return errors.Join(errs...)
}

// call makes the one call of an action.
func (r *run) call(ctx context.Context, action plan.Action) (plan.Result, error) {
	var err error
	id := r.now.InstanceID
	switch a := action.(type) {
	case plan.CreateInstance:
		return r.createInstance(ctx, a)
	case plan.CreateGroup:
		return r.createGroup(ctx, id, a)
	case plan.UpdateInstance:
		request := proto.CloneOf(a.Request)
		request.LoadBalancerId = id
		_, err = r.Client.LoadBalancers.UpdateLoadBalancer(ctx, request)
	case plan.DeleteInstance:
		_, err = r.Client.LoadBalancers.DeleteLoadBalancer(ctx, &slbv1.DeleteLoadBalancerRequest{LoadBalancerId: id})
	case plan.ChangeServers:
		_, err = r.Client.ServerGroups.ApplyServerChanges(ctx, &slbv1.ApplyServerChangesRequest{
			ServerGroupId: a.GroupID, LoadBalancerId: id, RemoveFirst: a.RemoveFirst,
			Add: servers(a.Add), Remove: servers(a.Remove), Update: servers(a.Update),
		})
	case plan.DeleteGroup:
		return r.deleteGroup(ctx, id, a)
	case plan.CreateListener:
		config := r.withGroup(a.Listener.Config, a.Group)
		_, err = r.Client.Listeners.CreateListener(ctx, &slbv1.CreateListenerRequest{Key: key(id, a.Listener.Key), Config: config})
	case plan.UpdateListener:
		config := r.withGroup(a.Changed, a.Group)
		_, err = r.Client.Listeners.UpdateListener(ctx, &slbv1.UpdateListenerRequest{Key: key(id, a.Key), Config: config})
	case plan.StartListener:
		_, err = r.Client.Listeners.StartListener(ctx, &slbv1.StartListenerRequest{Key: key(id, a.Key)})
	case plan.DeleteListener:
		_, err = r.Client.Listeners.DeleteListener(ctx, &slbv1.DeleteListenerRequest{Key: key(id, a.Key)})
	default:
		err = fmt.Errorf("no call is known for %T", action)
	}
	return plan.Result{}, err
}

// withGroup sets the id of the group, which may have been created only now.
func (r *run) withGroup(config *slbv1.ListenerConfig, group plan.GroupRef) *slbv1.ListenerConfig {
	return plan.WithGroup(config, group.Resolve(r.now))
}

func (r *run) createGroup(ctx context.Context, instance string, a plan.CreateGroup) (plan.Result, error) {
	answer, err := r.Client.ServerGroups.CreateServerGroup(ctx, &slbv1.CreateServerGroupRequest{
		RequestId: groupRequestID(), LoadBalancerId: instance, Name: a.Group.Name, Servers: servers(a.Group.Servers),
	})
	if err != nil {
		return plan.Result{}, err
	}
	return plan.Result{GroupID: answer.GetServerGroupId()}, nil
}

// deleteGroup deletes a group, or takes our servers out of one that is still in use. The existing CCM can't end the release of a Service
// whose group a listener of the user's goes on using.
func (r *run) deleteGroup(ctx context.Context, instance string, a plan.DeleteGroup) (plan.Result, error) {
	_, err := r.Client.ServerGroups.DeleteServerGroup(ctx, &slbv1.DeleteServerGroupRequest{ServerGroupId: a.GroupID, LoadBalancerId: instance})
	if rpcerr.ReasonOf(err) != rpcerr.ServerGroupInUse {
		return plan.Result{}, err
	}
	if len(a.Servers) > 0 {
		if _, err := r.Client.ServerGroups.ApplyServerChanges(ctx, &slbv1.ApplyServerChangesRequest{
			ServerGroupId: a.GroupID, LoadBalancerId: instance, Remove: servers(a.Servers),
		}); err != nil {
			return plan.Result{}, err
		}
	}
	return plan.Result{GroupHeld: true}, nil
}

func key(id string, k model.ListenerKey) *slbv1.ListenerKey {
	return &slbv1.ListenerKey{LoadBalancerId: id, Port: k.Port, Protocol: k.Protocol}
}

func servers(list []model.Server) []*slbv1.Server {
	result := make([]*slbv1.Server, 0, len(list))
	for _, s := range slices.SortedFunc(slices.Values(list), model.Server.Compare) {
		result = append(result, &slbv1.Server{
			Type: s.Type, ServerId: s.ID, ServerIp: s.IP, Port: s.Port, Weight: s.Weight, Description: s.Description,
		})
	}
	return result
}
