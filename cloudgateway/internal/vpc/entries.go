package vpc

import (
	"context"
	"fmt"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

// statusAvailable is the state of an entry that is in force.
const statusAvailable = "Available"

// entriesKey names a listing of entries.
type entriesKey struct{ tableID, kind, nextHopType string }

// ListRouteEntries reads every entry that matches, ordered by destination.
func (c *Client) ListRouteEntries(ctx context.Context, r *vpcv1.ListRouteEntriesRequest) ([]*vpcv1.RouteEntry, error) {
	key := entriesKey{tableID: r.GetRouteTableId(), kind: r.GetType(), nextHopType: r.GetNextHopType()}
	return c.entries.Get(ctx, fmt.Sprintf("%q", key), r.GetMaxAge().AsDuration(), func(ctx context.Context) ([]*vpcv1.RouteEntry, error) {
		return c.describeEntries(ctx, key)
	})
}

// describeEntries reads all pages of DescribeRouteEntryList now.
func (c *Client) describeEntries(ctx context.Context, key entriesKey) ([]*vpcv1.RouteEntry, error) {
	filter := cloud.Params{"RouteTableId": key.tableID}.
		With("RouteEntryType", key.kind).
		With("NextHopType", key.nextHopType).
		Int("MaxResult", entriesPerPage)
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
			found = append(found, a.decode(key.tableID))
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
	NextHops             struct {
		NextHop []struct {
			NextHopID   string `json:"NextHopId"`
			NextHopType string
		}
	}
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
		entry.NextHopId, entry.MultipleNextHops = "", true
	}
	return entry
}
