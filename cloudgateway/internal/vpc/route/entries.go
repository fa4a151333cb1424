package route

import (
	"context"
	"fmt"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

// ListRouteEntries reads every entry that matches, ordered by destination.
func (s *Service) ListRouteEntries(ctx context.Context, r *vpcv1.ListRouteEntriesRequest) (*vpcv1.ListRouteEntriesResponse, error) {
	cidrs, filter := cloud.Sorted(r.GetDestinationCidrs()), cloud.Params{}.
		With("RouteEntryType", r.GetType()).
		With("NextHopType", r.GetNextHopType()).
		With("NextHopId", r.GetNextHopId())
	key := fmt.Sprintf("%q %q %q", r.GetRouteTableId(), filter, cidrs)
	list, err := s.entries.Do(ctx, key, r.GetMaxAge().AsDuration(), func(ctx context.Context) ([]*vpcv1.RouteEntry, error) {
		found, err := cloud.InChunks(cidrs, cidrsPerCall, func(some []string) ([]*vpcv1.RouteEntry, error) {
			return s.describeEntries(ctx, r.GetRouteTableId(), cloud.Params{}.Merge(filter).List("DestCidrBlockList", some))
		})
		return cloud.SortedBy(found, (*vpcv1.RouteEntry).GetDestinationCidr), err
	})
	return cloud.Answer(&vpcv1.ListRouteEntriesResponse{RouteEntries: list}, err)
}

// describeEntries reads all pages of DescribeRouteEntryList now.
func (s *Service) describeEntries(ctx context.Context, tableID string, filter cloud.Params) ([]*vpcv1.RouteEntry, error) {
	params := cloud.Params{"RouteTableId": tableID}.Merge(filter).Int("MaxResult", entriesPerPage)
	var found []*vpcv1.RouteEntry
	calls := 0
	err := cloud.Tokened(ctx, params, func(p cloud.Params) (next string, err error) {
		calls++
		err = s.api.Read(ctx, "DescribeRouteEntryList", p, &cloud.Fields{
			"NextToken": &next, "RouteEntrys": cloud.Fields{"RouteEntry": cloud.Each(&found, decode)},
		})
		return next, err
	})
	if err == nil && len(filter) == 0 {
		s.pages.Put(tableID, calls, pagesLife)
	}
	for _, e := range found {
		e.RouteTableId = tableID // Older answers leave it out.
	}
	return cloud.SortedBy(found, (*vpcv1.RouteEntry).GetDestinationCidr), err
}
