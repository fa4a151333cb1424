// Package gatewaytest is the connection to a gateway that tests of its callers have: it counts calls and lets them fail on demand.
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

// pipeSize is that of the in-memory connection. Tests make thousands, and what is never used of one is cleared all the same.
const pipeSize = 32 << 10

// Connection is a connection to a gateway that counts calls and lets them fail on demand.
type Connection struct {
	// Behind answers the calls, with faults before and after it.
	Behind grpc.ClientConnInterface

	t        testing.TB
	client   *gateway.Client
	register func(*grpc.Server)                                      // what answers if nothing is behind
	begin    func(method string, request proto.Message) (end func()) // is told of a call that has an effect; nil: nobody is

	mu        sync.Mutex
	calls     []Call
	started   int
	underway  atomic.Int64
	faults    []*fault
	interpose func(seq int, method string, req proto.Message) Fault
}

// Connect makes a connection to a gateway. It ends with the test.
func Connect(t testing.TB, gateway grpc.ClientConnInterface) *Connection {
	t.Helper()
	c := &Connection{Behind: gateway, t: t, register: registerNothing}
	c.connect()
	return c
}

// connect starts what stands between the caller and the gateway.
func (c *Connection) connect() {
	t := c.t
	t.Helper()
	server := c.newServer()
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
	c.client = gateway.NewClient(conn)
	t.Cleanup(func() {
		_ = conn.Close() // Nothing depends on it any more.
		server.Stop()
		<-served
	})
}

// newServer makes a server that answers on the connection.
func (c *Connection) newServer(options ...grpc.ServerOption) *grpc.Server {
	server := grpc.NewServer(append(options, grpc.UnaryInterceptor(c.intercept))...)
	c.register(server)
	return server
}

// registerNothing registers the services of the gateway, which answer nothing: what is behind the connection does.
func registerNothing(server *grpc.Server) {
	slbv1.RegisterLoadBalancerServiceServer(server, slbv1.UnimplementedLoadBalancerServiceServer{})
	slbv1.RegisterListenerServiceServer(server, slbv1.UnimplementedListenerServiceServer{})
	slbv1.RegisterDomainExtensionServiceServer(server, slbv1.UnimplementedDomainExtensionServiceServer{})
	slbv1.RegisterCertificateServiceServer(server, slbv1.UnimplementedCertificateServiceServer{})
	slbv1.RegisterServerGroupServiceServer(server, slbv1.UnimplementedServerGroupServiceServer{})
	slbv1.RegisterServerHealthServiceServer(server, slbv1.UnimplementedServerHealthServiceServer{})
	slbv1.RegisterAccessControlListServiceServer(server, slbv1.UnimplementedAccessControlListServiceServer{})
	casv1.RegisterCertificateServiceServer(server, casv1.UnimplementedCertificateServiceServer{})
	nlbv1.RegisterLoadBalancerServiceServer(server, nlbv1.UnimplementedLoadBalancerServiceServer{})
	nlbv1.RegisterListenerServiceServer(server, nlbv1.UnimplementedListenerServiceServer{})
	nlbv1.RegisterServerGroupServiceServer(server, nlbv1.UnimplementedServerGroupServiceServer{})
	vpcv1.RegisterRouteServiceServer(server, vpcv1.UnimplementedRouteServiceServer{})
	vpcv1.RegisterNetworkServiceServer(server, vpcv1.UnimplementedNetworkServiceServer{})
	vpcv1.RegisterVSwitchServiceServer(server, vpcv1.UnimplementedVSwitchServiceServer{})
	vpcv1.RegisterEipServiceServer(server, vpcv1.UnimplementedEipServiceServer{})
	ecsv1.RegisterInstanceServiceServer(server, ecsv1.UnimplementedInstanceServiceServer{})
	ecsv1.RegisterNetworkInterfaceServiceServer(server, ecsv1.UnimplementedNetworkInterfaceServiceServer{})
	ecsv1.RegisterSecurityGroupServiceServer(server, ecsv1.UnimplementedSecurityGroupServiceServer{})
	commonv1.RegisterCapabilitiesServiceServer(server, commonv1.UnimplementedCapabilitiesServiceServer{})
}

// OnWrite lets a test see each write before it has an effect, with nothing locked; nil ends it.
func (c *Connection) OnWrite(calling func(method string, request proto.Message)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begin = nil
	if calling != nil {
		c.begin = func(method string, request proto.Message) func() {
			if !methods()[method].Reads() {
				calling(method, request)
			}
			return func() {}
		}
	}
}

// Underway is the number of calls that have begun and not ended.
func (c *Connection) Underway() int64 { return c.underway.Load() }

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

// nameOf is the name of a method here, which distinguishes those of NLB from others.
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

// Client gives the clients of the connection.
func (c *Connection) Client() *gateway.Client { return c.client }

// Calls lists the calls since New or ResetCalls, in the order they were answered.
func (c *Connection) Calls() []Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.calls)
}

// CallsOf lists the calls of the given methods.
func (c *Connection) CallsOf(methods ...string) []Call {
	return slices.DeleteFunc(c.Calls(), func(call Call) bool { return !slices.Contains(methods, call.Method) })
}

// Writes lists the calls that are not reads.
func (c *Connection) Writes() []Call {
	return slices.DeleteFunc(c.Calls(), func(call Call) bool { return methods()[call.Method].Reads() })
}

// ResetCalls forgets the calls so far; the state stays.
func (c *Connection) ResetCalls() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = nil
}

// Fail lets the next n calls of method fail without an effect.
func (c *Connection) Fail(method string, n int, err error) { c.addFault(method, n, Fault{Before: err}) }

// FailAfter lets the next n calls of method take effect and then fail, as if the answer was lost.
func (c *Connection) FailAfter(method string, n int, err error) {
	c.addFault(method, n, Fault{After: err})
}

func (c *Connection) addFault(method string, n int, what Fault) {
	c.t.Helper()
	if _, ok := methods()[method]; !ok {
		c.t.Fatalf("gatewaytest: the gateway has no method %q", method)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = append(c.faults, &fault{method: method, left: n, fault: what})
}

// Interpose asks decide about every call from now on; seq counts the calls from 0. It may block, to hold a call back. nil ends it.
func (c *Connection) Interpose(decide func(seq int, method string, req proto.Message) Fault) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.started = 0
	c.interpose = decide
}

// intercept applies faults and keeps the record.
func (c *Connection) intercept(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	method := nameOf(info.FullMethod)
	if _, ours := methods()[method]; !ours { // It asks for the health of the process.
		return handle(ctx, req)
	}
	message, ok := req.(proto.Message)
	if !ok {
		return nil, fmt.Errorf("gatewaytest: %T is not a message", req)
	}
	c.underway.Add(1)
	defer c.underway.Add(-1)
	what := c.faultOf(method, message)
	if what.Before != nil {
		c.record(ctx, method, message, what.Before)
		return nil, what.Before
	}
	if c.Behind != nil {
		handle = func(ctx context.Context, _ any) (any, error) { return c.forward(ctx, info.FullMethod, message) }
	}
	c.mu.Lock()
	begin := c.begin
	c.mu.Unlock()
	end := func() {}
	if begin != nil {
		end = begin(method, message)
	}
	response, err := handle(ctx, req)
	end()
	if err == nil && what.After != nil {
		err = what.After
	}
	c.record(ctx, method, message, err)
	if err != nil {
		return nil, err
	}
	return response, nil
}

// forward lets the gateway behind answer.
func (c *Connection) forward(ctx context.Context, full string, request proto.Message) (any, error) {
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
	if err := c.Behind.Invoke(ctx, full, request, response); err != nil {
		if failed, ok := rpcerr.From(err); ok {
			return nil, failed
		}
		return nil, err
	}
	return response, nil
}

func (c *Connection) faultOf(method string, req proto.Message) Fault {
	c.mu.Lock()
	seq, decide := c.started, c.interpose
	c.started++
	for _, next := range c.faults {
		if next.method == method && next.left > 0 {
			next.left--
			c.mu.Unlock()
			return next.fault
		}
	}
	c.mu.Unlock()
	if decide == nil {
		return Fault{}
	}
	return decide(seq, method, req)
}

func (c *Connection) record(ctx context.Context, name string, req proto.Message, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	call := Call{Method: name, Request: proto.Clone(req), Err: err, Priority: gateway.Priority(methods()[name].Priority())}
	for _, asked := range metadata.ValueFromIncomingContext(ctx, gateway.PriorityKey) {
		call.Priority = effective(call.Priority, gateway.Priority(asked))
	}
	c.calls = append(c.calls, call)
}
