// Package app puts the gateway together from its parts and runs it.
package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"k8s.io/client-go/kubernetes"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	"alicloud-controllers.dev/services/admin"
	"alicloud-controllers.dev/services/kube"
	"alicloud-controllers.dev/services/process"
	"alicloud-controllers.dev/services/tracing"
	"alicloud-controllers.dev/services/version"

	"alicloud-controllers.dev/cloudgateway/internal/authn"
	"alicloud-controllers.dev/cloudgateway/internal/authz"
	"alicloud-controllers.dev/cloudgateway/internal/batch"
	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/config"
	"alicloud-controllers.dev/cloudgateway/internal/flow"
	"alicloud-controllers.dev/cloudgateway/internal/front"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/openapi/credentials"
	"alicloud-controllers.dev/cloudgateway/internal/openapi/sts"
	"alicloud-controllers.dev/cloudgateway/internal/rampolicy"
	"alicloud-controllers.dev/cloudgateway/internal/replay"
	"alicloud-controllers.dev/cloudgateway/internal/rpc"
	"alicloud-controllers.dev/cloudgateway/internal/server"
)

// Gateway is the process, put together and not yet running.
type Gateway struct {
	cfg         config.Config
	log         *slog.Logger
	tracing     *tracing.Provider
	kube        kubernetes.Interface
	kubeLease   kubernetes.Interface // for the Lease
	election    *kube.Election
	credentials *credentials.Provider
	openapi     *openapi.Client
	services    *server.Services
	authorizer  *authz.Authorizer
	rpc         *rpc.Server
	admin       *admin.Server
	listener    net.Listener
	gate        *gate
	front       *front.Front // nil: there is none
}

// New puts the gateway together. It opens its listeners, for which it waits if another replica on the same node has them, and does nothing
// else yet.
func New(ctx context.Context, cfg config.Config, log *slog.Logger) (*Gateway, error) {
	if err := locate(ctx, &cfg); err != nil {
		return nil, err
	}
	cfg.Budget.Controllers = controllersOf(cfg)
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	g := &Gateway{cfg: cfg, log: log}
	agent := userAgent()

	var err error
	if g.kube, err = kube.NewClient(cfg.Kubernetes, agent); err != nil {
		return nil, err
	}
	// The Lease has a client with a rate limit of its own: callers, also those that are refused, make the other one wait.
	if g.kubeLease, err = kube.NewClient(cfg.Kubernetes, agent+" leader-election"); err != nil {
		return nil, err
	}
	identity, err := kube.Identity()
	if err != nil {
		return nil, err
	}
	g.election = kube.NewElection(g.kubeLease, cfg.LeaderElection, identity, log)
	g.election.Register(registry, "cloudgateway")
	g.credentials = credentials.New(credentialsSource(cfg, sts.New(cloudConfig(cfg, log))), registry, log)
	budget, err := flow.New(cfg.Budget, registry, log)
	if err != nil {
		return nil, err
	}
	g.gate = &gate{budget: budget, holds: g.election.Holds, drain: cfg.LeaderElection.Drain()}
	way := cloudConfig(cfg, log)
	way.Credentials, way.Budget, way.Turn, way.Registerer = g.credentials, g.gate, g.gate, registry
	g.openapi = openapi.New(way)
	if strings.EqualFold(cfg.Scheme, "HTTP") {
		log.Warn("scheme is HTTP: identity tokens, security tokens and private keys go to the cloud in clear text; use HTTPS outside of tests")
	}
	if g.tracing, err = tracing.Start(ctx, cfg.Tracing, "cloudgateway", version.String(), log); err != nil {
		return nil, err
	}
	if err := g.newServer(registry); err != nil {
		return nil, err
	}
	// The election comes after: the leader must be reached.
	if g.listener, err = process.Listen(ctx, cfg.Listen, log, g.election.GiveBack); err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if g.admin, err = admin.New(ctx, cfg.Admin, g.kube, log, registry, g.checks()...); err != nil {
		return nil, errors.Join(err, g.listener.Close())
	}
	return g, nil
}

// remembered is the memory for answers that callers accept with an age, in bytes.
const remembered = 64 << 20

// newServer makes the services and the gRPC server in front of them.
func (g *Gateway) newServer(registry *prometheus.Registry) error {
	guarded, room := rampolicy.NewGuard(g.openapi), batch.NewRoom(remembered)
	g.services = server.New(server.Config{
		Shared: cloud.Shared{
			Locks: &flow.Keyed[string]{Callers: g.cfg.Budget.Callers}, Registerer: registry, Room: room, Logger: g.log,
		},
		Caller: guarded, Idle: g.cfg.Coalesce.Idle.Or(0), Max: g.cfg.Coalesce.Max.Or(0),
		ServersPerCall: g.cfg.Limits.ServersPerCall, RoutesPerCall: g.cfg.Limits.RoutesPerCall, API: g.cfg.API, Scopes: g.cfg.Scopes,
		Budget: g.gate.budget, Standing: g.election.Standing,
		Version: version.String(), Region: g.cfg.Region, VpcID: g.cfg.VpcID,
	})
	behalf, policies := onBehalf(g.cfg), server.Policies(g.cfg.API)
	var reflection rpc.Policy
	if g.cfg.Reflection {
		reflection = policies[commonv1.CapabilitiesService_GetCapabilities_FullMethodName]
	}
	g.authorizer = authz.New(g.kube.AuthorizationV1().SubjectAccessReviews(), g.log)
	var err error
	g.rpc, err = rpc.New(rpc.Config{
		TLS:           rpc.TLSConfig(g.cfg.TLS),
		Policies:      policies,
		Authenticator: authn.New(g.kube.AuthenticationV1().TokenReviews(), g.cfg.Authentication.Audience, g.log),
		Authorizer:    g.authorizer,
		Context:       func(ctx context.Context) context.Context { return behalf(g.gate.within(ctx)) },
		Interceptor:   patient(g.cfg.Budget, server.Intercept(replay.New(policies, registry).Before(g.services.Scoped))),
		Reflection:    reflection,
		Registerer:    registry,
		Tracers:       g.tracing.Tracers(),
		Logger:        g.log,
	})
	if err != nil {
		return err
	}
	g.services.Register(g.rpc)
	if err := g.rpc.Check(); err != nil || g.cfg.Front.Listen == "" {
		return err
	}
	g.front = front.New(g.frontConfig(registry, room.ClearOf))
	return nil
}

// Addr is where the gRPC server listens.
func (g *Gateway) Addr() string { return g.listener.Addr().String() }

// Run works until ctx ends, a signal comes or a part fails. The parts stop in the reverse order: first the leadership,
// which refuses what was not sent and gives the Lease back when the changes that were sent are answered, and then the
// servers, whose last answers another replica does not wait for.
func (g *Gateway) Run(ctx context.Context) error {
	defer g.openapi.Close()
	g.log.Info("starting", "version", version.String(), "listen", g.Addr(), "admin", g.admin.Addr(), "region", g.cfg.Region)
	parts := []process.Component{
		{Name: "tracing", Run: g.tracing.Run},
		{Name: "admin", Run: g.admin.Run},
		{Name: "credentials", Run: g.credentials.Run},
		{Name: "server", Run: func(ctx context.Context) error { return g.rpc.Serve(ctx, g.listener) }},
	}
	if g.cfg.ActiveListen != "" {
		parts = append(parts, process.Component{Name: "active", Run: func(ctx context.Context) error {
			return g.rpc.ServeActive(ctx, func(ctx context.Context) (net.Listener, error) {
				return process.Listen(ctx, g.cfg.ActiveListen, g.log, nil)
			})
		}})
	}
	if g.front != nil {
		parts = append(parts, process.Component{Name: "front", Run: func(ctx context.Context) error {
			return g.rpc.WhileActive(ctx, "tools that use the OpenAPI front find nothing", g.front.Serve)
		}})
	}
	return process.Run(ctx, g.log, append(parts, process.Component{Name: "leadership", Run: g.lead})...)
}

// lead serves while this replica is the active one; without election it always is.
func (g *Gateway) lead(ctx context.Context) error {
	return g.election.Run(ctx, func(ctx context.Context) error {
		standing, _ := g.election.Standing() // What was seen stays true, also if the Lease can't be read at present.
		g.gate.begin(ctx, standing.Until)
		g.learned().run(ctx, func() {
			// The controllers of a fresh cluster call at once, and back off if they are refused for credentials that are on their way. A source
			// that fails does not hold callers up: they then hear why.
			select {
			case <-g.credentials.Tried():
			case <-ctx.Done():
				return
			}
			g.rpc.SetServing(true)
		}, func() {
			g.rpc.SetServing(false)
			g.gate.end()
		})
		return nil
	})
}

// checks are the conditions of readiness. Readiness is about this replica's ability to work, now or as the next leader, and so a
// standby is ready: otherwise a rolling update would wait for ever for the replica that must not lead yet, and a disruption budget
// would count one too few. Callers find the active replica by gRPC health checks and not by readiness.
func (g *Gateway) checks() []admin.Check {
	return []admin.Check{
		{
			Name:   "credentials",
			Check:  func(context.Context) error { return g.credentials.Ready() },
			Remedy: `run "cloudgateway doctor" with this configuration`,
		},
		{
			Name:   "cloud",
			Check:  func(context.Context) error { return g.openapi.Reachable() },
			Remedy: "check the network and DNS of the node, and network and endpoints of the configuration",
		},
		{
			Name:   "kubernetes",
			Check:  g.reachKubernetes,
			Remedy: "check the API server, the network of the node, and kubernetes.kubeconfig if it is set",
		},
		{
			Name: "leadership",
			Check: func(context.Context) error {
				_, err := g.election.Standing()
				return err
			},
			Remedy: "check that the ServiceAccount may create, get and update the Lease (the chart's RBAC)",
			Detail: g.standing,
		},
	}
}

// standing says which replica leads, for /readyz.
func (g *Gateway) standing() string {
	standing, err := g.election.Standing()
	switch {
	case err != nil:
		return "not known at present"
	case standing.Leads:
		return "this replica leads"
	case standing.Leader == "":
		return "standby: nobody leads at present"
	}
	return "standby: " + standing.Leader + " leads"
}

// reachKubernetes is a condition of readiness: without the API server no caller can be checked.
func (g *Gateway) reachKubernetes(ctx context.Context) error {
	err := g.kube.Discovery().RESTClient().Get().AbsPath("/version").Do(ctx).Error()
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.New("the API server has not answered in time, so callers can't be checked")
	}
	if err != nil {
		return fmt.Errorf("the API server can't be reached, so callers can't be checked: %w", err)
	}
	return nil
}
