// Package gatewaytest is an in-memory gateway for the tests of its callers: it keeps state, enforces the rules of the cloud that
// matter to them, counts calls, and fails on demand.
package gatewaytest

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	casv1 "alicloud-controllers.dev/proto/cloudgateway/cas/v1"
	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/method"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/services/gateway"
)

// Limits of the cloud by default.
const (
	defaultServersPerGroup = 200
	defaultRoutesPerTable  = 200
)

// pipeSize is that of the in-memory connection. Tests make thousands, and what is never used of one is cleared all the same.
const pipeSize = 32 << 10

// Fake is a gateway and the cloud behind it. Its exported fields are the cloud's state; read and change them between Lock and
// Unlock. What is put in belongs to the Fake from then on. Only what exists can be used: the instances, network interfaces,
// vSwitches and route tables a test needs have to be put in first.
type Fake struct {
	LoadBalancers map[string]*slbv1.LoadBalancer // without listeners and groups, which are below
	Listeners     map[ListenerKey]*slbv1.Listener
	ServerGroups  map[string]*ServerGroup
	// DefaultGroups are the default server groups by load balancer. Their servers have no port.
	DefaultGroups map[string]*ServerGroup
	// DomainExtensions are the further certificates of HTTPS listeners, by id.
	DomainExtensions map[string]*DomainExtension
	// ServerCertificates are those of the region, by id. Listeners may name others.
	ServerCertificates map[string]*slbv1.ServerCertificate
	AccessControlLists map[string]*slbv1.AccessControlList // with their entries
	// UserCertificates are those of the Certificate Management Service, by number. Listeners of NLBs may name others.
	UserCertificates map[string]*casv1.Certificate

	// NLB is the network load balancers.
	NLB NLB

	Vpcs        map[string]*vpcv1.Vpc
	VSwitches   map[string]*vpcv1.VSwitch
	Eips        map[string]*vpcv1.Eip
	RouteTables map[string]*vpcv1.RouteTable
	Routes      map[RouteKey]*vpcv1.RouteEntry

	Instances         map[string]*ecsv1.Instance
	InstanceEvents    map[string]*ecsv1.InstanceEvent // those that are not over
	NetworkInterfaces map[string]*ecsv1.NetworkInterface
	SecurityGroups    map[string]*ecsv1.SecurityGroup // with their rules
	// UnreadableInstances are the instances whose reading fails, by id, which says nothing about whether they exist.
	UnreadableInstances map[string]error

	Capabilities *commonv1.GetCapabilitiesResponse

	// ServersPerGroup and RoutesPerTable are the cloud's quotas, 200 by default.
	ServersPerGroup, RoutesPerTable int

	// ListenerStart is how long a listener is being started; 0: it runs at once. starts is when those that are do.
	ListenerStart time.Duration
	starts        map[ListenerKey]time.Time
	// Health says how a listener finds a server, with the fake locked; nil: every server is "normal".
	Health func(listener *slbv1.ListenerKey, server *slbv1.Server) string

	// Behind answers the calls in place of the Fake, unless it is nil. Faults strike all the same, and calls are recorded.
	Behind grpc.ClientConnInterface

	t      testing.TB
	client *gateway.Client

	mu        sync.Mutex
	calls     []Call
	started   int
	watcher   *Watcher
	byHand    bool // a test has had it locked
	writing   int  // writes that have an effect just now
	underway  atomic.Int64
	faults    []*fault
	interpose func(seq int, method string, req proto.Message) Fault
	answered  map[string]answer // creations by request_id
	uploaded  map[string]bool   // ids of certificates, also of those that are gone
	ids       map[string]int    // last number given out, by prefix
}

// ListenerKey names a listener.
type ListenerKey struct {
	LoadBalancerID string
	Port           int32
	Protocol       slbv1.Protocol
}

// RouteKey names a route entry.
type RouteKey struct{ RouteTableID, DestinationCIDR string }

// ServerGroup is a vServer group.
type ServerGroup struct {
	ID, LoadBalancerID, Name string
	Servers                  []*slbv1.Server
}

// Call is a call that was answered.
type Call struct {
	Method  string // e.g. "CreateLoadBalancer", or "nlb.CreateLoadBalancer"
	Request proto.Message
	Err     error
	// Priority is what the call has in the gateway: what the caller asked for, as far as the method allows.
	Priority gateway.Priority
}

// methods are those of the gateway, by name.
var methods = sync.OnceValue(func() map[string]method.Method { //nolint:gochecknoglobals // A constant.
	all := map[string]method.Method{}
	for _, m := range method.All() {
		all[nameOf(m.FullName())] = m
	}
	return all
})

// nameOf is the name of a method here, which tells those of NLB from others.
func nameOf(full string) string {
	name := full[strings.LastIndexByte(full, '/')+1:]
	if strings.HasPrefix(full, "/cloudgateway.nlb.") {
		return "nlb." + name
	}
	return name
}

// effective is the lower of two priorities. One that is not known is as high as any.
func effective(highest, asked gateway.Priority) gateway.Priority {
	order := []gateway.Priority{gateway.Background, gateway.Deletion, gateway.User, gateway.Backend}
	if i := slices.Index(order, asked); i >= 0 && i < slices.Index(order, highest) {
		return asked
	}
	return highest
}

// Fault is how a call fails: with Before it has no effect, with After it has and only the answer is lost.
type Fault struct{ Before, After error }

// fault is a Fault for the next calls of one method.
type fault struct {
	method string
	left   int
	fault  Fault
}

// answer is what a creation was asked and has answered, and when.
type answer struct {
	request, response proto.Message
	at                time.Time
}

// New starts a Fake with an empty cloud. It ends with the test.
func New(t testing.TB) *Fake {
	t.Helper()
	f := &Fake{
		LoadBalancers: map[string]*slbv1.LoadBalancer{}, Listeners: map[ListenerKey]*slbv1.Listener{},
		ServerGroups: map[string]*ServerGroup{}, DefaultGroups: map[string]*ServerGroup{},
		DomainExtensions: map[string]*DomainExtension{}, ServerCertificates: map[string]*slbv1.ServerCertificate{},
		NLB: newNLB(), Vpcs: map[string]*vpcv1.Vpc{}, VSwitches: map[string]*vpcv1.VSwitch{}, Eips: map[string]*vpcv1.Eip{},
		RouteTables: map[string]*vpcv1.RouteTable{}, Routes: map[RouteKey]*vpcv1.RouteEntry{},
		Instances: map[string]*ecsv1.Instance{}, InstanceEvents: map[string]*ecsv1.InstanceEvent{},
		NetworkInterfaces:  map[string]*ecsv1.NetworkInterface{},
		SecurityGroups:     map[string]*ecsv1.SecurityGroup{},
		AccessControlLists: map[string]*slbv1.AccessControlList{}, UserCertificates: map[string]*casv1.Certificate{},
		Capabilities:    &commonv1.GetCapabilitiesResponse{Version: "test", RegionId: "cn-hangzhou", VpcId: "vpc-test"},
		ServersPerGroup: defaultServersPerGroup, RoutesPerTable: defaultRoutesPerTable,
		t: t, answered: map[string]answer{}, uploaded: map[string]bool{}, ids: map[string]int{},
	}
	server := f.newServer()

	pipe := bufconn.Listen(pipeSize)
	served := make(chan struct{})
	go serve(t, server, pipe, served)
	conn, err := grpc.NewClient("passthrough:///fake",
		grpc.WithTransportCredentials(insecure.NewCredentials()), // It never leaves the process.
		grpc.WithIdleTimeout(0),                                  // In a bubble half an hour passes all the time.
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return pipe.DialContext(ctx) }),
	)
	if err != nil {
		t.Fatalf("dial the fake gateway: %v", err)
	}
	f.client = gateway.NewClient(conn)
	t.Cleanup(func() {
		_ = conn.Close() // Nothing depends on it any more.
		server.Stop()
		<-served
	})
	return f
}

// newServer makes a server that answers for the Fake.
func (f *Fake) newServer(options ...grpc.ServerOption) *grpc.Server {
	server := grpc.NewServer(append(options, grpc.UnaryInterceptor(f.intercept))...)
	slbv1.RegisterLoadBalancerServiceServer(server, &loadBalancers{f: f})
	slbv1.RegisterListenerServiceServer(server, &listeners{f: f})
	slbv1.RegisterDomainExtensionServiceServer(server, &domainExtensions{f: f})
	slbv1.RegisterCertificateServiceServer(server, &certificates{f: f})
	slbv1.RegisterServerGroupServiceServer(server, &serverGroups{f: f})
	slbv1.RegisterServerHealthServiceServer(server, &health{f: f})
	casv1.RegisterCertificateServiceServer(server, &userCertificates{f: f})
	nlbv1.RegisterLoadBalancerServiceServer(server, &nlbBalancers{f: f})
	nlbv1.RegisterListenerServiceServer(server, &nlbListeners{f: f})
	nlbv1.RegisterServerGroupServiceServer(server, &nlbGroups{f: f})
	vpcv1.RegisterRouteServiceServer(server, &routes{f: f})
	vpcv1.RegisterNetworkServiceServer(server, &networks{f: f})
	vpcv1.RegisterVSwitchServiceServer(server, &vswitches{f: f})
	vpcv1.RegisterEipServiceServer(server, &eips{f: f})
	ecsv1.RegisterInstanceServiceServer(server, &instances{f: f})
	ecsv1.RegisterNetworkInterfaceServiceServer(server, &networkInterfaces{f: f})
	slbv1.RegisterAccessControlListServiceServer(server, &accessLists{f: f})
	ecsv1.RegisterSecurityGroupServiceServer(server, &securityGroups{f: f})
	commonv1.RegisterCapabilitiesServiceServer(server, &capabilities{f: f})
	return server
}

// Client gives the clients of the Fake.
func (f *Fake) Client() *gateway.Client { return f.client }

// Calls lists the calls since New or ResetCalls, in the order they were answered.
func (f *Fake) Calls() []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.calls)
}

// CallsOf lists the calls of the given methods.
func (f *Fake) CallsOf(methods ...string) []Call {
	return slices.DeleteFunc(f.Calls(), func(c Call) bool { return !slices.Contains(methods, c.Method) })
}

// Writes lists the calls that are not reads.
func (f *Fake) Writes() []Call {
	return slices.DeleteFunc(f.Calls(), func(c Call) bool { return methods()[c.Method].Reads() })
}

// ResetCalls forgets the calls so far; the state stays.
func (f *Fake) ResetCalls() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = nil
}

// Fail lets the next n calls of method fail without an effect.
func (f *Fake) Fail(method string, n int, err error) { f.addFault(method, n, Fault{Before: err}) }

// FailAfter lets the next n calls of method take effect and then fail, as if the answer was lost.
func (f *Fake) FailAfter(method string, n int, err error) { f.addFault(method, n, Fault{After: err}) }

func (f *Fake) addFault(method string, n int, what Fault) {
	f.t.Helper()
	if _, ok := methods()[method]; !ok {
		f.t.Fatalf("gatewaytest: the gateway has no method %q", method)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, &fault{method: method, left: n, fault: what})
}

// Interpose asks decide about every call from now on; seq counts the calls from 0. It may block, to hold a call back. nil ends it.
func (f *Fake) Interpose(decide func(seq int, method string, req proto.Message) Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.started = 0
	f.interpose = decide
}

// intercept applies faults and keeps the record.
func (f *Fake) intercept(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	method := nameOf(info.FullMethod)
	message, ok := req.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("gatewaytest: %T is not a message", req)
	}
	f.underway.Add(1)
	defer f.underway.Add(-1)
	what := f.faultOf(method, message)
	if what.Before != nil {
		f.record(ctx, method, message, what.Before)
		return nil, what.Before
	}
	if f.Behind != nil {
		handle = func(ctx context.Context, _ any) (any, error) { return f.forward(ctx, info.FullMethod, message) }
	}
	end := f.beginWrite(method, message)
	response, err := handle(ctx, req)
	end()
	if err == nil && what.After != nil {
		err = what.After
	}
	f.record(ctx, method, message, err)
	if err != nil {
		return nil, err
	}
	return response, nil
}

// forward lets the gateway behind answer.
func (f *Fake) forward(ctx context.Context, full string, request proto.Message) (any, error) {
	name := protoreflect.FullName(strings.ReplaceAll(strings.TrimPrefix(full, "/"), "/", "."))
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
	if err != nil {
		return nil, fmt.Errorf("gatewaytest: %w", err)
	}
	called, ok := found.(protoreflect.MethodDescriptor)
	if !ok {
		return nil, fmt.Errorf("gatewaytest: %s is no method", name)
	}
	kind, err := protoregistry.GlobalTypes.FindMessageByName(called.Output().FullName())
	if err != nil {
		return nil, fmt.Errorf("gatewaytest: %w", err)
	}
	if asked, ok := metadata.FromIncomingContext(ctx); ok {
		ctx = metadata.NewOutgoingContext(ctx, asked)
	}
	response := kind.New().Interface()
	if err := f.Behind.Invoke(ctx, full, request, response); err != nil {
		if failed, ok := rpcerr.From(err); ok {
			return nil, failed
		}
		return nil, err
	}
	return response, nil
}

func (f *Fake) faultOf(method string, req proto.Message) Fault {
	f.mu.Lock()
	seq, decide := f.started, f.interpose
	f.started++
	for _, next := range f.faults {
		if next.method == method && next.left > 0 {
			next.left--
			f.mu.Unlock()
			return next.fault
		}
	}
	f.mu.Unlock()
	if decide == nil {
		return Fault{}
	}
	return decide(seq, method, req)
}

func (f *Fake) record(ctx context.Context, name string, req proto.Message, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	call := Call{Method: name, Request: proto.Clone(req), Err: err, Priority: gateway.Priority(methods()[name].Priority())}
	for _, asked := range metadata.ValueFromIncomingContext(ctx, gateway.PriorityKey) {
		call.Priority = effective(call.Priority, gateway.Priority(asked))
	}
	f.calls = append(f.calls, call)
}

// nextID gives out "lb-1", "lb-2" and so on; f is locked.
func (f *Fake) nextID(prefix string) string {
	f.ids[prefix]++
	return fmt.Sprintf("%s-%d", prefix, f.ids[prefix])
}

// capabilities serves the state's Capabilities.
type capabilities struct {
	commonv1.UnimplementedCapabilitiesServiceServer

	f *Fake
}

func (s *capabilities) GetCapabilities(context.Context, *commonv1.GetCapabilitiesRequest,
) (*commonv1.GetCapabilitiesResponse, error) {
	s.f.enter()
	defer s.f.leave()
	return proto.CloneOf(s.f.Capabilities), nil
}
