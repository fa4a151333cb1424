package vpc

import (
	"context"

	"google.golang.org/protobuf/proto"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

// statusAvailable is the state of an entry that is in force.
const statusAvailable = "Available"

// ListRouteEntries reads every entry that matches, ordered by destination.
func (c *Client) ListRouteEntries(ctx context.Context, r *vpcv1.ListRouteEntriesRequest) ([]*vpcv1.RouteEntry, error) {
	maxAge := r.GetMaxAge().AsDuration()
	r = proto.CloneOf(r)
	r.MaxAge, r.DestinationCidrs = nil, cloud.Sorted(r.GetDestinationCidrs())
	return c.entries.Get(ctx, listKey(r), maxAge, func(ctx context.Context) ([]*vpcv1.RouteEntry, error) {
		var found []*vpcv1.RouteEntry
		for _, cidrs := range chunksOf(r.GetDestinationCidrs(), cidrsPerCall) {
			some, err := c.describeEntries(ctx, r.GetRouteTableId(), cloud.Params{}.
				With("RouteEntryType", r.GetType()).
				With("NextHopType", r.GetNextHopType()).
				With("NextHopId", r.GetNextHopId()).
				List("DestCidrBlockList", cidrs))
			if err != nil {
				return nil, err
			}
			found = append(found, some...)
		}
		return sortedBy(found, (*vpcv1.RouteEntry).GetDestinationCidr), nil
	})
}

// describeEntries reads all pages of DescribeRouteEntryList now.
func (c *Client) describeEntries(ctx context.Context, tableID string, filter cloud.Params) ([]*vpcv1.RouteEntry, error) {
	filter = cloud.Params{"RouteTableId": tableID}.Merge(filter).Int("MaxResult", entriesPerPage)
	var found []*vpcv1.RouteEntry
	err := cloud.Tokened(ctx, filter, func(p cloud.Params) (string, error) {
		var answer struct {
			NextToken   string
			RouteEntrys struct{ RouteEntry []entryAnswer }
		}
		if err := c.read(ctx, "DescribeRouteEntryList", p, &answer); err != nil {
			return "", err
		}
		for _, a := range answer.RouteEntrys.RouteEntry {
			found = append(found, a.decode(tableID))
		}
		return answer.NextToken, nil
	})
	return sortedBy(found, (*vpcv1.RouteEntry).GetDestinationCidr), err
}

// entryAnswer is one entry in the answer to DescribeRouteEntryList.
type entryAnswer struct {
	RouteEntryID         string `json:"RouteEntryId"`
	RouteEntryName       string
	RouteTableID         string `json:"RouteTableId"`
	DestinationCidrBlock string
	Description          string
	Status               string
	Type                 string
	NextHopType          string
	InstanceID           string `json:"InstanceId"`
	NextHops             struct{ NextHop []hopAnswer }
}

// hopAnswer is one of its next hops.
type hopAnswer struct {
	NextHopID   string `json:"NextHopId"`
	NextHopType string
	Weight      int32
}

// decode takes the next hop from the list of next hops; older answers have it in the entry itself.
func (a entryAnswer) decode(tableID string) *vpcv1.RouteEntry {
	entry := &vpcv1.RouteEntry{
		RouteEntryId:    a.RouteEntryID,
		RouteTableId:    a.RouteTableID,
		DestinationCidr: a.DestinationCidrBlock,
		Type:            a.Type,
		Status:          a.Status,
		Name:            a.RouteEntryName,
		Description:     a.Description,
		NextHopId:       a.InstanceID,
		NextHopType:     a.NextHopType,
	}
	if entry.GetRouteTableId() == "" {
		entry.RouteTableId = tableID
	}
	switch hops := a.NextHops.NextHop; {
	case len(hops) == 1:
		entry.NextHopId, entry.NextHopType = hops[0].NextHopID, hops[0].NextHopType
	case len(hops) > 1:
		entry.NextHopId, entry.NextHopType, entry.MultipleNextHops = "", "", true
		for _, hop := range hops {
			entry.NextHops = append(entry.NextHops, &vpcv1.NextHop{
				NextHopId: hop.NextHopID, NextHopType: hop.NextHopType, Weight: new(hop.Weight),
			})
		}
	}
	return entry
}
