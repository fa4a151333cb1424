package slb

import (
	"cmp"
	"slices"
	"strconv"
	"unique"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// Types of servers.
const (
	typeECS = "ecs"
	typeENI = "eni"
	typeECI = "eci"
)

// server is one item of a BackendServers parameter. A member that was not sent is nil or "".
type server struct {
	kind, id, ip string
	port         int
	weight       *int
	description  *string
}

// parseServers reads a parameter with JSON text and checks its form, not whether the servers exist.
func parseServers(c *api.Context, name string, withPort bool) ([]server, *api.Error) {
	items, ok := parseObjects(c.Get(name))
	if !ok && !withPort { // older clients send nothing but ids, ["i-1","i-2"]
		var ids []string
		ids, ok = parseStrings(c.Get(name))
		for _, id := range ids {
			items = append(items, map[string]string{"serverid": id})
		}
	}
	if !ok {
		return nil, api.BadRequest("BackendServersMalformed", "The specified parameter %s is not a JSON array of servers.", name)
	}
	if limit := c.Settings.ServersPerCall; len(items) > limit {
		return nil, tooManyServers(limit)
	}
	out := make([]server, 0, len(items))
	for _, item := range items {
		s, err := parseServer(item, name, withPort)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func parseServer(item map[string]string, name string, withPort bool) (server, *api.Error) {
	s := server{kind: cmp.Or(item["type"], typeECS), id: item["serverid"], ip: item["serverip"]}
	if s.id == "" {
		return server{}, api.Missing(name + ".ServerId")
	}
	if !slices.Contains([]string{typeECS, typeENI, typeECI}, s.kind) {
		return server{}, api.BadRequest("BackendServer.InvalidType", "The specified server type %s is not valid.", s.kind)
	}
	if withPort {
		port, err := strconv.Atoi(item["port"])
		if err != nil || port < 1 || port > 65535 {
			return server{}, api.Invalid(name + ".Port")
		}
		s.port = port
	}
	if text := item["weight"]; text != "" {
		weight, err := strconv.Atoi(text)
		if err != nil || weight < 0 || weight > 100 {
			return server{}, api.BadRequest("InvalidWeight.Malformed", "The specified weight %s is not in the range of 0 to 100.", text)
		}
		s.weight = &weight
	}
	if text, ok := item["description"]; ok && text != "" {
		if !lengthOf(1, 80)(text) {
			return server{}, api.Invalid(name + ".Description")
		}
		s.description = &text
	}
	return s, nil
}

// is reports whether an item of a parameter means a server of a group. An item without an address means any address.
func (s server) is(other *state.Server) bool {
	return s.kind == other.Type && s.id == other.ServerID && s.port == other.Port && (s.ip == "" || s.ip == other.ServerIP)
}

// place is what makes two servers the same backend.
type place struct {
	kind, id, ip string
	port         int
}

func placeOf(s *state.Server) place { return place{s.Type, s.ServerID, s.ServerIP, s.Port} }

// present returns the first of some servers that is among others as well, or nil.
func present(servers, others []*state.Server) *state.Server {
	byID := make(map[string][]place, len(servers)) // hashes little of the others, of which there can be a thousand
	for _, s := range servers {
		byID[s.ServerID] = append(byID[s.ServerID], placeOf(s))
	}
	for _, o := range others {
		if slices.Contains(byID[o.ServerID], placeOf(o)) {
			return o
		}
	}
	return nil
}

// checkDuplicates refuses a list of a parameter that has a backend twice.
func checkDuplicates(name string, servers []*state.Server) *api.Error {
	seen := make(map[place]bool, len(servers))
	for _, s := range servers {
		if seen[placeOf(s)] {
			return conflict(s, "The specified parameter %s contain duplicated value of ServerID and Port.", name)
		}
		seen[placeOf(s)] = true
	}
	return nil
}

// conflict is the error for a server that is there twice, by whether it has an address of its own.
func conflict(s *state.Server, format string, args ...any) *api.Error {
	if s.ServerIP != "" {
		return api.BadRequest("InvalidBackendServers.ServerIpConflict", format, args...)
	}
	return api.BadRequest("InvalidParameter", format, args...)
}

// newServers makes the servers of a group out of the items of a parameter, checked against what exists.
func newServers(c *api.Context, lb *state.LoadBalancer, items []server) ([]*state.Server, *api.Error) {
	out := make([]*state.Server, 0, len(items))
	for _, item := range items {
		s, err := newServer(c, lb, item)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func newServer(c *api.Context, lb *state.LoadBalancer, item server) (*state.Server, *api.Error) {
	s := &state.Server{Type: kindOf(item.kind), ServerID: item.id, ServerIP: item.ip, Port: item.port, Weight: 100, Added: c.Now}
	if item.weight != nil {
		s.Weight = *item.weight
	}
	if item.description != nil {
		s.Description = unique.Make(*item.description).Value() // the servers of a group often share theirs
	}
	if item.kind == typeENI {
		return s, bindInterface(c, lb, s)
	}
	instance := c.State.Instances[item.id]
	switch {
	case item.kind == typeECI && shared(lb):
		return nil, unsupportedType(item.kind)
	case instance == nil:
		return nil, api.BadRequest("InvalidServerId.NotExist", "The specified server %s does not exist.", item.id)
	case instance.Status != "Running":
		return nil, api.BadRequest("ObtainIpFail", "The address of the server %s cannot be obtained because it is not running.", item.id)
	case otherVpc(lb, instance.VpcID):
		return nil, otherNetwork(item.id)
	}
	s.ServerID = instance.ID // the same text, but one for all
	return s, nil
}

// kindOf returns one text for all servers of a type.
func kindOf(kind string) string {
	switch kind {
	case typeENI:
		return typeENI
	case typeECI:
		return typeECI
	}
	return typeECS
}

// bindInterface checks a network interface and fills in its address.
func bindInterface(c *api.Context, lb *state.LoadBalancer, s *state.Server) *api.Error {
	eni := c.State.Interfaces[s.ServerID]
	switch {
	case shared(lb):
		return unsupportedType(s.Type)
	case eni == nil:
		return api.BadRequest("InvalidServerId.NotExist", "The specified server %s does not exist.", s.ServerID)
	case otherVpc(lb, eni.VpcID):
		return otherNetwork(s.ServerID)
	case s.ServerIP == "", s.ServerIP == eni.PrimaryIP:
		s.ServerIP = eni.PrimaryIP
	case !slices.Contains(eni.PrivateIPs, s.ServerIP) && !slices.Contains(eni.Ipv6Addresses, s.ServerIP):
		return api.NotFound("ResourceNotFound.vServers", "The address %s is not one of the network interface %s.", s.ServerIP, s.ServerID)
	}
	s.ServerID = eni.ID
	return nil
}

// shownSpec is the specification that a load balancer is shown with; one that is paid by use has one as well.
func shownSpec(lb *state.LoadBalancer) string {
	if lb.InstanceChargeType == payByCLCU {
		return elasticSpec
	}
	return lb.Spec
}

// shared reports whether a load balancer has no guaranteed performance, as old ones.
func shared(lb *state.LoadBalancer) bool { return lb.InstanceChargeType != payByCLCU && lb.Spec == "" }

func unsupportedType(kind string) *api.Error {
	return api.BadRequest("BackendServer.InvalidType", "The loadbalancer does not support backend servers of %s type.", kind)
}

// otherVpc reports whether a server is out of reach. An internet load balancer reaches the servers of one VPC, whichever it is.
func otherVpc(lb *state.LoadBalancer, vpcID string) bool { return lb.VpcID != "" && lb.VpcID != vpcID }

func otherNetwork(id string) *api.Error {
	return api.BadRequest("NetworkConflict", "The server %s is not in the network of the load balancer.", id)
}

// checkServerQuotas refuses servers beyond what one load balancer can have and beyond how often a server can be a backend; those
// that leave in the same change do not count. A server counts once per load balancer, in however many groups and with however
// many ports it is.
func checkServerQuotas(c *api.Context, lb *state.LoadBalancer, leaving, more []*state.Server) *api.Error {
	times, backends := c.State.Attached(lb.ID, more, leaving)
	perServer, perBalancer := c.Settings.Quotas.ServerAttachments, c.Settings.Quotas.Servers
	for _, s := range more {
		if perServer > 0 && times[s.ServerID] > perServer {
			return api.BadRequest("OverQuota", "The server %s is a backend more than %d times.", s.ServerID, perServer)
		}
	}
	if perBalancer > 0 && backends > perBalancer {
		return api.BadRequest("InstanceBackendServerNumberOverLimit",
			"The number of backend servers of the load balancer exceeds the quota of %d.", perBalancer)
	}
	return nil
}
