package clb

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/observe"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
)

// Beside implements observe.Reader. The server groups of a CLB are parts of it, and only an intranet one can have an
// EIP.
func (Product) Beside(there model.Observed) []model.ThingKind {
	if present(there).GetAddressType() == slbv1.AddressType_ADDRESS_TYPE_INTERNET {
		return []model.ThingKind{model.ThingList}
	}
	return []model.ThingKind{model.ThingBound, model.ThingList}
}

// Things implements observe.Reader. Lists and EIPs have names alike.
func (p Product) Things(ctx context.Context, kind model.ThingKind, clusterID string, maxAge time.Duration,
) ([]model.Thing, error) {
	tags, age := []*commonv1.Tag{{Key: ownership.TagCluster, Value: clusterID}}, durationpb.New(maxAge)
	var things []model.Thing
	add := func(id, name string, has []*commonv1.Tag, usedBy string) {
		if mark := observe.MarkOf(has, clusterID); mark != "" && name == listPrefix+mark {
			things = append(things, model.Thing{Kind: kind, ID: id, Name: name, Mark: mark, UsedBy: usedBy})
		}
	}
	var err error
	switch kind {
	case model.ThingList:
		var found *slbv1.ListAccessControlListsResponse
		found, err = p.Gateway.AccessControlLists.ListAccessControlLists(ctx,
			&slbv1.ListAccessControlListsRequest{Tags: tags, MaxAge: age})
		for _, l := range found.GetAccessControlLists() {
			add(l.GetAclId(), l.GetName(), l.GetTags(), "")
		}
	case model.ThingBound:
		var found *vpcv1.ListEipsResponse
		found, err = p.Gateway.Eips.ListEips(ctx, &vpcv1.ListEipsRequest{Tags: tags, MaxAge: age})
		for _, e := range found.GetEips() {
			add(e.GetAllocationId(), e.GetName(), e.GetTags(), e.GetInstanceId())
		}
	case model.ThingGroup, model.ThingFailed, model.ThingLeft:
	}
	if err != nil {
		return nil, fmt.Errorf("list what the cluster has beside CLBs (%s): %w", kind, err)
	}
	return things, nil
}
