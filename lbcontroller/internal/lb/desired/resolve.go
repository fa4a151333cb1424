package desired

import (
	"slices"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
)

// PodAddresses are the addresses of pods among the servers of server groups, sorted.
func PodAddresses(lists ...[]model.Group) []string {
	var ips []string
	for _, groups := range lists {
		for _, g := range groups {
			for _, s := range g.Servers {
				if isPod(s) {
					ips = append(ips, s.IP)
				}
			}
		}
	}
	slices.Sort(ips)
	return slices.Compact(ips)
}

func isPod(s model.Server) bool { return s.Type == model.ENI }

// Resolve returns the groups with the network interfaces of their pods, by address. A pod whose interface isn't known is unresolved, and
// those that weren't looked up yet are pending, in order.
func Resolve(groups []model.Group, interfaces map[string]string, pending []string) []model.Group {
	resolved := slices.Clone(groups)
	for i := range resolved {
		g := &resolved[i]
		g.Unresolved, g.Pending = nil, false
		if !slices.ContainsFunc(g.Servers, isPod) {
			continue // Lists of a thousand nodes are long to copy.
		}
		g.Servers = slices.Clone(g.Servers)
		for n := range g.Servers {
			s := &g.Servers[n]
			if !isPod(*s) {
				continue
			}
			if s.ID = interfaces[s.IP]; s.ID == "" {
				g.Unresolved = append(g.Unresolved, s.IP)
				_, isPending := slices.BinarySearch(pending, s.IP)
				g.Pending = g.Pending || isPending
			}
		}
		slices.SortFunc(g.Servers, model.Server.Compare)
	}
	return resolved
}
