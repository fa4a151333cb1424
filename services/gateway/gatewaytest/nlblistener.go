package gatewaytest

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	"alicloud-controllers.dev/proto/rpcerr"
)

// Words of NLB listeners in short.
const (
	nlbRunning = nlbv1.ListenerStatus_LISTENER_STATUS_RUNNING
	nlbUDP     = nlbv1.ListenerProtocol_LISTENER_PROTOCOL_UDP
	nlbTCPSSL  = nlbv1.ListenerProtocol_LISTENER_PROTOCOL_TCPSSL
)

// nlbListeners serves listeners of NLB.
type nlbListeners struct {
	nlbv1.UnimplementedListenerServiceServer

	f *Fake
}

// nlbListener finds a listener; f is locked.
func (f *Fake) nlbListener(id string) (*nlbv1.Listener, error) {
	if err := required("listener_id", id); err != nil {
		return nil, err
	}
	l, ok := f.NLB.Listeners[id]
	if !ok {
		return nil, notFound(rpcerr.ListenerNotFound, "listener", id)
	}
	return completeNLBListener(l), nil
}

// completeNLBListener fills in what a test or a request has left out.
func completeNLBListener(l *nlbv1.Listener) *nlbv1.Listener {
	idle, policy := int32(900), ""
	switch l.GetProtocol() {
	case nlbUDP:
		idle = 20
	case nlbTCPSSL:
		policy = "tls_cipher_policy_1_0"
	default:
	}
	config := &nlbv1.ListenerConfig{
		Description: new(""), ServerGroupId: new(""), IdleTimeout: &idle, SecurityPolicyId: &policy, CaEnabled: new(false),
		AlpnEnabled: new(false), AlpnPolicy: new(""), ProxyProtocolEnabled: new(false), Cps: new(int32(0)),
		Mss: new(int32(0)), SecSensorEnabled: new(false),
		ProxyProtocolV2: &nlbv1.ProxyProtocolV2{PrivateLinkEpIdEnabled: new(false), PrivateLinkEpsIdEnabled: new(false),
			VpcIdEnabled: new(false)},
	}
	proto.Merge(config, l.GetConfig())
	l.Config, l.Status = config, cmp.Or(l.GetStatus(), nlbRunning)
	return l
}

func (s *nlbListeners) GetListener(_ context.Context, req *nlbv1.GetListenerRequest) (*nlbv1.GetListenerResponse, error) {
	s.f.enter()
	defer s.f.leave()
	l, err := s.f.nlbListener(req.GetListenerId())
	if err != nil {
		return nil, err
	}
	return &nlbv1.GetListenerResponse{Listener: proto.CloneOf(l)}, nil
}

func (s *nlbListeners) ListListeners(_ context.Context, req *nlbv1.ListListenersRequest) (*nlbv1.ListListenersResponse, error) {
	s.f.enter()
	defer s.f.leave()
	return &nlbv1.ListListenersResponse{Listeners: sorted(s.f.NLB.Listeners, func(l *nlbv1.Listener) bool {
		completeNLBListener(l)
		return among(req.GetLoadBalancerIds(), l.GetLoadBalancerId()) && among(req.GetListenerIds(), l.GetListenerId()) &&
			hasTags(l.GetTags(), req.GetTags()) && match(req.GetProtocol(), l.GetProtocol())
	})}, nil
}

func (s *nlbListeners) ListServerHealth(_ context.Context, req *nlbv1.ListServerHealthRequest) (*nlbv1.ListServerHealthResponse, error) {
	s.f.enter()
	defer s.f.leave()
	l, err := s.f.nlbListener(req.GetListenerId())
	if err != nil {
		return nil, err
	}
	response := &nlbv1.ListServerHealthResponse{}
	group := s.f.NLB.ServerGroups[l.GetConfig().GetServerGroupId()]
	if group == nil {
		return response, nil
	}
	response.HealthCheckEnabled = completeNLBGroup(group).GetHealthCheck().GetEnabled()
	for _, server := range group.GetServers() {
		status := ""
		if s.f.NLB.Health != nil {
			status = s.f.NLB.Health(l, server)
		}
		if status != "" {
			response.Servers = append(response.Servers, &nlbv1.ServerHealth{
				ServerGroupId: group.GetServerGroupId(), ServerId: server.GetServerId(), ServerIp: server.GetServerIp(),
				Port: server.GetPort(), Status: status,
			})
		}
	}
	return response, nil
}

func (s *nlbListeners) ListListenerCertificates(
	_ context.Context, req *nlbv1.ListListenerCertificatesRequest,
) (*nlbv1.ListListenerCertificatesResponse, error) {
	s.f.enter()
	defer s.f.leave()
	l, err := s.f.nlbListener(req.GetListenerId())
	if err != nil {
		return nil, err
	}
	if l.GetProtocol() != nlbTCPSSL {
		return nil, refused(rpcerr.InvalidState.Code(), rpcerr.InvalidState, "%s has no certificates", l.GetListenerId())
	}
	all := map[string]*nlbv1.ListenerCertificate{}
	add := func(ids []string, ca, isDefault bool) {
		for _, id := range ids {
			all[id] = &nlbv1.ListenerCertificate{CertificateId: id, Ca: ca, Default: isDefault, Status: "Associated"}
		}
	}
	add(s.f.NLB.AdditionalCertificates[l.GetListenerId()], false, false)
	add(l.GetConfig().GetCertificateIds(), false, true)
	add(l.GetConfig().GetCaCertificateIds(), true, true)
	return &nlbv1.ListListenerCertificatesResponse{Certificates: sorted(all, func(*nlbv1.ListenerCertificate) bool { return true })}, nil
}

func (s *nlbListeners) CreateListener(ctx context.Context, req *nlbv1.CreateListenerRequest) (*nlbv1.CreateListenerResponse, error) {
	id, err := s.f.writeNLB(ctx, nlbWrite{
		method: "nlb.CreateListener", resource: req.GetLoadBalancerId(), request: req,
		plan: func() (nlbChange, error) { return s.f.createNLBListener(req) },
	})
	if err != nil {
		return nil, err
	}
	return &nlbv1.CreateListenerResponse{ListenerId: id}, nil
}

func (f *Fake) createNLBListener(req *nlbv1.CreateListenerRequest) (nlbChange, error) {
	lb, err := f.usableNLB(req.GetLoadBalancerId())
	if err := firstError(requestID(req), err, validPorts(req), tooManyTags(req.GetTags())); err != nil {
		return nlbChange{}, err
	}
	l := &nlbv1.Listener{
		LoadBalancerId: req.GetLoadBalancerId(), Protocol: req.GetProtocol(), Port: req.GetPort(),
		StartPort: req.GetStartPort(), EndPort: req.GetEndPort(),
		Status: nlbv1.ListenerStatus_LISTENER_STATUS_PROVISIONING, Config: proto.CloneOf(req.GetConfig()), Tags: cloneAll(req.GetTags()),
	}
	for _, id := range idsOf(f.NLB.Listeners) {
		if other := f.NLB.Listeners[id]; other.GetLoadBalancerId() == l.GetLoadBalancerId() && portsOverlap(l, other) {
			return nlbChange{}, refused(rpcerr.ListenerExists.Code(), rpcerr.ListenerExists, "a port of %s is taken by %s",
				l.GetLoadBalancerId(), id)
		}
	}
	err = firstError(f.validNLBListener(lb, completeNLBListener(l)), f.validUserCertificates(req.GetAdditionalCertificateIds()))
	if err != nil {
		return nlbChange{}, err
	}
	return nlbChange{
		begin: func() string {
			l.ListenerId = fmt.Sprintf("%s@%d", f.nextID("lsn"), l.GetPort())
			f.NLB.Listeners[l.GetListenerId()] = l
			if more := req.GetAdditionalCertificateIds(); len(more) > 0 {
				f.NLB.AdditionalCertificates[l.GetListenerId()] = slices.Clone(more)
			}
			return l.GetListenerId()
		},
		finish: func(failed bool) {
			if l.Status = nlbRunning; failed {
				f.dropNLBListener(l.GetListenerId())
			}
		},
	}, nil
}

// dropNLBListener forgets a listener.
func (f *Fake) dropNLBListener(id string) {
	delete(f.NLB.Listeners, id)
	delete(f.NLB.AdditionalCertificates, id)
}

// validPorts checks that a listener has one port, or a range.
func validPorts(req *nlbv1.CreateListenerRequest) error {
	first, last := cmp.Or(req.GetStartPort(), req.GetPort()), cmp.Or(req.GetEndPort(), req.GetPort())
	switch {
	case req.GetProtocol() == nlbv1.ListenerProtocol_LISTENER_PROTOCOL_UNSPECIFIED:
		return invalid("protocol", "is required")
	case (req.GetPort() == 0) == (req.GetStartPort() == 0), (req.GetStartPort() == 0) != (req.GetEndPort() == 0):
		return invalid("port", "either a port or a range is required")
	case first < 1 || last > maxPort || req.GetPort() == 0 && first >= last:
		return invalid("port", "%d to %d is not a range of ports", first, last)
	}
	return nil
}

// portsOverlap reports whether two listeners of a load balancer would serve the same port. UDP has ports of its own.
func portsOverlap(a, b *nlbv1.Listener) bool {
	first := func(l *nlbv1.Listener) int32 { return cmp.Or(l.GetStartPort(), l.GetPort()) }
	last := func(l *nlbv1.Listener) int32 { return cmp.Or(l.GetEndPort(), l.GetPort()) }
	return (a.GetProtocol() == nlbUDP) == (b.GetProtocol() == nlbUDP) && first(a) <= last(b) && first(b) <= last(a)
}

// validNLBListener checks a listener as it would be; f is locked.
func (f *Fake) validNLBListener(lb *nlbv1.LoadBalancer, l *nlbv1.Listener) error {
	config := l.GetConfig()
	group, err := f.nlbGroup(config.GetServerGroupId())
	idle := int32(900)
	if l.GetProtocol() == nlbUDP {
		idle = 20
	}
	illegal := func(format string, args ...any) error {
		return refused(rpcerr.InvalidField.Code(), rpcerr.InvalidField, format, args...)
	}
	switch secure, protocol := l.GetProtocol() == nlbTCPSSL, group.GetProtocol(); {
	case config.GetServerGroupId() == "":
		return invalid("config.server_group_id", "is required")
	case secure && len(config.GetCertificateIds()) == 0:
		return invalid("config.certificate_ids", "is required for TCPSSL")
	case err != nil:
		return err
	case config.GetIdleTimeout() > idle:
		return illegal("an idle timeout of %d seconds is too long", config.GetIdleTimeout())
	case group.GetVpcId() != lb.GetVpcId():
		return refused(rpcerr.NetworkConflict.Code(), rpcerr.NetworkConflict, "%s is in the VPC %s", group.GetServerGroupId(), group.GetVpcId())
	case !slices.Contains(groupProtocols(l.GetProtocol()), protocol):
		return refused(rpcerr.InvalidState.Code(), rpcerr.InvalidState, "a group of protocol %s does not fit", protocol)
	case secure && group.GetPreserveClientIpEnabled():
		return illegal(
			"servers of TCPSSL listeners can't see the addresses of clients; switch preserve_client_ip_enabled of %s off", group.GetServerGroupId())
	case (l.GetPort() == 0) != group.GetAnyPortEnabled():
		return illegal("listeners with ranges, and no others, have groups with any_port_enabled")
	case secure && config.GetCaEnabled() && len(config.GetCaCertificateIds()) == 0:
		return illegal("ca_enabled needs ca_certificate_ids")
	case secure && config.GetAlpnEnabled() && config.GetAlpnPolicy() == "":
		return illegal("alpn_enabled needs alpn_policy")
	}
	return f.validUserCertificates(slices.Concat(config.GetCertificateIds(), config.GetCaCertificateIds()))
}

// groupProtocols are those of the groups that a listener can have.
func groupProtocols(p nlbv1.ListenerProtocol) []nlbv1.ServerGroupProtocol {
	const tcp, both = nlbv1.ServerGroupProtocol_SERVER_GROUP_PROTOCOL_TCP, nlbv1.ServerGroupProtocol_SERVER_GROUP_PROTOCOL_TCP_UDP
	switch p {
	case nlbUDP:
		return []nlbv1.ServerGroupProtocol{nlbv1.ServerGroupProtocol_SERVER_GROUP_PROTOCOL_UDP, both}
	case nlbTCPSSL:
		return []nlbv1.ServerGroupProtocol{tcp, nlbv1.ServerGroupProtocol_SERVER_GROUP_PROTOCOL_TCPSSL}
	default:
		return []nlbv1.ServerGroupProtocol{tcp, both}
	}
}

// ownedListener is a request to change a listener.
type ownedListener interface {
	nlbRequest
	GetListenerId() string
	GetLoadBalancerId() string
}

// writeListener makes a change of a listener, during which it has another status.
func (f *Fake) writeListener(
	ctx context.Context, method string, req ownedListener, during nlbv1.ListenerStatus, plan func(l *nlbv1.Listener) (nlbChange, error),
) error {
	_, err := f.writeNLB(ctx, nlbWrite{method: "nlb." + method, resource: req.GetLoadBalancerId(), request: req,
		plan: func() (nlbChange, error) {
			if err := required("load_balancer_id", req.GetLoadBalancerId()); err != nil {
				return nlbChange{}, err
			}
			l, err := f.nlbListener(req.GetListenerId())
			switch {
			case err != nil:
				return nlbChange{}, err
			case l.GetLoadBalancerId() != req.GetLoadBalancerId():
				return nlbChange{}, invalid("load_balancer_id", "listener %s is of %s; name that load balancer", req.GetListenerId(),
					l.GetLoadBalancerId())
			}
			change, err := plan(l)
			if err != nil || change.nothing() {
				return nlbChange{}, err
			}
			before, finish := l.GetStatus(), change.finish
			change.begin = func() string { l.Status = during; return "" }
			change.finish = func(failed bool) {
				if l.Status = before; finish != nil {
					finish(failed)
				}
			}
			return change, nil
		}})
	return err
}

func (s *nlbListeners) UpdateListener(ctx context.Context, req *nlbv1.UpdateListenerRequest) (*nlbv1.UpdateListenerResponse, error) {
	err := s.f.writeListener(ctx, "UpdateListener", req, nlbv1.ListenerStatus_LISTENER_STATUS_CONFIGURING,
		func(l *nlbv1.Listener) (nlbChange, error) {
			after := proto.CloneOf(l)
			if len(req.GetConfig().GetCertificateIds()) > 0 { // A list replaces the former one, but proto.Merge appends.
				after.Config.CertificateIds = nil
			}
			if len(req.GetConfig().GetCaCertificateIds()) > 0 {
				after.Config.CaCertificateIds = nil
			}
			proto.Merge(after.GetConfig(), req.GetConfig())
			after.Tags = retagged(after.GetTags(), req)
			return nlbChange{change: func() {
					l.Config, l.Tags = after.GetConfig(), after.GetTags()
					if more := req.GetAdditionalCertificates(); more != nil {
						s.f.NLB.AdditionalCertificates[l.GetListenerId()] = slices.Clone(more.GetCertificateIds())
					}
				}}, firstError(s.f.validNLBListener(s.f.NLB.LoadBalancers[l.GetLoadBalancerId()], after),
					s.f.validUserCertificates(req.GetAdditionalCertificates().GetCertificateIds()))
		})
	return &nlbv1.UpdateListenerResponse{}, err
}

func (s *nlbListeners) StartListener(ctx context.Context, req *nlbv1.StartListenerRequest) (*nlbv1.StartListenerResponse, error) {
	err := s.f.writeListener(ctx, "StartListener", req, nlbv1.ListenerStatus_LISTENER_STATUS_STARTING, to(nlbRunning))
	return &nlbv1.StartListenerResponse{}, err
}

func (s *nlbListeners) StopListener(ctx context.Context, req *nlbv1.StopListenerRequest) (*nlbv1.StopListenerResponse, error) {
	err := s.f.writeListener(ctx, "StopListener", req, nlbv1.ListenerStatus_LISTENER_STATUS_STOPPING,
		to(nlbv1.ListenerStatus_LISTENER_STATUS_STOPPED))
	return &nlbv1.StopListenerResponse{}, err
}

// to plans to start or to stop a listener.
func to(status nlbv1.ListenerStatus) func(l *nlbv1.Listener) (nlbChange, error) {
	return func(l *nlbv1.Listener) (nlbChange, error) {
		if l.GetStatus() == status {
			return nlbChange{}, nil
		}
		return nlbChange{finish: func(failed bool) {
			if !failed {
				l.Status = status
			}
		}}, nil
	}
}

func (s *nlbListeners) DeleteListener(ctx context.Context, req *nlbv1.DeleteListenerRequest) (*nlbv1.DeleteListenerResponse, error) {
	err := s.f.writeListener(ctx, "DeleteListener", req, nlbv1.ListenerStatus_LISTENER_STATUS_DELETING,
		func(l *nlbv1.Listener) (nlbChange, error) {
			return nlbChange{finish: func(failed bool) {
				if !failed {
					s.f.dropNLBListener(l.GetListenerId())
				}
			}}, nil
		})
	return &nlbv1.DeleteListenerResponse{}, unless(err, rpcerr.ListenerNotFound, rpcerr.LoadBalancerNotFound)
}
