package gatewaytest

import (
	"context"
	"maps"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/proto/rpcerr"
)

// serversPerCall is what the cloud takes in one call.
const serversPerCall = 40

// serverGroups serves vServer groups.
type serverGroups struct {
	slbv1.UnimplementedServerGroupServiceServer

	f *Fake
}

// groupsOf lists an instance's groups by id; f is locked.
func (f *Fake) groupsOf(loadBalancerID string) []*ServerGroup {
	var found []*ServerGroup
	for _, id := range slices.SortedFunc(maps.Keys(f.ServerGroups), strings.Compare) {
		if f.ServerGroups[id].LoadBalancerID == loadBalancerID {
			found = append(found, f.ServerGroups[id])
		}
	}
	return found
}

// message gives the group as the gateway answers it, with or without its servers.
func (g *ServerGroup) message(withServers bool) *slbv1.ServerGroup {
	m := &slbv1.ServerGroup{
		ServerGroupId: g.ID, Name: g.Name, ServersLoaded: withServers,
		ServerCount: int32(len(g.Servers)),
	}
	if withServers {
		m.Servers = cloneAll(g.Servers)
	}
	return m
}

// serverKey is a server's identity.
type serverKey struct {
	kind   slbv1.ServerType
	id, ip string
	port   int32
}

// keyOfServer leaves out the address of an instance, which the cloud fills in and takes no notice of.
func keyOfServer(s *slbv1.Server) serverKey {
	key := serverKey{kind: s.GetType(), id: s.GetServerId(), ip: s.GetServerIp(), port: s.GetPort()}
	if key.kind == slbv1.ServerType_SERVER_TYPE_ECS {
		key.ip = ""
	}
	return key
}

// find gives the position of a server in the group, -1 if it is not there.
func (g *ServerGroup) find(s *slbv1.Server) int {
	return slices.IndexFunc(g.Servers, func(other *slbv1.Server) bool { return keyOfServer(other) == keyOfServer(s) })
}

// serverGroup finds a group; f is locked.
func (f *Fake) serverGroup(id string) (*ServerGroup, error) {
	if err := required("server_group_id", id); err != nil {
		return nil, err
	}
	group, ok := f.ServerGroups[id]
	if !ok {
		return nil, notFound(rpcerr.ServerGroupNotFound, "server group", id)
	}
	return group, nil
}

func (s *serverGroups) GetServerGroup(_ context.Context, req *slbv1.GetServerGroupRequest,
) (*slbv1.GetServerGroupResponse, error) {
	s.f.enter()
	defer s.f.leave()
	group, err := s.f.serverGroup(req.GetServerGroupId())
	if err != nil {
		return nil, err
	}
	return &slbv1.GetServerGroupResponse{ServerGroup: group.message(true)}, nil
}

func (s *serverGroups) ListServerGroups(_ context.Context, req *slbv1.ListServerGroupsRequest,
) (*slbv1.ListServerGroupsResponse, error) {
	s.f.enter()
	defer s.f.leave()
	if _, err := s.f.loadBalancer(req.GetLoadBalancerId()); err != nil {
		return nil, err
	}
	response := &slbv1.ListServerGroupsResponse{}
	for _, group := range s.f.groupsOf(req.GetLoadBalancerId()) {
		response.ServerGroups = append(response.ServerGroups, group.message(false))
	}
	return response, nil
}

func (s *serverGroups) CreateServerGroup(_ context.Context, req *slbv1.CreateServerGroupRequest,
) (*slbv1.CreateServerGroupResponse, error) {
	s.f.enter()
	defer s.f.leave()
	earlier, err := s.f.replay(req.GetRequestId(), req)
	if err != nil {
		return nil, err
	}
	if response, ok := earlier.(*slbv1.CreateServerGroupResponse); ok {
		return proto.CloneOf(response), nil
	}
	if _, err := s.f.loadBalancer(req.GetLoadBalancerId()); err != nil {
		return nil, err
	}
	if err := firstError(required("name", req.GetName()), validServers("servers", req.GetServers())); err != nil {
		return nil, err
	}
	servers, missing := s.f.existing(req.GetServers())
	if err := s.f.roomFor(len(servers)); err != nil {
		return nil, err
	}
	id := s.f.nextID("rsp")
	s.f.ServerGroups[id] = &ServerGroup{ID: id, LoadBalancerID: req.GetLoadBalancerId(), Name: req.GetName(), Servers: cloneAll(servers)}
	if missing != nil {
		return nil, missing
	}
	response := &slbv1.CreateServerGroupResponse{ServerGroupId: id}
	s.f.remember(req.GetRequestId(), req, response)
	return response, nil
}

// validServers checks the servers of a request.
func validServers(field string, servers []*slbv1.Server) error {
	for _, s := range servers {
		if s.GetPort() < 1 || s.GetPort() > maxPort {
			return invalid(field+".port", "%d is not in 1 to %d", s.GetPort(), maxPort)
		}
	}
	return validDefaultServers(field, servers)
}

// validDefaultServers is the same for servers without a port.
func validDefaultServers(field string, servers []*slbv1.Server) error {
	const maxWeight = 100
	for _, s := range servers {
		switch {
		case s.Weight == nil: // The gateway would take 100. A controller that leaves it to that has a defect.
			return invalid(field+".weight", "is not there")
		case s.GetWeight() < 0 || s.GetWeight() > maxWeight:
			return invalid(field+".weight", "%d is not in 0 to %d", s.GetWeight(), maxWeight)
		}
		switch s.GetType() {
		case slbv1.ServerType_SERVER_TYPE_UNSPECIFIED:
			return invalid(field+".type", "is required")
		case slbv1.ServerType_SERVER_TYPE_ENI:
			if s.GetServerIp() == "" {
				return invalid(field+".server_ip", "is required for a network interface")
			}
		case slbv1.ServerType_SERVER_TYPE_ECS, slbv1.ServerType_SERVER_TYPE_ECI:
		}
	}
	return nil
}

// existing are the servers that there are, and the error about the others: the gateway leaves these out and does the rest; f is locked.
func (f *Fake) existing(servers []*slbv1.Server) (there []*slbv1.Server, missing error) {
	for _, s := range servers {
		exists := true
		switch s.GetType() {
		case slbv1.ServerType_SERVER_TYPE_ECS:
			_, exists = f.Instances[s.GetServerId()]
		case slbv1.ServerType_SERVER_TYPE_ENI:
			_, exists = f.NetworkInterfaces[s.GetServerId()]
		case slbv1.ServerType_SERVER_TYPE_UNSPECIFIED, slbv1.ServerType_SERVER_TYPE_ECI:
		}
		if exists {
			there = append(there, s)
		} else if missing == nil {
			missing = notFound(rpcerr.ServerNotFound, "server", s.GetServerId())
		}
	}
	return there, missing
}

// roomFor refuses a group of n servers beyond the quota; f is locked.
func (f *Fake) roomFor(n int) error {
	if n > f.ServersPerGroup {
		return refused(codes.ResourceExhausted, rpcerr.ServerLimit, "%d servers in a group, at most %d are allowed", n, f.ServersPerGroup)
	}
	return nil
}

func (s *serverGroups) ApplyServerChanges(_ context.Context, req *slbv1.ApplyServerChangesRequest,
) (*slbv1.ApplyServerChangesResponse, error) {
	s.f.enter()
	defer s.f.leave()
	group, err := s.f.groupOn(req.GetServerGroupId(), req.GetLoadBalancerId())
	if err != nil {
		return nil, err
	}
	if err := firstError(validServers("add", req.GetAdd()), validServers("update", req.GetUpdate())); err != nil {
		return nil, err
	}
	if err := s.f.change(group, req); err != nil {
		return nil, err
	}
	calls := callsFor(max(len(req.GetAdd()), len(req.GetRemove()))) + callsFor(len(req.GetUpdate()))
	return &slbv1.ApplyServerChangesResponse{CloudCalls: calls}, nil
}

// change makes the changes on a copy first, so that a refused request has none; f is locked. With a server that there isn't it makes
// all others.
func (f *Fake) change(group *ServerGroup, req *slbv1.ApplyServerChangesRequest) error {
	add, noSuch := f.existing(req.GetAdd())
	update, gone := f.existing(req.GetUpdate())
	after := &ServerGroup{ID: group.ID, Servers: cloneAll(group.Servers)}
	if req.GetRemoveFirst() {
		after.remove(req.GetRemove())
	}
	after.add(add)
	if err := f.roomFor(len(after.Servers)); err != nil {
		return err
	}
	after.remove(req.GetRemove())
	for _, changed := range update {
		i := after.find(changed)
		if i < 0 {
			return notFound(rpcerr.ServerNotFound, "server of the group", changed.GetServerId())
		}
		after.Servers[i] = proto.CloneOf(changed)
	}
	group.Servers = after.Servers
	return firstError(noSuch, gone)
}

func (s *serverGroups) GetDefaultServerGroup(_ context.Context, req *slbv1.GetDefaultServerGroupRequest,
) (*slbv1.GetDefaultServerGroupResponse, error) {
	s.f.enter()
	defer s.f.leave()
	if _, err := s.f.loadBalancer(req.GetLoadBalancerId()); err != nil {
		return nil, err
	}
	response := &slbv1.GetDefaultServerGroupResponse{}
	if group := s.f.DefaultGroups[req.GetLoadBalancerId()]; group != nil {
		for _, server := range group.Servers {
			response.Servers = append(response.Servers, &slbv1.DefaultServer{
				Type: server.GetType(), ServerId: server.GetServerId(), ServerIp: server.GetServerIp(), Weight: server.Weight,
				Description: server.GetDescription(),
			})
		}
	}
	return response, nil
}

func (s *serverGroups) ApplyDefaultServerChanges(_ context.Context, req *slbv1.ApplyDefaultServerChangesRequest,
) (*slbv1.ApplyDefaultServerChangesResponse, error) {
	s.f.enter()
	defer s.f.leave()
	id := req.GetLoadBalancerId()
	if _, err := s.f.loadBalancer(id); err != nil {
		return nil, err
	}
	add, remove, update := withoutPorts(req.GetAdd()), withoutPorts(req.GetRemove()), withoutPorts(req.GetUpdate())
	if err := firstError(validDefaultServers("add", add), validDefaultServers("update", update)); err != nil {
		return nil, err
	}
	group := s.f.DefaultGroups[id]
	if group == nil {
		group = &ServerGroup{LoadBalancerID: id}
		s.f.DefaultGroups[id] = group
	}
	if err := s.f.change(group, &slbv1.ApplyServerChangesRequest{Add: add, Remove: remove, Update: update,
		RemoveFirst: req.GetRemoveFirst()}); err != nil {
		return nil, err
	}
	return &slbv1.ApplyDefaultServerChangesResponse{CloudCalls: callsFor(len(add)) + callsFor(len(remove)) + callsFor(len(update))}, nil
}

func withoutPorts(servers []*slbv1.DefaultServer) []*slbv1.Server {
	list := make([]*slbv1.Server, 0, len(servers))
	for _, s := range servers {
		list = append(list, &slbv1.Server{
			Type: s.GetType(), ServerId: s.GetServerId(), ServerIp: s.GetServerIp(), Weight: s.Weight, Description: s.GetDescription(),
		})
	}
	return list
}

// callsFor is the number of cloud calls for n servers.
func callsFor(n int) int32 {
	return int32((n + serversPerCall - 1) / serversPerCall)
}

func (g *ServerGroup) add(servers []*slbv1.Server) {
	for _, s := range servers {
		if i := g.find(s); i >= 0 {
			g.Servers[i] = proto.CloneOf(s)
			continue
		}
		g.Servers = append(g.Servers, proto.CloneOf(s))
	}
}

func (g *ServerGroup) remove(servers []*slbv1.Server) {
	for _, s := range servers {
		if i := g.find(s); i >= 0 {
			g.Servers = slices.Delete(g.Servers, i, i+1)
		}
	}
}

// groupOn finds a group of an instance; f is locked.
func (f *Fake) groupOn(groupID, loadBalancerID string) (*ServerGroup, error) {
	if _, err := f.loadBalancer(loadBalancerID); err != nil {
		return nil, err
	}
	group, err := f.serverGroup(groupID)
	if err != nil {
		return nil, err
	}
	if group.LoadBalancerID != loadBalancerID {
		return nil, invalid("load_balancer_id", "%s belongs to %s", groupID, group.LoadBalancerID)
	}
	return group, nil
}

func (s *serverGroups) DeleteServerGroup(_ context.Context, req *slbv1.DeleteServerGroupRequest,
) (*slbv1.DeleteServerGroupResponse, error) {
	if err := firstError(required("server_group_id", req.GetServerGroupId()),
		required("load_balancer_id", req.GetLoadBalancerId())); err != nil {
		return nil, err
	}
	s.f.enter()
	defer s.f.leave()
	for key, l := range s.f.Listeners {
		if l.GetConfig().GetServerGroupId() == req.GetServerGroupId() {
			return nil, refused(codes.FailedPrecondition, rpcerr.ServerGroupInUse, "the listener on port %d uses %s",
				key.Port, req.GetServerGroupId())
		}
	}
	delete(s.f.ServerGroups, req.GetServerGroupId())
	return &slbv1.DeleteServerGroupResponse{}, nil
}
