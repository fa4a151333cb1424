package desired

import (
	"slices"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/clb/model"
)

// PodAddresses are the addresses of pods among the servers of vServer groups, sorted.
func PodAddresses(lists ...[]model.Group) []string {
	var ips []string
	for _, groups := range lists {
		for _, g := range groups {
			for _, s := range g.Servers {
				if s.Type == slbv1.ServerType_SERVER_TYPE_ENI {
					ips = append(ips, s.IP)
				}
			}
		}
	}
	slices.Sort(ips)
	return slices.Compact(ips)
}

// Resolve returns the groups with the network interfaces of their pods, by address. A pod whose interface isn't known is unresolved.
func Resolve(groups []model.Group, interfaces map[string]string) []model.Group {
	resolved := slices.Clone(groups)
	for i := range resolved {
		g := &resolved[i]
		g.Servers, g.Unresolved = slices.Clone(g.Servers), nil
		for n := range g.Servers {
			s := &g.Servers[n]
			if s.Type != slbv1.ServerType_SERVER_TYPE_ENI {
				continue
			}
			if s.ID = interfaces[s.IP]; s.ID == "" {
				g.Unresolved = append(g.Unresolved, s.IP)
			}
		}
		slices.SortFunc(g.Servers, model.Server.Compare)
	}
	return resolved
}
