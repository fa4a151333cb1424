package console

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

const (
	routesPerPage    = 15
	instancesPerPage = 10
)

// routesView is one page of the entries of all route tables.
type routesView struct {
	Tables []routeTable
	Pager  pager
}

// routeTable is a route table with those of its entries that are on the page.
type routeTable struct {
	ID, Name, Type, VpcID string
	Entries               []routeEntry
}

// routeEntry is an entry of a route table.
type routeEntry struct {
	Cidr, NextHop, NextHopType, Type, About string
	Status                                  mark
}

// viewRoutes finds route entries, those of customers before those of the cloud. A table without entries isn't shown: there is
// none, since the cloud's own services are in every system table.
func viewRoutes(cloud *state.Cloud, q query) routesView {
	type place struct {
		table *state.RouteTable
		entry *state.RouteEntry
	}
	var found []place
	for _, id := range slices.Sorted(maps.Keys(cloud.RouteTables)) {
		table := cloud.RouteTables[id]
		whole := q.finds(table.ID, table.Name, table.VpcID)
		entries := slices.Clone(table.Entries)
		slices.SortStableFunc(entries, func(a, b *state.RouteEntry) int { return cmp.Compare(a.Type, b.Type) }) // Custom, System
		for _, e := range entries {
			if whole || q.finds(e.Cidr, hops(e), e.Name, e.Description) {
				found = append(found, place{table, e})
			}
		}
	}
	shown, pager := paginate(q, listRoutes, found, routesPerPage)
	v := routesView{Pager: pager}
	for _, p := range shown {
		if n := len(v.Tables); n == 0 || v.Tables[n-1].ID != p.table.ID {
			v.Tables = append(v.Tables, routeTable{ID: p.table.ID, Name: p.table.Name, Type: p.table.Type, VpcID: p.table.VpcID})
		}
		last := &v.Tables[len(v.Tables)-1]
		last.Entries = append(last.Entries, routeEntry{
			Cidr: p.entry.Cidr, NextHop: hops(p.entry), NextHopType: p.entry.Hops()[0].Type, Type: p.entry.Type,
			About: strings.Join(slices.DeleteFunc([]string{p.entry.Name, p.entry.Description}, empty), ": "), Status: status(p.entry.Status),
		})
	}
	return v
}

// hops names the next hops of a route entry.
func hops(e *state.RouteEntry) string {
	var ids []string
	for _, hop := range e.Hops() {
		ids = append(ids, hop.ID)
	}
	return strings.Join(ids, ", ")
}

// instancesView is one page of instances.
type instancesView struct {
	Items []instance
	Pager pager
}

// instance is an ECS instance, or with no ID the interfaces that are attached to none.
type instance struct {
	ID, Name, Type, Zone string
	Addresses            []string
	Status               mark
	Unhealthy            bool // health checks fail because a seed or a test says so
	Interfaces           []networkInterface
}

// networkInterface is an ENI.
type networkInterface struct {
	ID, Type, Address string
	More              int // addresses beside the primary one
	Status            mark
	Check             bool // of source and destination
}

// viewInstances finds instances by themselves and by their interfaces.
func viewInstances(cloud *state.Cloud, q query) instancesView {
	attached := map[string][]*state.NetworkInterface{}
	for _, eni := range cloud.Interfaces {
		attached[eni.InstanceID] = append(attached[eni.InstanceID], eni)
	}
	var found []string
	for _, id := range slices.Sorted(maps.Keys(cloud.Instances)) {
		i := cloud.Instances[id]
		if q.finds(i.ID, i.Name, i.HostName) || q.finds(addresses(cloud, i)...) || slices.ContainsFunc(attached[id], q.findsInterface) {
			found = append(found, id)
		}
	}
	if slices.ContainsFunc(attached[""], q.findsInterface) {
		found = append(found, "")
	}
	shown, pager := paginate(q, listInstances, found, instancesPerPage)
	v := instancesView{Pager: pager}
	for _, id := range shown {
		out := instance{}
		if i := cloud.Instances[id]; i != nil {
			out = instance{
				ID: i.ID, Name: i.Name, Type: i.InstanceType, Zone: i.ZoneID, Addresses: addresses(cloud, i), Status: status(i.Status),
				Unhealthy: i.Healthy != nil && !*i.Healthy,
			}
		}
		out.Interfaces = viewInterfaces(attached[id])
		v.Items = append(v.Items, out)
	}
	return v
}

func (q query) findsInterface(eni *state.NetworkInterface) bool {
	return q.finds(eni.ID) || q.finds(eni.PrivateIPs...)
}

// maxInterfaces of one instance are shown; no type of instance has more.
const maxInterfaces = 32

func viewInterfaces(interfaces []*state.NetworkInterface) []networkInterface {
	slices.SortFunc(interfaces, func(a, b *state.NetworkInterface) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.ID, b.ID)) // Primary, Secondary
	})
	out := make([]networkInterface, 0, len(interfaces))
	for _, eni := range interfaces[:min(len(interfaces), maxInterfaces)] {
		out = append(out, networkInterface{
			ID: eni.ID, Type: eni.Type, Address: eni.PrimaryIP, More: max(0, len(eni.PrivateIPs)-1), Status: status(eni.Status),
			Check: eni.SourceDestCheck,
		})
	}
	return out
}

// addresses returns the addresses of an instance, the public ones last and with what they are.
func addresses(cloud *state.Cloud, i *state.Instance) []string {
	out := slices.Concat(i.PrivateIPs, i.InnerIPs)
	for _, ip := range i.PublicIPs {
		out = append(out, ip+" public")
	}
	if eip := cloud.Eips[i.EipID]; eip != nil {
		out = append(out, fmt.Sprintf("%s EIP", eip.Address))
	}
	return out
}
