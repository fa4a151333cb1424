package route

import (
	"fmt"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check"
)

// Checks are the rules of requests beyond those in the protocol.
func Checks() []check.Rule {
	return []check.Rule{
		check.Of(func(c *check.Request, r *vpcv1.BatchCreateRouteEntriesRequest) {
			checkEntries(c, r.GetRouteEntries(), func(field string, e *vpcv1.RouteEntry) {
				c.Network(field+".destination_cidr", e.GetDestinationCidr())
				checkHops(c, field, e)
				c.Text(field+".name", e.GetName(), 0, 128)
				c.Text(field+".description", e.GetDescription(), 0, 256)
			})
		}),
		check.Of(func(c *check.Request, r *vpcv1.BatchDeleteRouteEntriesRequest) {
			checkEntries(c, r.GetRouteEntries(), func(field string, e *vpcv1.RouteEntry) {
				switch {
				case e.GetRouteEntryId() != "":
					c.ID(field+".route_entry_id", e.GetRouteEntryId())
				case len(e.GetNextHops()) > 0:
					c.Addf(field+".route_entry_id", "is required for an entry with several next hops")
				default:
					c.Network(field+".destination_cidr", e.GetDestinationCidr())
					c.ID(field+".next_hop_id", e.GetNextHopId())
				}
			})
		}),
		check.Of(func(c *check.Request, r *vpcv1.UpdateRouteEntryRequest) {
			hop := r.GetNextHop()
			if hop == nil {
				return
			}
			c.ID("next_hop.next_hop_id", hop.GetNextHopId())
			c.OptionalID("next_hop.next_hop_type", hop.GetNextHopType())
			if hop.Weight != nil {
				c.Addf("next_hop.weight", "is for entries with several next hops only")
			}
		}),
	}
}

// checkHops checks where a new entry leads: to one next hop, or to several.
func checkHops(c *check.Request, field string, e *vpcv1.RouteEntry) {
	const least, most, heaviest = 2, 16, 255
	if len(e.GetNextHops()) == 0 {
		c.ID(field+".next_hop_id", e.GetNextHopId())
		c.OptionalID(field+".next_hop_type", e.GetNextHopType())
		return
	}
	if e.GetNextHopId() != "" || e.GetNextHopType() != "" {
		c.Addf(field+".next_hops", "can't be combined with next_hop_id and next_hop_type")
	}
	if n := len(e.GetNextHops()); n < least || n > most {
		c.Addf(field+".next_hops", "has %d items, must have %d to %d", n, least, most)
	}
	seen := map[string]bool{}
	for i, hop := range e.GetNextHops()[:min(most, len(e.GetNextHops()))] {
		at := fmt.Sprintf("%s.next_hops[%d]", field, i)
		c.ID(at+".next_hop_id", hop.GetNextHopId())
		c.OptionalID(at+".next_hop_type", hop.GetNextHopType())
		c.Number(at+".weight", hop.GetWeight(), 0, heaviest)
		if seen[hop.GetNextHopId()] {
			c.Addf(at+".next_hop_id", "%q is there twice", check.Shorten(hop.GetNextHopId()))
		}
		seen[hop.GetNextHopId()] = true
	}
}

// checkEntries checks each entry, and that none is there twice.
func checkEntries(c *check.Request, entries []*vpcv1.RouteEntry, each func(field string, e *vpcv1.RouteEntry)) {
	type identity struct{ table, id, destination string }
	seen := map[identity]string{}
	for i, e := range entries {
		field := fmt.Sprintf("route_entries[%d]", i)
		each(field, e)
		key := identity{table: e.GetRouteTableId(), id: e.GetRouteEntryId(), destination: e.GetDestinationCidr()}
		if first, ok := seen[key]; ok {
			c.Addf(field, "is the same entry as %s", first)
			continue
		}
		seen[key] = field
	}
}
