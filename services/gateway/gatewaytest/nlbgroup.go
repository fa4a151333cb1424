package gatewaytest

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	"alicloud-controllers.dev/proto/rpcerr"
)

// nlbServersPerCall is what the cloud takes in one call.
const nlbServersPerCall = 200

const nlbAvailable = nlbv1.ServerGroupStatus_SERVER_GROUP_STATUS_AVAILABLE

// nlbGroups serves server groups of NLB.
type nlbGroups struct {
	nlbv1.UnimplementedServerGroupServiceServer

	f *Fake
}

// nlbGroup finds a group; f is locked.
func (f *Fake) nlbGroup(id string) (*nlbv1.ServerGroup, error) {
	if err := required("server_group_id", id); err != nil {
		return nil, err
	}
	g, ok := f.NLB.ServerGroups[id]
	if !ok {
		return nil, notFound(rpcerr.ServerGroupNotFound, "server group", id)
	}
	return completeNLBGroup(g), nil
}

// completeNLBGroup fills in what a test or a request has left out.
func completeNLBGroup(g *nlbv1.ServerGroup) *nlbv1.ServerGroup {
	const two, five = 2, 5
	check := &nlbv1.HealthCheck{
		Enabled: new(true), Type: nlbv1.HealthCheckType_HEALTH_CHECK_TYPE_TCP.Enum(), ConnectPort: new(int32(0)),
		HealthyThreshold:   new(int32(two)),
		UnhealthyThreshold: new(int32(two)), ConnectTimeout: new(int32(five)), Interval: new(int32(five)), Domain: new(""),
		Url: new(""), HttpMethod: new(""),
	}
	proto.Merge(check, g.GetHealthCheck())
	if check.GetType() == nlbv1.HealthCheckType_HEALTH_CHECK_TYPE_HTTP {
		check.HttpMethod, check.Url = new(cmp.Or(check.GetHttpMethod(), "GET")), new(cmp.Or(check.GetUrl(), "/"))
		if len(check.GetHttpCodes()) == 0 {
			check.HttpCodes = []string{"http_2xx"}
		}
	}
	g.HealthCheck, g.Status, g.Scheduler = check, cmp.Or(g.GetStatus(), nlbAvailable), cmp.Or(g.GetScheduler(), "Wrr")
	g.Type = cmp.Or(g.GetType(), nlbv1.ServerGroupType_SERVER_GROUP_TYPE_INSTANCE)
	g.Protocol = cmp.Or(g.GetProtocol(), nlbv1.ServerGroupProtocol_SERVER_GROUP_PROTOCOL_TCP)
	g.IpVersion = cmp.Or(g.GetIpVersion(), nlbv1.IpVersion_IP_VERSION_IPV4)
	g.ResourceGroupId = cmp.Or(g.GetResourceGroupId(), defaultResourceGroup)
	return g
}

// presentNLBGroup is what the gateway answers of a group, with or without its servers; f is locked.
func (f *Fake) presentNLBGroup(g *nlbv1.ServerGroup, withServers bool) *nlbv1.ServerGroup {
	shown := proto.CloneOf(completeNLBGroup(g))
	shown.ServerCount, shown.ServersLoaded = int32(len(g.GetServers())), withServers
	shown.IpVersionAffinity = cmp.Or(g.GetIpVersionAffinity(), nlbv1.IpVersionAffinity_IP_VERSION_AFFINITY_NON_AFFINITY)
	if !withServers {
		shown.Servers = nil
	}
	for _, l := range f.NLB.Listeners {
		if l.GetConfig().GetServerGroupId() == g.GetServerGroupId() && !slices.Contains(shown.GetLoadBalancerIds(), l.GetLoadBalancerId()) {
			shown.LoadBalancerIds = append(shown.GetLoadBalancerIds(), l.GetLoadBalancerId())
		}
	}
	slices.Sort(shown.GetLoadBalancerIds())
	return shown
}

func (s *nlbGroups) GetServerGroup(_ context.Context, req *nlbv1.GetServerGroupRequest) (*nlbv1.GetServerGroupResponse, error) {
	s.f.enter()
	defer s.f.leave()
	g, err := s.f.nlbGroup(req.GetServerGroupId())
	if err != nil {
		return nil, err
	}
	return &nlbv1.GetServerGroupResponse{ServerGroup: s.f.presentNLBGroup(g, true)}, nil
}

func (s *nlbGroups) ListServerGroups(_ context.Context, req *nlbv1.ListServerGroupsRequest) (*nlbv1.ListServerGroupsResponse, error) {
	s.f.enter()
	defer s.f.leave()
	found := sorted(s.f.NLB.ServerGroups, func(g *nlbv1.ServerGroup) bool {
		completeNLBGroup(g)
		return among(req.GetServerGroupIds(), g.GetServerGroupId()) && among(req.GetNames(), g.GetName()) &&
			hasTags(g.GetTags(), req.GetTags()) &&
			match(req.GetVpcId(), g.GetVpcId()) && match(req.GetType(), g.GetType()) && match(req.GetResourceGroupId(), g.GetResourceGroupId())
	})
	for i := range found {
		found[i] = s.f.presentNLBGroup(found[i], false)
	}
	return &nlbv1.ListServerGroupsResponse{ServerGroups: found}, nil
}

func (s *nlbGroups) CreateServerGroup(ctx context.Context, req *nlbv1.CreateServerGroupRequest) (*nlbv1.CreateServerGroupResponse, error) {
	id, err := s.f.writeNLB(ctx, nlbWrite{method: "nlb.CreateServerGroup", request: req,
		plan: func() (nlbChange, error) { return s.f.createNLBGroup(req) }})
	if err != nil {
		return nil, err
	}
	if len(req.GetServers()) > 0 && !req.GetValidateOnly() {
		if _, err := s.ApplyServerChanges(ctx, &nlbv1.ApplyServerChangesRequest{ServerGroupId: id, Add: req.GetServers()}); err != nil {
			return nil, err
		}
	}
	return &nlbv1.CreateServerGroupResponse{ServerGroupId: id}, nil
}

func (f *Fake) createNLBGroup(req *nlbv1.CreateServerGroupRequest) (nlbChange, error) {
	err := firstError(requestID(req), required("name", req.GetName()), nlbName(req.GetName()),
		required("vpc_id", req.GetVpcId()), tooManyTags(req.GetTags()))
	if err != nil {
		return nlbChange{}, err
	}
	g := completeNLBGroup(&nlbv1.ServerGroup{
		Name: req.GetName(), VpcId: req.GetVpcId(), Type: req.GetType(), Protocol: req.GetProtocol(), IpVersion: req.GetIpVersion(),
		AnyPortEnabled: req.GetAnyPortEnabled(), Scheduler: req.GetScheduler(), ConnectionDrainEnabled: req.GetConnectionDrainEnabled(),
		ConnectionDrainTimeout: req.GetConnectionDrainTimeout(), HealthCheck: req.GetHealthCheck(), ResourceGroupId: req.GetResourceGroupId(),
		Tags: cloneAll(req.GetTags()), Status: nlbv1.ServerGroupStatus_SERVER_GROUP_STATUS_CREATING,
		IpVersionAffinity:       req.GetIpVersionAffinity(),
		PreserveClientIpEnabled: req.GetProtocol() != nlbv1.ServerGroupProtocol_SERVER_GROUP_PROTOCOL_TCPSSL,
	})
	set(&g.PreserveClientIpEnabled, req.PreserveClientIpEnabled)
	if err := f.validNLBGroup(g); err != nil {
		return nlbChange{}, err
	}
	return nlbChange{
		begin: func() string {
			g.ServerGroupId = f.nextID("sgp")
			f.NLB.ServerGroups[g.GetServerGroupId()] = g
			return g.GetServerGroupId()
		},
		finish: func(failed bool) {
			if g.Status = nlbAvailable; failed {
				delete(f.NLB.ServerGroups, g.GetServerGroupId())
			}
		},
	}, nil
}

// validNLBGroup checks a group as it would be; f is locked.
func (f *Fake) validNLBGroup(g *nlbv1.ServerGroup) error {
	illegal := func(format string, args ...any) error {
		return refused(rpcerr.InvalidField.Code(), rpcerr.InvalidField, format, args...)
	}
	const longest, udp = 50, nlbv1.HealthCheckType_HEALTH_CHECK_TYPE_UDP
	check := g.GetHealthCheck()
	switch {
	case g.GetPreserveClientIpEnabled() && f.servesTLS(g):
		return illegal("servers behind TLS can't see the addresses of clients; switch preserve_client_ip_enabled off")
	case g.GetScheduler() == "qch" && g.GetProtocol() != nlbv1.ServerGroupProtocol_SERVER_GROUP_PROTOCOL_UDP:
		return illegal("the scheduler qch is for UDP")
	case check.GetType() != udp && check.GetInterval() > longest:
		return illegal("an interval of %d seconds between health checks is for UDP", check.GetInterval())
	case check.GetType() == udp && check.GetEnabled() && check.GetInterval() < check.GetConnectTimeout():
		return illegal("the interval of health checks by UDP is shorter than their timeout")
	case g.GetAnyPortEnabled() && check.GetEnabled() && check.GetConnectPort() == 0:
		return illegal("health checks of a group of all ports need a port")
	}
	return nil
}

// servesTLS reports whether a group is for a listener that ends TLS.
func (f *Fake) servesTLS(g *nlbv1.ServerGroup) bool {
	for _, l := range f.NLB.Listeners {
		if g.GetServerGroupId() != "" && l.GetConfig().GetServerGroupId() == g.GetServerGroupId() && l.GetProtocol() == nlbTCPSSL {
			return true
		}
	}
	return g.GetProtocol() == nlbv1.ServerGroupProtocol_SERVER_GROUP_PROTOCOL_TCPSSL
}

// writeGroup makes a change of a group, during which it is configured.
func (f *Fake) writeGroup(ctx context.Context, method, id string, req nlbRequest,
	plan func(g *nlbv1.ServerGroup) (nlbChange, error)) error {
	_, err := f.writeNLB(ctx, nlbWrite{method: "nlb." + method, resource: id, request: req, plan: func() (nlbChange, error) {
		g, err := f.nlbGroup(id)
		if err != nil {
			return nlbChange{}, err
		}
		change, err := plan(g)
		if change.nothing() {
			return nlbChange{}, err
		}
		finish := change.finish
		change.begin = func() string { g.Status = nlbv1.ServerGroupStatus_SERVER_GROUP_STATUS_CONFIGURING; return "" }
		change.finish = func(failed bool) {
			if g.Status = nlbAvailable; finish != nil {
				finish(failed)
			}
		}
		return change, err
	}})
	return err
}

func (s *nlbGroups) UpdateServerGroup(ctx context.Context, req *nlbv1.UpdateServerGroupRequest) (*nlbv1.UpdateServerGroupResponse, error) {
	err := s.f.writeGroup(ctx, "UpdateServerGroup", req.GetServerGroupId(), req, func(g *nlbv1.ServerGroup) (nlbChange, error) {
		after := proto.CloneOf(g)
		set(&after.Name, req.Name)
		set(&after.Scheduler, req.Scheduler)
		set(&after.ConnectionDrainEnabled, req.ConnectionDrainEnabled)
		set(&after.ConnectionDrainTimeout, req.ConnectionDrainTimeout)
		set(&after.PreserveClientIpEnabled, req.PreserveClientIpEnabled)
		set(&after.ResourceGroupId, req.ResourceGroupId)
		set(&after.IpVersionAffinity, req.IpVersionAffinity)
		if len(req.GetHealthCheck().GetHttpCodes()) > 0 {
			after.HealthCheck.HttpCodes = nil // A list replaces the former one, but proto.Merge appends.
		}
		proto.Merge(after.GetHealthCheck(), req.GetHealthCheck())
		after.Tags = retagged(after.GetTags(), req)
		if err := firstError(nlbName(after.GetName()), s.f.validNLBGroup(completeNLBGroup(after))); err != nil {
			return nlbChange{}, err
		}
		return nlbChange{change: func() {
			status, servers := g.GetStatus(), g.GetServers()
			proto.Reset(g)
			proto.Merge(g, after)
			g.Status, g.Servers = status, servers
		}}, nil
	})
	return &nlbv1.UpdateServerGroupResponse{}, err
}

func (s *nlbGroups) DeleteServerGroup(ctx context.Context, req *nlbv1.DeleteServerGroupRequest) (*nlbv1.DeleteServerGroupResponse, error) {
	id := req.GetServerGroupId()
	err := s.f.writeGroup(ctx, "DeleteServerGroup", id, req, func(g *nlbv1.ServerGroup) (nlbChange, error) {
		if users := s.f.presentNLBGroup(g, false).GetLoadBalancerIds(); len(users) > 0 {
			return nlbChange{}, refused(rpcerr.ServerGroupInUse.Code(), rpcerr.ServerGroupInUse, "a listener of %s uses %s", users[0], id)
		}
		return nlbChange{finish: func(failed bool) {
			if !failed {
				delete(s.f.NLB.ServerGroups, id)
			}
		}}, nil
	})
	return &nlbv1.DeleteServerGroupResponse{}, unless(err, rpcerr.ServerGroupNotFound)
}

func (s *nlbGroups) ApplyServerChanges(ctx context.Context,
	req *nlbv1.ApplyServerChangesRequest) (*nlbv1.ApplyServerChangesResponse, error) {
	calls := int32(0)
	err := s.f.writeGroup(ctx, "ApplyServerChanges", req.GetServerGroupId(), req, func(g *nlbv1.ServerGroup) (nlbChange, error) {
		add, addErr := s.f.additions(g, req.GetAdd())
		update, updateErr := changed(g, req.GetUpdate())
		remove := present(g, req.GetRemove())
		for _, some := range []int{len(add), len(update), len(remove)} {
			calls += int32((some + nlbServersPerCall - 1) / nlbServersPerCall)
		}
		if calls == 0 {
			return nlbChange{}, cmp.Or(addErr, updateErr)
		}
		return nlbChange{change: func() { applyNLB(g, add, update, remove) }, finish: func(bool) { settleServers(g) }}, cmp.Or(addErr, updateErr)
	})
	return &nlbv1.ApplyServerChangesResponse{CloudCalls: calls}, err
}

// additions are the servers of a request that can be added, and the error of the first that can't.
func (f *Fake) additions(g *nlbv1.ServerGroup, servers []*nlbv1.Server) ([]*nlbv1.Server, error) {
	var add []*nlbv1.Server
	var wrong error
	for _, named := range servers {
		server, err := f.newNLBServer(g, named)
		if err != nil {
			wrong = cmp.Or(wrong, err)
			continue
		}
		if findNLB(g.GetServers(), server) < 0 && findNLB(add, server) < 0 {
			add = append(add, server)
		}
	}
	if len(g.GetServers())+len(add) > f.NLB.ServersPerGroup {
		return nil, refused(rpcerr.QuotaExceeded.Code(), rpcerr.QuotaExceeded, "more than %d servers in %s",
			f.NLB.ServersPerGroup, g.GetServerGroupId())
	}
	return add, wrong
}

// newNLBServer makes a server of a group; f is locked.
func (f *Fake) newNLBServer(g *nlbv1.ServerGroup, named *nlbv1.Server) (*nlbv1.Server, error) {
	server := proto.CloneOf(named)
	server.Weight, server.Status = new(int32(100)), nlbv1.ServerStatus_SERVER_STATUS_ADDING
	if named.Weight != nil {
		server.Weight = new(named.GetWeight())
	}
	address := named.GetType() == nlbv1.ServerType_SERVER_TYPE_IP
	unknown := notFound(rpcerr.ServerNotFound, "server", named.GetServerId())
	switch {
	case address != (g.GetType() == nlbv1.ServerGroupType_SERVER_GROUP_TYPE_IP), (named.GetPort() == 0) != g.GetAnyPortEnabled():
		return nil, refused(rpcerr.InvalidState.Code(), rpcerr.InvalidState, "server %s does not fit into %s",
			named.GetServerId(), g.GetServerGroupId())
	case address:
		server.ServerIp = cmp.Or(named.GetServerIp(), named.GetServerId())
		server.ServerId = server.GetServerIp()
	case named.GetType() == nlbv1.ServerType_SERVER_TYPE_ECS:
		instance, ok := f.Instances[named.GetServerId()]
		if !ok {
			return nil, unknown
		}
		if ips := instance.GetPrivateIps(); named.GetServerIp() == "" && len(ips) > 0 {
			server.ServerIp = ips[0]
		}
		server.ZoneId = instance.GetZoneId()
	case named.GetType() == nlbv1.ServerType_SERVER_TYPE_ENI:
		eni, ok := f.NetworkInterfaces[named.GetServerId()]
		if !ok {
			return nil, unknown
		}
		server.ServerIp, server.ZoneId = cmp.Or(named.GetServerIp(), eni.GetPrimaryIp()), eni.GetZoneId()
	default:
		return nil, unknown
	}
	return server, nil
}

// findNLB gives the position of the server that a request names, -1 if it is not there.
func findNLB(servers []*nlbv1.Server, named *nlbv1.Server) int {
	return slices.IndexFunc(servers, func(there *nlbv1.Server) bool {
		return named.GetType() == there.GetType() && named.GetServerId() == there.GetServerId() && named.GetPort() == there.GetPort() &&
			(named.GetServerIp() == "" || named.GetServerIp() == there.GetServerIp())
	})
}

// present are the servers of a request that are in a group.
func present(g *nlbv1.ServerGroup, named []*nlbv1.Server) (there []*nlbv1.Server) {
	for _, n := range named {
		if findNLB(g.GetServers(), n) >= 0 {
			there = append(there, n)
		}
	}
	return there
}

// changed are the servers of a request that are in a group. One that isn't is an error.
func changed(g *nlbv1.ServerGroup, named []*nlbv1.Server) (there []*nlbv1.Server, wrong error) {
	there = present(g, named)
	for _, n := range named {
		if !slices.Contains(there, n) {
			return there, notFound(rpcerr.ServerNotFound, "server of the group", n.GetServerId())
		}
	}
	return there, nil
}

// applyNLB changes the servers of a group. What is removed goes at the end of the job.
func applyNLB(g *nlbv1.ServerGroup, add, update, remove []*nlbv1.Server) {
	g.Servers = append(slices.Clone(g.GetServers()), add...)
	for _, u := range update {
		server := g.GetServers()[findNLB(g.GetServers(), u)]
		server.Status, server.Description = nlbv1.ServerStatus_SERVER_STATUS_CONFIGURING, cmp.Or(u.GetDescription(), server.GetDescription())
		set(server.Weight, u.Weight)
	}
	for _, r := range remove {
		g.GetServers()[findNLB(g.GetServers(), r)].Status = nlbv1.ServerStatus_SERVER_STATUS_REMOVING
	}
	slices.SortFunc(g.GetServers(), func(a, b *nlbv1.Server) int {
		return cmp.Or(strings.Compare(a.GetServerId(), b.GetServerId()), strings.Compare(a.GetServerIp(), b.GetServerIp()),
			cmp.Compare(a.GetPort(), b.GetPort()))
	})
}

// settleServers ends what a job does with servers.
func settleServers(g *nlbv1.ServerGroup) {
	g.Servers = slices.DeleteFunc(g.GetServers(),
		func(s *nlbv1.Server) bool { return s.GetStatus() == nlbv1.ServerStatus_SERVER_STATUS_REMOVING })
	for _, s := range g.GetServers() {
		s.Status = nlbv1.ServerStatus_SERVER_STATUS_AVAILABLE
	}
}
