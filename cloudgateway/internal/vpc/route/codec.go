package route

import vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

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
