package slb

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
)

// GetLoadBalancer reads one instance, with VIEW_FULL everything that belongs to it. A part that can't be read fails the whole:
// callers must never see half an instance.
func (c *Client) GetLoadBalancer(ctx context.Context, r *slbv1.GetLoadBalancerRequest) (*slbv1.LoadBalancer, error) {
	id, maxAge := r.GetLoadBalancerId(), r.GetMaxAge().AsDuration()
	if r.GetView() != slbv1.View_VIEW_FULL {
		return c.balancer(ctx, id, maxAge)
	}
	var (
		lb        *slbv1.LoadBalancer
		listeners []*slbv1.Listener
		groups    []*slbv1.ServerGroup
	)
	parts, partCtx := errgroup.WithContext(ctx)
	parts.Go(func() (err error) { lb, err = c.balancer(partCtx, id, maxAge); return err })
	parts.Go(func() (err error) { listeners, err = c.reads.listeners.Get(partCtx, id, maxAge); return err })
	parts.Go(func() (err error) {
		groups, err = c.groupsWithServers(partCtx, id, maxAge, r.GetServerGroupIds(), r.GetServerGroupNamePrefixes())
		return err
	})
	if err := parts.Wait(); err != nil {
		return nil, err
	}
	lb = proto.CloneOf(lb)
	lb.Listeners, lb.ServerGroups = listeners, groups
	return lb, nil
}

// balancer reads one instance with its attributes.
func (c *Client) balancer(ctx context.Context, id string, maxAge time.Duration) (*slbv1.LoadBalancer, error) {
	lb, err := c.reads.balancers.Get(ctx, id, maxAge)
	if err == nil && lb == nil {
		err = &rpcerr.Error{
			Code: codes.NotFound, Reason: rpcerr.LoadBalancerNotFound, API: "slb/DescribeLoadBalancers",
			Message: fmt.Sprintf("there is no load balancer %s in this region", id),
		}
	}
	return lb, err
}

// ListLoadBalancers reads every instance that matches, ordered by id.
func (c *Client) ListLoadBalancers(ctx context.Context, r *slbv1.ListLoadBalancersRequest) ([]*slbv1.LoadBalancer, error) {
	ids, maxAge := cloud.Sorted(r.GetLoadBalancerIds()), r.GetMaxAge().AsDuration()
	filters := filterParams(r)
	if len(ids) > 0 && len(filters) == 0 {
		found, err := batch.Values(c.reads.balancers.GetMany(ctx, ids, maxAge))
		return slices.DeleteFunc(found, func(lb *slbv1.LoadBalancer) bool { return lb == nil }), err
	}
	key := fmt.Sprintf("%q %q", filters, ids)
	return c.caches.lists.Get(ctx, key, maxAge, func(ctx context.Context) ([]*slbv1.LoadBalancer, error) {
		if len(ids) == 0 {
			return c.describe(ctx, filters)
		}
		return inChunks(ctx, ids, func(ctx context.Context, ids []string) ([]*slbv1.LoadBalancer, error) {
			return c.describe(ctx, cloud.Params{"LoadBalancerId": strings.Join(ids, ",")}.Merge(filters))
		})
	})
}

// Filtered tells whether a listing has a filter that this gateway knows.
func Filtered(r *slbv1.ListLoadBalancersRequest) bool {
	return len(r.GetLoadBalancerIds()) > 0 || len(r.GetTags()) > 0 || len(filterParams(r)) > 0
}

// describe reads all pages of DescribeLoadBalancers, ordered by id.
func (c *Client) describe(ctx context.Context, params cloud.Params) ([]*slbv1.LoadBalancer, error) {
	found := map[string]*slbv1.LoadBalancer{}
	err := cloud.Numbered(ctx, params, pageSize, func(p cloud.Params) (int, int, error) {
		var answer struct {
			TotalCount    int
			LoadBalancers struct{ LoadBalancer []balancerAnswer }
		}
		if err := c.read(ctx, "DescribeLoadBalancers", p, &answer); err != nil {
			return 0, 0, err
		}
		for _, a := range answer.LoadBalancers.LoadBalancer {
			lb, err := a.decode()
			if err != nil {
				return 0, 0, err
			}
			found[lb.GetLoadBalancerId()] = lb
		}
		return len(answer.LoadBalancers.LoadBalancer), answer.TotalCount, nil
	})
	if err != nil {
		return nil, err
	}
	return slices.SortedFunc(maps.Values(found), func(a, b *slbv1.LoadBalancer) int {
		return strings.Compare(a.GetLoadBalancerId(), b.GetLoadBalancerId())
	}), nil
}

// CreateLoadBalancer buys an instance. The request id is the cloud's ClientToken, so it may be sent again.
func (c *Client) CreateLoadBalancer(ctx context.Context, r *slbv1.CreateLoadBalancerRequest) (*slbv1.LoadBalancer, error) {
	defer c.caches.lists.Clear()
	var answer createAnswer
	call := cloud.Write(openapi.SLB, "CreateLoadBalancer", createParams(r))
	if err := cloud.Set(ctx, c.caller, call, &answer); err != nil {
		return nil, err
	}
	return answer.created(r), nil
}

// UpdateLoadBalancer changes the attributes that are present, one call each, in the order of their field numbers.
func (c *Client) UpdateLoadBalancer(ctx context.Context, r *slbv1.UpdateLoadBalancerRequest) error {
	return c.exclusively(ctx, r.GetLoadBalancerId(), func(ctx context.Context, _ *writer) error {
		for _, u := range updates(r) {
			if err := c.update(ctx, r.GetLoadBalancerId(), u); err != nil {
				return cloud.As(rpcerr.LoadBalancerNotFound, err)
			}
		}
		return nil
	})
}

// update is one call of UpdateLoadBalancer.
type update struct {
	action string
	params cloud.Params
	// done tells whether an instance is as it shall be; nil: the cloud does not mind being told again.
	done func(*slbv1.LoadBalancer) bool
}

// update makes a change. If the cloud refuses to make what is already, the change is done: an attempt whose answer was lost may have
// made it, of this gateway or of the one before.
func (c *Client) update(ctx context.Context, id string, u update) error {
	err := c.set(ctx, u.action, u.params)
	if u.done == nil || rpcerr.ReasonOf(err) != rpcerr.InvalidState {
		return err
	}
	found, readErr := c.fetchBalancers(ctx, []string{id})
	if lb := found[id]; readErr == nil && lb != nil && u.done(lb) {
		return nil
	}
	return err
}

func updates(r *slbv1.UpdateLoadBalancerRequest) []update {
	var list []update
	add := func(action string, params cloud.Params) { list = append(list, update{action: action, params: params}) }
	instance := func() cloud.Params { return cloud.Params{"LoadBalancerId": r.GetLoadBalancerId()} }
	if r.Name != nil {
		add("SetLoadBalancerName", instance().With("LoadBalancerName", r.GetName()))
	}
	if r.InstanceChargeType != nil {
		list = append(list, update{
			action: "ModifyLoadBalancerInstanceChargeType",
			params: instance().With("InstanceChargeType", instanceChargeTypes()[r.GetInstanceChargeType()]),
			done:   func(lb *slbv1.LoadBalancer) bool { return lb.GetInstanceChargeType() == r.GetInstanceChargeType() },
		})
	}
	if r.Spec != nil {
		list = append(list, update{
			action: "ModifyLoadBalancerInstanceSpec", params: instance().With("LoadBalancerSpec", r.GetSpec()),
			done: func(lb *slbv1.LoadBalancer) bool { return lb.GetSpec() == r.GetSpec() },
		})
	}
	if spec := r.GetInternetSpec(); spec != nil {
		add("ModifyLoadBalancerInternetSpec", instance().
			With("InternetChargeType", internetChargeTypes()[spec.GetChargeType()]).
			Int("Bandwidth", int(spec.GetBandwidthMbps())))
	}
	if r.DeleteProtection != nil {
		add("SetLoadBalancerDeleteProtection", instance().With("DeleteProtection", onOffWord(r.GetDeleteProtection())))
	}
	if protection := r.GetModificationProtection(); protection != nil {
		add("SetLoadBalancerModificationProtection", instance().Merge(protectionParams(protection)))
	}
	for _, call := range cloud.TagCalls(openapi.SLB, "instance", r.GetLoadBalancerId(), r.GetSetTags(), r.GetRemoveTagKeys()) {
		add(call.Action, call.Params)
	}
	if r.ResourceGroupId != nil {
		list = append(list, update{
			action: "MoveResourceGroup",
			params: cloud.Params{
				"ResourceType": "loadbalancer", "ResourceId": r.GetLoadBalancerId(), "NewResourceGroupId": r.GetResourceGroupId(),
			},
			done: func(lb *slbv1.LoadBalancer) bool { return lb.GetResourceGroupId() == r.GetResourceGroupId() },
		})
	}
	if r.Active != nil {
		add("SetLoadBalancerStatus", instance().With("LoadBalancerStatus", activeWord(r.GetActive())))
	}
	return list
}

// DeleteLoadBalancer releases an instance with all that belongs to it.
func (c *Client) DeleteLoadBalancer(ctx context.Context, id string) error {
	defer c.caches.groups.Clear() // Its groups go with it, whichever they are.
	return c.exclusively(ctx, id, func(ctx context.Context, _ *writer) error {
		err := c.set(ctx, "DeleteLoadBalancer", cloud.Params{"LoadBalancerId": id})
		return cloud.Unless(err, rpcerr.LoadBalancerNotFound)
	})
}

// inChunks reads many ids, idsPerCall at a time and some calls at once, and joins the answers in the order of the ids.
func inChunks[T any](ctx context.Context, ids []string, read func(ctx context.Context, ids []string) ([]T, error)) ([]T, error) {
	chunks := slices.Collect(slices.Chunk(ids, idsPerCall))
	answers := make([][]T, len(chunks))
	calls, ctx := errgroup.WithContext(ctx)
	calls.SetLimit(parallelReads)
	for i, chunk := range chunks {
		calls.Go(func() (err error) {
			answers[i], err = read(ctx, chunk)
			return err
		})
	}
	if err := calls.Wait(); err != nil {
		return nil, err
	}
	return slices.Concat(answers...), nil
}
