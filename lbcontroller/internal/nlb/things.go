package nlb

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/observe"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
)

// Beside implements observe.Reader.
func (Product) Beside(model.Observed) []model.ThingKind {
	return []model.ThingKind{model.ThingFailed, model.ThingGroup, model.ThingList}
}

// Things implements observe.Reader.
func (p Product) Things(ctx context.Context, kind model.ThingKind, clusterID string, maxAge time.Duration,
) ([]model.Thing, error) {
	tags, age := []*commonv1.Tag{{Key: ownership.TagCluster, Value: clusterID}}, durationpb.New(maxAge)
	var things []model.Thing
	add := func(id, name string, has []*commonv1.Tag, usedBy string, isNamed func(mark string) bool) {
		if mark := observe.MarkOf(has, clusterID); mark != "" && isNamed(mark) {
			things = append(things, model.Thing{Kind: kind, ID: id, Name: name, Mark: mark, UsedBy: usedBy})
		}
	}
	var err error
	switch kind {
	case model.ThingList:
		var found *ecsv1.ListSecurityGroupsResponse
		found, err = p.Gateway.SecurityGroups.ListSecurityGroups(ctx,
			&ecsv1.ListSecurityGroupsRequest{Tags: tags, MaxAge: age})
		for _, g := range found.GetSecurityGroups() {
			add(g.GetSecurityGroupId(), g.GetName(), g.GetTags(), "", func(mark string) bool {
				return g.GetName() == listPrefix+mark
			})
		}
	case model.ThingGroup:
		var found *nlbv1.ListServerGroupsResponse
		found, err = p.Gateway.NetworkServerGroups.ListServerGroups(ctx,
			&nlbv1.ListServerGroupsRequest{Tags: tags, MaxAge: age})
		for _, g := range found.GetServerGroups() {
			owner, made := ownership.MadeFor(g.GetName())
			add(g.GetServerGroupId(), g.GetName(), g.GetTags(), strings.Join(g.GetLoadBalancerIds(), ","), func(string) bool {
				return made && owner.ClusterID != "" && strings.HasPrefix(clusterID, owner.ClusterID) // A name may be shortened.
			})
		}
	case model.ThingFailed:
		var found *nlbv1.ListLoadBalancersResponse
		found, err = p.Gateway.NetworkLoadBalancers.ListLoadBalancers(ctx, &nlbv1.ListLoadBalancersRequest{
			Tags: tags, Status: nlbv1.LoadBalancerStatus_LOAD_BALANCER_STATUS_CREATE_FAILED, MaxAge: age,
		})
		for _, lb := range found.GetLoadBalancers() { // Its name may be one that the user has chosen.
			isFailed := lb.GetStatus() == nlbv1.LoadBalancerStatus_LOAD_BALANCER_STATUS_CREATE_FAILED
			add(lb.GetLoadBalancerId(), lb.GetName(), lb.GetTags(), "", func(string) bool { return isFailed })
		}
	case model.ThingBound, model.ThingLeft:
	}
	if err != nil {
		return nil, fmt.Errorf("list what the cluster has beside NLBs (%s): %w", kind, err)
	}
	return things, nil
}
