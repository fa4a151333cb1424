// Package gatewaytest is an in-memory gateway for the tests of its callers: it keeps state, enforces the rules of the cloud that
// matter to them, counts calls, and fails on demand.
package gatewaytest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	casv1 "alicloud-controllers.dev/proto/cloudgateway/cas/v1"
	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
)

// Limits of the cloud by default.
const (
	defaultServersPerGroup = 200
)

// Fake is a gateway and the cloud behind it. Its exported fields are the cloud's state; read and change them between Lock and
// Unlock. What is put in belongs to the Fake from then on. Only what exists can be used: the instances, network interfaces,
// and vSwitches a test needs have to be put in first.
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

	Vpcs      map[string]*vpcv1.Vpc
	VSwitches map[string]*vpcv1.VSwitch
	Eips      map[string]*vpcv1.Eip

	Instances         map[string]*ecsv1.Instance
	NetworkInterfaces map[string]*ecsv1.NetworkInterface
	SecurityGroups    map[string]*ecsv1.SecurityGroup // with their rules

	Capabilities *commonv1.GetCapabilitiesResponse

	// ServersPerGroup is the cloud's quota, 200 by default.
	ServersPerGroup int

	// ListenerStart is how long a listener is being started; 0: it runs at once. starts is when those that are do.
	ListenerStart time.Duration
	starts        map[ListenerKey]time.Time
	// Health says how a listener finds a server, with the fake locked; nil: every server is "normal".
	Health func(listener *slbv1.ListenerKey, server *slbv1.Server) string

	Connection // its lock guards the state, too

	watcher  *Watcher
	byHand   bool              // a test has had it locked
	writing  int               // writes that have an effect just now
	answered map[string]answer // creations by request_id
	uploaded map[string]bool   // ids of certificates, also of those that are gone
	ids      map[string]int    // last number given out, by prefix
}

// ListenerKey names a listener.
type ListenerKey struct {
	LoadBalancerID string
	Port           int32
	Protocol       slbv1.Protocol
}

// ServerGroup is a vServer group.
type ServerGroup struct {
	ID, LoadBalancerID, Name string
	Servers                  []*slbv1.Server
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
		Instances:          map[string]*ecsv1.Instance{},
		NetworkInterfaces:  map[string]*ecsv1.NetworkInterface{},
		SecurityGroups:     map[string]*ecsv1.SecurityGroup{},
		AccessControlLists: map[string]*slbv1.AccessControlList{}, UserCertificates: map[string]*casv1.Certificate{},
		Capabilities:    &commonv1.GetCapabilitiesResponse{Version: "test", RegionId: "cn-hangzhou", VpcId: "vpc-test"},
		ServersPerGroup: defaultServersPerGroup,
		answered:        map[string]answer{}, uploaded: map[string]bool{}, ids: map[string]int{},
	}
	f.t, f.register, f.begin = t, f.serve, f.beginWrite
	f.connect()
	return f
}

// serve registers what answers for the Fake.
func (f *Fake) serve(server *grpc.Server) {
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
	vpcv1.RegisterNetworkServiceServer(server, &networks{f: f})
	vpcv1.RegisterVSwitchServiceServer(server, &vswitches{f: f})
	vpcv1.RegisterEipServiceServer(server, &eips{f: f})
	ecsv1.RegisterInstanceServiceServer(server, &instances{f: f})
	ecsv1.RegisterNetworkInterfaceServiceServer(server, &networkInterfaces{f: f})
	slbv1.RegisterAccessControlListServiceServer(server, &accessLists{f: f})
	ecsv1.RegisterSecurityGroupServiceServer(server, &securityGroups{f: f})
	commonv1.RegisterCapabilitiesServiceServer(server, &capabilities{f: f})
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
