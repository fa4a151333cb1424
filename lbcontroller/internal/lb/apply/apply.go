// Package apply carries out a plan, call after call. It decides nothing; what it has done is folded into what is known to be there.
package apply

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
)

// Applier makes the calls.
type Applier struct{ Client *gateway.Client }

// Work is a plan with what it takes to carry it out.
type Work struct {
	Plan plan.Plan
	// Observed is what was there when the plan was made.
	Observed model.Observed
	// Life distinguishes one instance of a Service from the next: the same life never buys twice.
	Life Life
	// OtherVSwitches may be tried if the vSwitch of a new instance has no free address.
	OtherVSwitches []string
	// Created is called with the id of a new instance before anything else is done.
	Created func(ctx context.Context, id string) error
}

// Failure is an action that the cloud did not carry out, or not wholly.
type Failure struct {
	Action plan.Action
	Err    error
}

// Error names the action and the error. How many servers it is about is no part of that: it differs with every attempt.
func (f *Failure) Error() string { return fmt.Sprintf("%s: %v", plan.Name(f.Action), f.Err) }

// Unwrap returns the error of the call.
func (f *Failure) Unwrap() error { return f.Err }

// Failures are those of one plan, in the order of its actions. They are an error with several causes: the caller that decides what they
// mean for the Service looks at all of them.
type Failures []*Failure

// Error lists the failures.
func (f Failures) Error() string {
	texts := make([]string, len(f))
	for i, failure := range f {
		texts[i] = failure.Error()
	}
	return strings.Join(texts, "\n")
}

// Unwrap returns the failures.
func (f Failures) Unwrap() []error {
	errs := make([]error, len(f))
	for i, failure := range f {
		errs[i] = failure
	}
	return errs
}

// run is one execution of a Work.
type run struct {
	Applier
	Work
	now model.Observed
}

// Apply carries out the plan and returns what is there afterwards. After an error, which is of type Failures, that is what is certain: the
// effects of the actions that went well. One action goes after the other: the cloud changes an instance in one way at a time, and refuses a
// second change while the first is under way. An action that fails holds back only those that need it.
func (a Applier) Apply(ctx context.Context, w Work) (model.Observed, error) {
	r := &run{Applier: a, Work: w, now: w.Observed.Clone()}
	var failures Failures
	var missing []plan.Action // What failed, and what was held back for that.
	for action := range w.Plan.Actions() {
		if slices.ContainsFunc(missing, func(m plan.Action) bool { return plan.Needs(action, m) }) {
			missing = append(missing, action)
			continue
		}
		result, err := r.call(ctx, action)
		if err != nil {
			failures = append(failures, &Failure{Action: action, Err: err})
			if !isPartial(action, result) {
				missing = append(missing, action)
				continue
			}
		}
		action.Effect(&r.now, result)
	}
	if len(failures) > 0 {
		return r.now, failures
	}
	return r.now, nil
}

// isPartial reports of a failed action that what others need of it is there all the same.
func isPartial(action plan.Action, result plan.Result) bool {
	_, isGroup := action.(plan.CreateGroup)
	return isGroup && result.GroupID != ""
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
		if a.GroupID == model.DefaultGroup {
			_, err = r.Client.ServerGroups.ApplyDefaultServerChanges(ctx, &slbv1.ApplyDefaultServerChangesRequest{
				LoadBalancerId: id, RemoveFirst: a.RemoveFirst, Add: defaultServers(a.Add), Remove: defaultServers(a.Remove), Update: defaultServers(a.Update),
			})
			break
		}
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
	case plan.CreateExtension:
		answer, err := r.Client.DomainExtensions.CreateDomainExtension(ctx, &slbv1.CreateDomainExtensionRequest{
			RequestId: extensionRequestID(), Key: key(id, a.Key), Domain: a.Extension.Domain, ServerCertificateId: a.Extension.Certificate,
		})
		return plan.Result{ExtensionID: answer.GetDomainExtensionId()}, err
	case plan.UpdateExtension:
		_, err = r.Client.DomainExtensions.UpdateDomainExtension(ctx, &slbv1.UpdateDomainExtensionRequest{
			LoadBalancerId: id, DomainExtensionId: a.Extension.ID, ServerCertificateId: a.Extension.Certificate,
		})
	case plan.DeleteExtension:
		_, err = r.Client.DomainExtensions.DeleteDomainExtension(ctx, &slbv1.DeleteDomainExtensionRequest{LoadBalancerId: id, DomainExtensionId: a.Extension.ID})
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
	if slices.Contains([]rpcerr.Reason{rpcerr.ServerNotFound, rpcerr.ServerLimit, rpcerr.QuotaExceeded}, rpcerr.ReasonOf(err)) {
		// The servers were refused, not the group: listeners must not wait for one node that the cloud doesn't know.
		id, findErr := r.groupNamed(ctx, instance, a.Group.Name)
		return plan.Result{GroupID: id}, errors.Join(err, findErr)
	}
	if err != nil {
		return plan.Result{}, err
	}
	return plan.Result{GroupID: answer.GetServerGroupId()}, nil
}

// groupNamed finds a vServer group that a creation left behind, or creates it without servers.
func (r *run) groupNamed(ctx context.Context, instance, name string) (string, error) {
	list, err := r.Client.ServerGroups.ListServerGroups(ctx, &slbv1.ListServerGroupsRequest{LoadBalancerId: instance})
	if err != nil {
		return "", fmt.Errorf("look for vServer group %s: %w", name, err)
	}
	for _, g := range list.GetServerGroups() {
		if g.GetName() == name {
			return g.GetServerGroupId(), nil
		}
	}
	answer, err := r.Client.ServerGroups.CreateServerGroup(ctx, &slbv1.CreateServerGroupRequest{RequestId: groupRequestID(), LoadBalancerId: instance, Name: name})
	if err != nil {
		return "", fmt.Errorf("create vServer group %s without servers: %w", name, err)
	}
	return answer.GetServerGroupId(), nil
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

func defaultServers(list []model.Server) []*slbv1.DefaultServer {
	result := make([]*slbv1.DefaultServer, 0, len(list))
	for _, s := range servers(list) {
		result = append(result, &slbv1.DefaultServer{
			Type: s.GetType(), ServerId: s.GetServerId(), ServerIp: s.GetServerIp(), Weight: s.GetWeight(), Description: s.GetDescription(),
		})
	}
	return result
}

func servers(list []model.Server) []*slbv1.Server {
	if !slices.IsSortedFunc(list, model.Server.Compare) {
		list = slices.SortedFunc(slices.Values(list), model.Server.Compare)
	}
	block, result := make([]slbv1.Server, len(list)), make([]*slbv1.Server, len(list)) // A thousand at once, not one by one.
	for i := range list {
		s, m := &list[i], &block[i]
		m.Type, m.ServerId, m.ServerIp, m.Port, m.Weight, m.Description = s.Type, s.ID, s.IP, s.Port, s.Weight, s.Description
		result[i] = m
	}
	return result
}
