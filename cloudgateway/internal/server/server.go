// Package server registers the services of the gateway's API, and knows what each method needs to be allowed.
package server

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	casv1 "alicloud-controllers.dev/proto/cloudgateway/cas/v1"
	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/method"
	"alicloud-controllers.dev/services/kube"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
	"alicloud-controllers.dev/cloudgateway/internal/cas"
	cascertificate "alicloud-controllers.dev/cloudgateway/internal/cas/certificate"
	"alicloud-controllers.dev/cloudgateway/internal/check"
	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/config"
	"alicloud-controllers.dev/cloudgateway/internal/ecs"
	"alicloud-controllers.dev/cloudgateway/internal/ecs/instance"
	"alicloud-controllers.dev/cloudgateway/internal/ecs/networkinterface"
	"alicloud-controllers.dev/cloudgateway/internal/ecs/securitygroup"
	"alicloud-controllers.dev/cloudgateway/internal/flow"
	"alicloud-controllers.dev/cloudgateway/internal/nlb"
	nlblistener "alicloud-controllers.dev/cloudgateway/internal/nlb/listener"
	nlbloadbalancer "alicloud-controllers.dev/cloudgateway/internal/nlb/loadbalancer"
	nlbservergroup "alicloud-controllers.dev/cloudgateway/internal/nlb/servergroup"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/page"
	"alicloud-controllers.dev/cloudgateway/internal/scope"
	"alicloud-controllers.dev/cloudgateway/internal/slb"
	"alicloud-controllers.dev/cloudgateway/internal/slb/acl"
	"alicloud-controllers.dev/cloudgateway/internal/slb/certificate"
	"alicloud-controllers.dev/cloudgateway/internal/slb/domainextension"
	"alicloud-controllers.dev/cloudgateway/internal/slb/health"
	"alicloud-controllers.dev/cloudgateway/internal/slb/listener"
	"alicloud-controllers.dev/cloudgateway/internal/slb/loadbalancer"
	"alicloud-controllers.dev/cloudgateway/internal/slb/rule"
	"alicloud-controllers.dev/cloudgateway/internal/slb/servergroup"
	"alicloud-controllers.dev/cloudgateway/internal/vpc"
	"alicloud-controllers.dev/cloudgateway/internal/vpc/eip"
	"alicloud-controllers.dev/cloudgateway/internal/vpc/network"
	"alicloud-controllers.dev/cloudgateway/internal/vpc/route"
	"alicloud-controllers.dev/cloudgateway/internal/vpc/vswitch"
)

// Config holds what the services work with.
type Config struct {
	cloud.Shared

	// Caller reaches the cloud.
	Caller cloud.Caller
	// Idle and Max shape the gathering of reads of instances and network interfaces, see batch.Config.
	Idle, Max time.Duration
	// ServersPerCall and RoutesPerCall are how many one call may name: 1 to 40 and 1 to 50.
	ServersPerCall, RoutesPerCall int
	// Budget and Standing are what the status shows: the rate limits, and which replica is active.
	Budget   *flow.Budget
	Standing func() (kube.Standing, error)
	// API says which services of tools are offered.
	API config.API
	// Scopes keep callers to parts of the account, see Services.Scoped.
	Scopes []config.Scope
	// Version, Region and VpcID are returned to callers that ask for the capabilities.
	Version, Region, VpcID string
}

// of is what the resources of a product work with.
func (cfg Config) of(product openapi.Product) cloud.Shared {
	shared := cfg.Shared
	if shared.Room != nil {
		shared.Room = shared.Room.For(string(product))
	}
	return shared
}

// Services are all services of the API.
type Services struct {
	register []func(grpc.ServiceRegistrar)
	owners   []cloud.Owner
	guard    *scope.Guard
	parts    []part
	methods  map[string]method.Method // by full name
}

// New makes the services.
func New(cfg Config) *Services {
	s := &Services{methods: map[string]method.Method{}}
	for _, m := range method.All() {
		s.methods[m.FullName()] = m
	}
	interfaces := s.addECS(cfg)
	s.addVPC(cfg)
	balancers := s.addSLB(cfg)
	lists := s.addNLB(cfg, interfaces)
	s.addCAS(cfg)
	lists[scope.LoadBalancer] = func(ctx context.Context, tag *commonv1.Tag) error {
		_, err := balancers.ListLoadBalancers(ctx, &slbv1.ListLoadBalancersRequest{Tags: []*commonv1.Tag{tag}})
		return err
	}
	s.guard = scope.New(cfg.Scopes, s.owners, lists)
	s.add(func(r grpc.ServiceRegistrar) {
		commonv1.RegisterCapabilitiesServiceServer(r, &capabilities{cfg: cfg})
		commonv1.RegisterStatusServiceServer(r, &statusService{cfg: cfg})
	})
	return s
}

func (s *Services) addECS(cfg Config) *networkinterface.Service {
	product := ecs.Config{Shared: cfg.of(openapi.ECS), Caller: cfg.Caller, Idle: cfg.Idle, Max: cfg.Max,
		ObserveInterface: func(eni *ecsv1.NetworkInterface) {
			s.guard.Observe(scope.NetworkInterface, eni.GetNetworkInterfaceId(), eni)
		}}
	interfaces := networkinterface.New(product)
	instances := instance.New(product, cfg.Region, interfaces)
	interfaces.OnMove(instances.Forget)
	groups := securitygroup.New(product)
	s.owners = append(s.owners, instances.Owner(), interfaces.Owner(), groups.Owner())
	s.add(func(r grpc.ServiceRegistrar) {
		ecsv1.RegisterInstanceServiceServer(r, instances)
		ecsv1.RegisterNetworkInterfaceServiceServer(r, interfaces)
		ecsv1.RegisterSecurityGroupServiceServer(r, groups)
	})
	return interfaces
}

func (s *Services) addVPC(cfg Config) {
	product := vpc.New(cfg.Caller, cfg.of(openapi.VPC))
	eips := eip.New(product)
	vswitches := vswitch.New(product)
	routes := route.New(product, vswitches, cfg.RoutesPerCall)
	networks := network.New(product)
	s.owners = append(s.owners, networks.Owner(), vswitches.Owner(), eips.Owner())
	s.parts = append(s.parts, part{"route_table_id", "vpc_id", routes.NetworkOf}, part{"vswitch_id", "vpc_id", vswitches.NetworkOf})
	s.add(func(r grpc.ServiceRegistrar) {
		vpcv1.RegisterRouteServiceServer(r, routes)
		vpcv1.RegisterNetworkServiceServer(r, networks)
		vpcv1.RegisterVSwitchServiceServer(r, vswitches)
		vpcv1.RegisterEipServiceServer(r, eips)
	})
}

func (s *Services) addSLB(cfg Config) *loadbalancer.Service {
	product := slb.New(cfg.Caller, cfg.of(openapi.SLB), func(lb *slbv1.LoadBalancer) {
		s.guard.Observe(scope.LoadBalancer, lb.GetLoadBalancerId(), lb)
	})
	listeners := listener.New(product)
	groups := servergroup.New(product, cfg.ServersPerCall)
	balancers := loadbalancer.New(product, listeners, groups)
	acls, certificates := acl.New(product), certificate.New(product)
	rules, extensions := rule.New(product), domainextension.New(product)
	s.parts = append(s.parts, part{"server_group_id", "load_balancer_id", groups.LoadBalancerOf},
		part{"rule_id", "load_balancer_id", rules.LoadBalancerOf}, part{"domain_extension_id", "load_balancer_id", extensions.LoadBalancerOf})
	s.owners = append(s.owners, append(certificates.Owners(), balancers.Owner(), acls.Owner())...)
	s.add(func(r grpc.ServiceRegistrar) {
		slbv1.RegisterLoadBalancerServiceServer(r, balancers)
		slbv1.RegisterListenerServiceServer(r, listeners)
		slbv1.RegisterServerGroupServiceServer(r, groups)
		slbv1.RegisterServerHealthServiceServer(r, health.New(product))
		slbv1.RegisterForwardingRuleServiceServer(r, rules)
		slbv1.RegisterDomainExtensionServiceServer(r, extensions)
		slbv1.RegisterAccessControlListServiceServer(r, acls)
		slbv1.RegisterCertificateServiceServer(r, certificates)
	})
	return balancers
}

// addNLB returns how all instances and all server groups with a tag are read.
func (s *Services) addNLB(cfg Config, interfaces *networkinterface.Service) map[scope.Kind]scope.List {
	product := nlb.New(cfg.Caller, cfg.of(openapi.NLB))
	product.ObserveBalancer = func(lb *nlbv1.LoadBalancer) { s.guard.Observe(scope.NLB, lb.GetLoadBalancerId(), lb) }
	product.ObserveGroup = func(g *nlbv1.ServerGroup) { s.guard.Observe(scope.NLBServerGroup, g.GetServerGroupId(), g) }
	balancers, listeners, groups := nlbloadbalancer.New(product), nlblistener.New(product), nlbservergroup.New(product)
	product.Balancers.OnWrite(func(string) { interfaces.ForgetAll() }) // An instance has interfaces in its zones.
	s.parts = append(s.parts, part{"listener_id", "load_balancer_id", listeners.LoadBalancerOf})
	s.owners = append(s.owners, balancers.Owner(), groups.Owner())
	s.add(func(r grpc.ServiceRegistrar) {
		nlbv1.RegisterLoadBalancerServiceServer(r, balancers)
		nlbv1.RegisterListenerServiceServer(r, listeners)
		nlbv1.RegisterServerGroupServiceServer(r, groups)
	})
	return map[scope.Kind]scope.List{
		scope.NLB: func(ctx context.Context, tag *commonv1.Tag) error {
			_, err := balancers.ListLoadBalancers(ctx, &nlbv1.ListLoadBalancersRequest{Tags: []*commonv1.Tag{tag}})
			return err
		},
		scope.NLBServerGroup: func(ctx context.Context, tag *commonv1.Tag) error {
			_, err := groups.ListServerGroups(ctx, &nlbv1.ListServerGroupsRequest{Tags: []*commonv1.Tag{tag}})
			return err
		},
	}
}

func (s *Services) addCAS(cfg Config) {
	certificates := cascertificate.New(cas.New(cfg.Caller, cfg.of(openapi.CAS)))
	s.owners = append(s.owners, certificates.Owner())
	s.add(func(r grpc.ServiceRegistrar) { casv1.RegisterCertificateServiceServer(r, certificates) })
}

// Guard keeps callers to their scopes.
func (s *Services) Guard() *scope.Guard { return s.guard }

// Scoped is an interceptor that refuses writes outside of the scopes of their callers. It comes right before the
// handlers. What a request leaves out of the load balancer or VPC of what it changes is filled in.
func (s *Services) Scoped(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if message, ok := request.(proto.Message); ok {
		if done, err := s.completed(ctx, s.methods[info.FullMethod], message.ProtoReflect()); done != nil || err != nil {
			return done, err
		}
	}
	return s.guard.Intercept(ctx, request, info, next)
}

func (s *Services) add(register func(grpc.ServiceRegistrar)) {
	s.register = append(s.register, register)
}

// Register adds all services to a server.
func (s *Services) Register(r grpc.ServiceRegistrar) {
	for _, register := range s.register {
		register(r)
	}
}

// Checks are the rules of all requests: those in the protocol, and those that the packages of the resources add.
func Checks() check.Table {
	return check.NewTable(
		route.Checks(), vswitch.Checks(), eip.Checks(), loadbalancer.Checks(), listener.Checks(), servergroup.Checks(), rule.Checks(),
		domainextension.Checks(), acl.Checks(), certificate.Checks(), nlblistener.Checks(), securitygroup.Checks(),
		cascertificate.Checks(),
	)
}

// Intercept makes the interceptor right before the handlers: it refuses requests that are wrong, gives lists in parts,
// and says in answers how old they are. Repeat answers repetitions.
func Intercept(repeat grpc.UnaryServerInterceptor) grpc.UnaryServerInterceptor {
	return Checks().Before(func(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		return page.Intercept(ctx, request, info, func(ctx context.Context, request any) (any, error) {
			return dated(ctx, request, func(ctx context.Context, request any) (any, error) { return repeat(ctx, request, info, handler) })
		})
	})
}

// dated sets as_of in the answers that have it.
func dated(ctx context.Context, request any, next grpc.UnaryHandler) (any, error) {
	ctx, age := batch.WithAge(ctx)
	response, err := next(ctx, request)
	if message, ok := response.(proto.Message); ok && err == nil {
		m := message.ProtoReflect()
		if field := m.Descriptor().Fields().ByName("as_of"); field != nil && !m.Has(field) {
			m.Set(field, protoreflect.ValueOfMessage(timestamppb.New(age.AsOf()).ProtoReflect()))
		}
	}
	return response, err
}
