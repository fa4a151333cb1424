package route

import (
	"fmt"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check"
	"alicloud-controllers.dev/cloudgateway/internal/vpc/routetable"
)

// Checks are the rules of the service's requests.
func Checks() []check.Rule {
	return append(routetable.Checks(),
		check.Of(func(c *check.Request, r *vpcv1.ListRouteEntriesRequest) {
			c.ID("route_table_id", r.GetRouteTableId())
			c.OneOf("type", r.GetType(), "Custom", "System", "BGP", "CEN", "ECR")
			c.OptionalID("next_hop_type", r.GetNextHopType())
			c.OptionalID("next_hop_id", r.GetNextHopId())
			if c.Items("destination_cidrs", len(r.GetDestinationCidrs()), check.MaxItems) {
				for i, cidr := range r.GetDestinationCidrs() {
					c.Network(fmt.Sprintf("destination_cidrs[%d]", i), cidr)
				}
			}
		}),
		check.Of(func(c *check.Request, r *vpcv1.BatchCreateRouteEntriesRequest) {
			c.ID("vpc_id", r.GetVpcId())
			checkEntries(c, r.GetRouteEntries(), func(field string, e *vpcv1.RouteEntry) {
				c.Network(field+".destination_cidr", e.GetDestinationCidr())
				checkHops(c, field, e)
				c.Text(field+".name", e.GetName(), 0, 128)
				c.Text(field+".description", e.GetDescription(), 0, 256)
			})
		}),
		check.Of(func(c *check.Request, r *vpcv1.BatchDeleteRouteEntriesRequest) {
			c.ID("vpc_id", r.GetVpcId())
			checkEntries(c, r.GetRouteEntries(), func(field string, e *vpcv1.RouteEntry) {
				if e.GetRouteEntryId() != "" {
					c.ID(field+".route_entry_id", e.GetRouteEntryId())
					return
				}
				if len(e.GetNextHops()) > 0 {
					c.Addf(field+".route_entry_id", "is required for an entry with several next hops")
					return
				}
				c.Network(field+".destination_cidr", e.GetDestinationCidr())
				c.ID(field+".next_hop_id", e.GetNextHopId())
			})
		}),
		check.Of(func(c *check.Request, r *vpcv1.UpdateRouteEntryRequest) {
			c.ID("vpc_id", r.GetVpcId())
			c.ID("route_table_id", r.GetRouteTableId())
			c.ID("route_entry_id", r.GetRouteEntryId())
			if r.Name != nil {
				c.Name(r.GetName(), 1)
			}
			if r.Description != nil {
				c.Description(r.GetDescription(), 1)
			}
			if hop := r.GetNextHop(); hop != nil {
				c.ID("next_hop.next_hop_id", hop.GetNextHopId())
				c.OptionalID("next_hop.next_hop_type", r.GetNextHop().GetNextHopType())
				if hop.Weight != nil {
					c.Addf("next_hop.weight", "is for entries with several next hops only")
				}
			}
			if r.Name == nil && r.Description == nil && r.GetNextHop() == nil {
				c.Addf("name", "the request changes nothing; at least one attribute is required")
			}
		}),
	)
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
			c.Addf(at+".next_hop_id", "%q is there twice", hop.GetNextHopId())
		}
		seen[hop.GetNextHopId()] = true
	}
}

// checkEntries checks each entry, and that none is there twice.
func checkEntries(c *check.Request, entries []*vpcv1.RouteEntry, each func(field string, e *vpcv1.RouteEntry)) {
	if !c.Items("route_entries", len(entries), check.MaxItems) {
		return
	}
	type identity struct{ table, id, destination string }
	seen := map[identity]string{}
	for i, e := range entries {
		field := fmt.Sprintf("route_entries[%d]", i)
		c.ID(field+".route_table_id", e.GetRouteTableId())
		each(field, e)
		key := identity{table: e.GetRouteTableId(), id: e.GetRouteEntryId(), destination: e.GetDestinationCidr()}
		if first, ok := seen[key]; ok {
			c.Addf(field, "is the same entry as %s", first)
			continue
		}
		seen[key] = field
	}
}
