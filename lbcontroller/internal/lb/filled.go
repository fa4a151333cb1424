package lb

import (
	"fmt"
	"slices"

	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
)

// shownServers bounds the list of servers that is shown of a server group.
const shownServers = 50

// filled are the servers that a Service has in server groups of users, nil if it names none.
func filled(want *model.Desired, observed model.Observed) *controller.Filled {
	isUsers := func(g model.Group) bool { return g.ID != "" && !g.BuiltIn }
	if !slices.ContainsFunc(want.Groups, isUsers) {
		return nil
	}
	f := &controller.Filled{Servers: []string{}}
	for _, g := range observed.Groups {
		if !slices.ContainsFunc(want.Groups, func(w model.Group) bool { return isUsers(w) && w.ID == g.ID }) {
			continue
		}
		for _, s := range g.Servers {
			if !want.Owner.Owns(s.Description) {
				continue
			}
			if f.Count++; f.Count <= shownServers {
				f.Servers = append(f.Servers, textOf(s))
			}
		}
	}
	slices.Sort(f.Servers)
	return f
}

func textOf(s model.Server) string {
	id := s.ID
	if s.IP != "" && s.IP != id {
		id += "/" + s.IP
	}
	return fmt.Sprintf("%s:%d=%d", id, s.Port, s.Weight)
}
