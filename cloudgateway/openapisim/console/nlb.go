package console

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

const nlbsPerPage = 10

// nlbsView is one page of Network Load Balancers.
type nlbsView struct {
	Items []nlb
	Pager pager
}

// nlb is a Network Load Balancer with its listeners.
type nlb struct {
	ID, Name, DNSName, AddressType string
	Status                         mark
	Zones                          []string // zone and addresses
	Listeners                      []nlbListener
	Jobs                           int // that are running
}

// nlbListener is a listener and what it forwards to.
type nlbListener struct {
	ID, Protocol, Ports string
	Status              mark
	GroupID, GroupName  string
	GroupStatus         mark
	Servers, Changing   int // Changing are those that are being added, changed or removed
}

// viewNLBs finds Network Load Balancers, also by what hangs on them.
func viewNLBs(cloud *state.Cloud, q query) nlbsView {
	listeners := map[string][]*state.NLBListener{}
	for _, id := range slices.Sorted(maps.Keys(cloud.NLBListeners)) {
		l := cloud.NLBListeners[id]
		listeners[l.NLBID] = append(listeners[l.NLBID], l)
	}
	var found []*state.NLB
	for _, id := range slices.Sorted(maps.Keys(cloud.NLBs)) {
		if lb := cloud.NLBs[id]; findsNLB(cloud, q, lb, listeners[id]) {
			found = append(found, lb)
		}
	}
	jobs := map[string]int{}
	for _, id := range cloud.NLBRunningJobs {
		if j := cloud.NLBJobs[id]; j != nil {
			jobs[j.NLBID]++
		}
	}
	shown, pager := paginate(q, listNLBs, found, nlbsPerPage)
	v := nlbsView{Pager: pager}
	for _, lb := range shown {
		item := nlb{ID: lb.ID, Name: lb.Name, DNSName: lb.DNSName, AddressType: lb.AddressType, Status: status(lb.Status), Jobs: jobs[lb.ID]}
		for _, z := range lb.Zones {
			item.Zones = append(item.Zones, fmt.Sprint(z.ZoneID, " ", z.PrivateIP, " ", z.PublicIP))
		}
		for _, l := range listeners[lb.ID] {
			item.Listeners = append(item.Listeners, viewNLBListener(cloud, l))
		}
		v.Items = append(v.Items, item)
	}
	return v
}

func findsNLB(cloud *state.Cloud, q query, lb *state.NLB, listeners []*state.NLBListener) bool {
	words := []string{lb.ID, lb.Name, lb.DNSName}
	for _, t := range lb.Tags {
		words = append(words, t.Key, t.Value)
	}
	for _, l := range listeners {
		words = append(words, l.ID, l.Description, l.ServerGroupID)
		if g := cloud.NLBServerGroups[l.ServerGroupID]; g != nil {
			words = append(words, g.Name)
			for _, s := range g.Servers {
				words = append(words, s.ServerID, s.ServerIP)
			}
		}
	}
	return q.finds(words...)
}

func viewNLBListener(cloud *state.Cloud, l *state.NLBListener) nlbListener {
	v := nlbListener{ID: l.ID, Protocol: l.Protocol, Ports: fmt.Sprint(l.Port), Status: status(l.Status), GroupID: l.ServerGroupID}
	if l.Port == 0 {
		v.Ports = fmt.Sprint(l.StartPort, "–", l.EndPort)
	}
	if g := cloud.NLBServerGroups[l.ServerGroupID]; g != nil {
		v.GroupName, v.GroupStatus, v.Servers = g.Name, status(cmp.Or(g.Status, "Available")), len(g.Servers)
		for _, s := range g.Servers {
			if s.Status != "" && s.Status != "Available" {
				v.Changing++
			}
		}
	}
	return v
}
