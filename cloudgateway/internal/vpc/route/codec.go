package route

import (
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

// decode reads one entry in the answer to DescribeRouteEntryList. It takes the next hop from the list of next hops;
// older answers have it in the entry itself.
func decode(item []byte) (*vpcv1.RouteEntry, error) {
	entry := &vpcv1.RouteEntry{}
	err := cloud.Decode(item, cloud.Fields{
		"RouteEntryId":         &entry.RouteEntryId,
		"RouteEntryName":       &entry.Name,
		"RouteTableId":         &entry.RouteTableId,
		"DestinationCidrBlock": &entry.DestinationCidr,
		"Description":          &entry.Description,
		"Status":               &entry.Status,
		"Type":                 &entry.Type,
		"NextHopType":          &entry.NextHopType,
		"InstanceId":           &entry.NextHopId,
		"NextHops":             cloud.Fields{"NextHop": cloud.Each(&entry.NextHops, decodeHop)},
	})
	switch hops := entry.GetNextHops(); {
	case len(hops) == 1:
		entry.NextHopId, entry.NextHopType, entry.NextHops = hops[0].GetNextHopId(), hops[0].GetNextHopType(), nil
	case len(hops) > 1:
		entry.NextHopId, entry.NextHopType, entry.MultipleNextHops = "", "", true
	}
	return entry, err
}

func decodeHop(item []byte) (*vpcv1.NextHop, error) {
	weight := new(int32)
	hop := &vpcv1.NextHop{Weight: weight}
	return hop, cloud.Decode(item, cloud.Fields{"NextHopId": &hop.NextHopId, "NextHopType": &hop.NextHopType, "Weight": weight})
}

// decodeTable reads one table in the answer to DescribeRouteTableList.
func decodeTable(item []byte) (*vpcv1.RouteTable, error) {
	t := &vpcv1.RouteTable{}
	return t, cloud.Decode(item, cloud.Fields{
		"RouteTableId":    &t.RouteTableId,
		"VpcId":           &t.VpcId,
		"RouteTableType":  &t.Type,
		"RouteTableName":  &t.Name,
		"Description":     &t.Description,
		"Status":          &t.Status,
		"ResourceGroupId": &t.ResourceGroupId,
		"VSwitchIds":      cloud.Fields{"VSwitchId": &t.VswitchIds},
		"Tags":            cloud.TagsInto(&t.Tags),
	})
}
