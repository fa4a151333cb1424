package gatewaytest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/proto/rpcerr"
)

// States of a listener.
const (
	statusRunning  = "running"
	statusStarting = "starting"
	statusStopped  = "stopped"
)

// maxPort is the highest port.
const maxPort = 65535

// listeners serves listeners.
type listeners struct {
	slbv1.UnimplementedListenerServiceServer

	f *Fake
}

// listenersOf lists an instance's listeners by port and protocol; f is locked.
func (f *Fake) listenersOf(loadBalancerID string) []*slbv1.Listener {
	keys := slices.SortedFunc(maps.Keys(f.Listeners), func(a, b ListenerKey) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.Protocol, b.Protocol))
	})
	var found []*slbv1.Listener
	for _, key := range keys {
		if key.LoadBalancerID == loadBalancerID {
			found = append(found, proto.CloneOf(f.Listeners[key]))
		}
	}
	return found
}

// keyOf checks a key.
func keyOf(key *slbv1.ListenerKey) (ListenerKey, error) {
	if key.GetPort() < 1 || key.GetPort() > maxPort {
		return ListenerKey{}, invalid("key.port", "%d is not in 1 to %d", key.GetPort(), maxPort)
	}
	if key.GetProtocol() == slbv1.Protocol_PROTOCOL_UNSPECIFIED {
		return ListenerKey{}, invalid("key.protocol", "is required")
	}
	return ListenerKey{LoadBalancerID: key.GetLoadBalancerId(), Port: key.GetPort(), Protocol: key.GetProtocol()},
		required("key.load_balancer_id", key.GetLoadBalancerId())
}

// listener finds a listener; f is locked.
func (f *Fake) listener(key *slbv1.ListenerKey) (*slbv1.Listener, error) {
	k, err := keyOf(key)
	if err != nil {
		return nil, err
	}
	if _, err := f.loadBalancer(k.LoadBalancerID); err != nil {
		return nil, err
	}
	l, ok := f.Listeners[k]
	if !ok {
		return nil, notFound(rpcerr.ListenerNotFound, "listener", key.String())
	}
	return l, nil
}

func (s *listeners) ListListeners(_ context.Context, req *slbv1.ListListenersRequest) (*slbv1.ListListenersResponse, error) {
	if len(req.GetLoadBalancerIds()) == 0 {
		return nil, invalid("load_balancer_ids", "at least one is required")
	}
	s.f.enter()
	defer s.f.leave()
	response := &slbv1.ListListenersResponse{}
	for _, id := range slices.Compact(slices.SortedFunc(slices.Values(req.GetLoadBalancerIds()), strings.Compare)) {
		response.Listeners = append(response.Listeners, s.f.listenersOf(id)...)
	}
	return response, nil
}

func (s *listeners) CreateListener(_ context.Context, req *slbv1.CreateListenerRequest) (*slbv1.CreateListenerResponse, error) {
	s.f.enter()
	defer s.f.leave()
	key, err := keyOf(req.GetKey())
	if err != nil {
		return nil, err
	}
	if _, err := s.f.loadBalancer(key.LoadBalancerID); err != nil {
		return nil, err
	}
	for _, other := range s.f.listenersOf(key.LoadBalancerID) {
		if other.GetKey().GetPort() == key.Port && isUDP(other.GetKey().GetProtocol()) == isUDP(key.Protocol) {
			return nil, refused(codes.AlreadyExists, rpcerr.ListenerExists, "port %d of %s is taken by a %s listener",
				key.Port, key.LoadBalancerID, other.GetKey().GetProtocol())
		}
	}
	if err := s.f.validListener(key, req.GetConfig()); err != nil {
		return nil, err
	}
	status := statusStopped
	if !req.GetLeaveStopped() {
		status = s.f.start(key)
	}
	config := proto.CloneOf(req.GetConfig())
	if config == nil {
		config = &slbv1.ListenerConfig{}
	}
	s.f.Listeners[key] = &slbv1.Listener{Key: proto.CloneOf(req.GetKey()), Config: config, Status: status}
	return &slbv1.CreateListenerResponse{}, nil
}

func isUDP(p slbv1.Protocol) bool { return p == slbv1.Protocol_PROTOCOL_UDP }

// validListener checks that what the listener refers to exists; f is locked.
func (f *Fake) validListener(key ListenerKey, config *slbv1.ListenerConfig) error {
	if key.Protocol == slbv1.Protocol_PROTOCOL_HTTPS && config.GetServerCertificateId() == "" {
		return invalid("config.server_certificate_id", "is required for HTTPS")
	}
	if err := f.validCertificate(config.GetServerCertificateId()); err != nil {
		return err
	}
	if port := config.GetForwardPort(); port != 0 {
		target := ListenerKey{LoadBalancerID: key.LoadBalancerID, Port: port, Protocol: slbv1.Protocol_PROTOCOL_HTTPS}
		if _, ok := f.Listeners[target]; !ok {
			return refused(codes.NotFound, rpcerr.ListenerNotFound, "no HTTPS listener on the forward port %d", port)
		}
		return nil
	}
	return f.validGroup(key.LoadBalancerID, config.GetServerGroupId())
}

// validGroup checks that the group exists on the instance; none is fine. f is locked.
func (f *Fake) validGroup(loadBalancerID, groupID string) error {
	if groupID == "" {
		return nil
	}
	group, ok := f.ServerGroups[groupID]
	if !ok || group.LoadBalancerID != loadBalancerID {
		return notFound(rpcerr.ServerGroupNotFound, "server group", groupID)
	}
	return nil
}

func (s *listeners) UpdateListener(_ context.Context, req *slbv1.UpdateListenerRequest) (*slbv1.UpdateListenerResponse, error) {
	s.f.enter()
	defer s.f.leave()
	l, err := s.f.listener(req.GetKey())
	if err != nil {
		return nil, err
	}
	if req.GetConfig() != nil && req.GetConfig().ForwardPort != nil {
		return nil, invalid("config.forward_port", "cannot be changed")
	}
	if err := firstError(s.f.validGroup(req.GetKey().GetLoadBalancerId(), req.GetConfig().GetServerGroupId()),
		s.f.validCertificate(req.GetConfig().GetServerCertificateId())); err != nil {
		return nil, err
	}
	if len(req.GetConfig().GetAclIds()) > 0 {
		l.Config.AclIds = nil // A list replaces the former one, but proto.Merge appends.
	}
	proto.Merge(l.GetConfig(), req.GetConfig())
	return &slbv1.UpdateListenerResponse{}, nil
}

func (s *listeners) DeleteListener(_ context.Context, req *slbv1.DeleteListenerRequest) (*slbv1.DeleteListenerResponse, error) {
	s.f.enter()
	defer s.f.leave()
	key, err := keyOf(req.GetKey())
	if err != nil {
		return nil, err
	}
	for _, other := range s.f.listenersOf(key.LoadBalancerID) {
		if key.Protocol == slbv1.Protocol_PROTOCOL_HTTPS && other.GetConfig().GetForwardPort() == key.Port {
			return nil, refused(codes.FailedPrecondition, rpcerr.ListenerInUse, "the listener on port %d redirects to port %d",
				other.GetKey().GetPort(), key.Port)
		}
	}
	delete(s.f.Listeners, key)
	s.f.dropExtensions(func(l ListenerKey) bool { return l == key })
	return &slbv1.DeleteListenerResponse{}, nil
}

func (s *listeners) StartListener(_ context.Context, req *slbv1.StartListenerRequest) (*slbv1.StartListenerResponse, error) {
	return &slbv1.StartListenerResponse{}, s.f.setStatus(req.GetKey(), statusRunning)
}

func (s *listeners) StopListener(_ context.Context, req *slbv1.StopListenerRequest) (*slbv1.StopListenerResponse, error) {
	return &slbv1.StopListenerResponse{}, s.f.setStatus(req.GetKey(), statusStopped)
}

func (f *Fake) setStatus(key *slbv1.ListenerKey, status string) error {
	f.enter()
	defer f.leave()
	l, err := f.listener(key)
	if err != nil {
		return err
	}
	if l.GetStatus() == status || l.GetStatus() == statusStarting && status == statusRunning {
		return nil
	}
	if status == statusRunning {
		of, _ := keyOf(key) // The listener was found by it.
		status = f.start(of)
	}
	l.Status = status
	return nil
}

// start says in what status a listener is that was started; f is locked.
func (f *Fake) start(key ListenerKey) string {
	if f.ListenerStart <= 0 {
		return statusRunning
	}
	if f.starts == nil {
		f.starts = map[ListenerKey]time.Time{}
	}
	f.starts[key] = time.Now().Add(f.ListenerStart)
	return statusStarting
}

// settle lets listeners run that were started long enough ago; f is locked.
func (f *Fake) settle() {
	for key, at := range f.starts {
		if time.Now().Before(at) {
			continue
		}
		delete(f.starts, key)
		if l := f.Listeners[key]; l.GetStatus() == statusStarting {
			l.Status = statusRunning
		}
	}
}
