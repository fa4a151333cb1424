package route

import (
	"context"

	"google.golang.org/protobuf/proto"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/vpc"
)

// ListRouteEntries reads every entry that matches, ordered by destination.
func (s *Service) ListRouteEntries(ctx context.Context, r *vpcv1.ListRouteEntriesRequest) (*vpcv1.ListRouteEntriesResponse, error) {
	maxAge := r.GetMaxAge().AsDuration()
	r = proto.CloneOf(r)
	r.MaxAge, r.DestinationCidrs = nil, cloud.Sorted(r.GetDestinationCidrs())
	list, err := s.entries.Get(ctx, vpc.ListKey(r), maxAge, func(ctx context.Context) ([]*vpcv1.RouteEntry, error) {
		var found []*vpcv1.RouteEntry
		for _, cidrs := range vpc.ChunksOf(r.GetDestinationCidrs(), cidrsPerCall) {
			some, err := s.describeEntries(ctx, r.GetRouteTableId(), cloud.Params{}.
				With("RouteEntryType", r.GetType()).
				With("NextHopType", r.GetNextHopType()).
				With("NextHopId", r.GetNextHopId()).
				List("DestCidrBlockList", cidrs))
			if err != nil {
				return nil, err
			}
			found = append(found, some...)
		}
		return cloud.SortedBy(found, (*vpcv1.RouteEntry).GetDestinationCidr), nil
	})
	return cloud.Answer(&vpcv1.ListRouteEntriesResponse{RouteEntries: list}, err)
}

// describeEntries reads all pages of DescribeRouteEntryList now.
func (s *Service) describeEntries(ctx context.Context, tableID string, filter cloud.Params) ([]*vpcv1.RouteEntry, error) {
	params := cloud.Params{"RouteTableId": tableID}.Merge(filter).Int("MaxResult", entriesPerPage)
	var found []*vpcv1.RouteEntry
	calls := 0
	err := cloud.Tokened(ctx, params, func(p cloud.Params) (string, error) {
		calls++
		var answer struct {
			NextToken   string
			RouteEntrys struct{ RouteEntry []entryAnswer }
		}
		if err := s.api.Read(ctx, "DescribeRouteEntryList", p, &answer); err != nil {
			return "", err
		}
		for _, a := range answer.RouteEntrys.RouteEntry {
			found = append(found, a.decode(tableID))
		}
		return answer.NextToken, nil
	})
	if err == nil && len(filter) == 0 {
		s.pages.set(tableID, calls)
	}
	return cloud.SortedBy(found, (*vpcv1.RouteEntry).GetDestinationCidr), err
}
