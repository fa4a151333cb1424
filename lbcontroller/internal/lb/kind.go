// Package lb brings a load balancer to what a Service asks for, of whatever kind it is. What only a kind knows is its Product. A pass over a
// Service is a pipeline of values: view → desired → knowledge → decision → plan → apply → outcome.
package lb

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/services/gateway"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/backend/ecs"
	"alicloud-controllers.dev/lbcontroller/internal/backend/eni"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb/backlog"
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
	"alicloud-controllers.dev/lbcontroller/internal/lb/memory"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/observe"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
	"alicloud-controllers.dev/lbcontroller/internal/lb/record"
	"alicloud-controllers.dev/lbcontroller/internal/readiness"
)

// Marks on a Service, those of the existing CCM.
const (
	// LabelHash holds the digest of the configuration that the CLB has.
	LabelHash = "service.beta.kubernetes.io/hash"
	// LabelLoadBalancerID holds the id of the CLB.
	LabelLoadBalancerID = ownership.LabelLoadBalancerID
)

// Config is what a kind needs.
type Config struct {
	// Product is the kind.
	Product Product
	// Shared is what all kinds of a process have in common; nil for a process with one kind.
	Shared  *Shared
	Gateway *gateway.Client
	Desired desired.Config
	// DriftCheck is how often, about, a CLB that nothing happens to is read and compared.
	DriftCheck time.Duration
	// Policy says which changes are made for Services that don't say.
	Policy Policy
	// Drift is what is only reported of what others have changed in the cloud.
	Drift Drift
	// Orphans is what is done about CLBs whose Services are gone.
	Orphans Orphans
	// Records keep over a restart which backends Services have; nil for none.
	Records *record.Store
	// HealthPatience is how long a pod that declares a readiness gate waits for its first health checks at the CLB, at most. 0 releases it
	// as soon as it is registered.
	HealthPatience time.Duration
	// CertificateCheck is how often the ends of server certificates are read; 0 for never.
	CertificateCheck time.Duration
	// Registerer takes the metrics of the kind; nil for none.
	Registerer prometheus.Registerer
	Logger     *slog.Logger
}

// Shared is what kinds have in common that one process serves.
type Shared struct {
	enis *eni.Resolver
	// instances knows the nodes that the cloud doesn't have.
	instances *ecs.Checker
	metrics   metrics
}

// NewShared makes what kinds have in common. The registerer, which may be nil, takes the metrics.
func NewShared(client *gateway.Client, vpc string, registerer prometheus.Registerer) *Shared {
	return &Shared{enis: &eni.Resolver{Client: client, VPCID: vpc}, instances: &ecs.Checker{Client: client}, metrics: newMetrics(registerer)}
}

// Kind is a kind of load balancers: the engine, with the Product of the kind. It implements controller.Kind.
type Kind struct {
	Config
	observer observe.Observer
	memory   *memory.Memory
	certs    *certificates
	polls    readiness.Polls
	// creations holds back Services while the gateway has no room for making CLBs.
	creations backlog.Backlog
	// lists are those that passes work with.
	lists model.Pool
	// started is when the kind was made: a Service that is older may have a CLB of which nothing is written on it.
	started time.Time
}

// New makes the kind, to be registered at a controller.
func New(cfg Config) controller.Registration {
	marks := cfg.Product.Marks()
	cfg.Desired.Parser, cfg.Desired.DottedNames = annotation.NewParser(marks.Name), marks.DottedNames
	if cfg.Shared == nil {
		cfg.Shared = NewShared(cfg.Gateway, cfg.Desired.VPCID, cfg.Registerer)
	}
	kind := &Kind{
		Config:   cfg,
		observer: observe.Observer{Reader: cfg.Product, GroupsApart: marks.GroupsApart},
		started:  time.Now(),
		memory:   &memory.Memory{},
		certs:    newCertificates(cfg),
	}
	return controller.Registration{
		MetricType: marks.MetricType, Finalizer: marks.Finalizer, Kind: kind, Previewer: kind, Run: kind.run,
		Labels: []string{LabelLoadBalancerID}, Annotations: []string{annotation.OwnTags, annotation.Applied, annotation.Claims},
	}
}

// run does what belongs to no Service, as long as this replica leads.
func (k *Kind) run(ctx context.Context) error {
	beside, ctx := errgroup.WithContext(ctx)
	if k.Records != nil {
		beside.Go(func() error { return k.Records.Run(ctx) })
	}
	beside.Go(func() error { return k.certs.Run(ctx) })
	beside.Go(func() error { return k.watchOrphans(ctx) })
	return beside.Wait()
}

// Interest implements controller.Kind.
func (k *Kind) Interest(svc *corev1.Service) controller.Interest {
	i := controller.Interest{Wanted: k.Product.Wants(svc) || k.isUnconfirmed(svc)}
	if !i.Wanted && !k.isHeld(svc) {
		return i
	}
	view := k.Desired.View(svc)
	i.Policy = view.Policy()
	i.Unknown = k.Shared.instances.Unknown()
	for _, claim := range view.Claims() {
		i.Shared = append(i.Shared, claim.LoadBalancer)
	}
	return i
}

// Changed implements controller.Kind. What a user changes is compared with what the cloud holds, and so is what another client took away
// that the controller had noted on the Service.
func (k *Kind) Changed(old, svc *corev1.Service) {
	switch {
	case !k.Product.Wants(svc):
	case forgotten(old, svc):
		k.memory.Forget(keyOf(svc))
		k.memory.Doubt(keyOf(svc)) // What a pass under way remembers was read before.
	case controller.ChangedByUser(old, svc):
		k.memory.Doubt(keyOf(svc))
	}
}

// NodesChanged implements controller.Kind.
func (k *Kind) NodesChanged(keys []string) { k.Records.Expect(keys...) }

// forgotten reports whether another client took away what the controller had noted: the address, because the CLB is gone, or the hash, to
// have the CLB compared at once. The controller itself takes the hash away before it changes the CLB, and notes then what it makes.
func forgotten(old, svc *corev1.Service) bool {
	cleared := len(old.Status.LoadBalancer.Ingress) > 0 && len(svc.Status.LoadBalancer.Ingress) == 0
	unmarked := old.Labels[LabelHash] != "" && svc.Labels[LabelHash] == "" && svc.Annotations[annotation.Making] == ""
	return cleared || unmarked
}

// Forget implements controller.Kind.
func (k *Kind) Forget(key string) {
	k.memory.Drop(key)
	k.Records.Set(key, "")
	k.Shared.enis.Forget(key)
	k.polls.Forget(key)
	k.certs.Use(key, nil)
	k.Shared.metrics.forget(key)
	k.creations.Forget(key)
}

// hint is what a Service says about the CLB that was made for it.
func (k *Kind) hint(svc *corev1.Service, claims ownership.Claims) observe.Hint {
	h := observe.Hint{
		RecordedID: svc.Labels[LabelLoadBalancerID], DefaultName: ownership.DefaultName(string(svc.UID)), ClusterID: k.Desired.ClusterID,
		Addresses: k.published(svc),
	}
	for _, claim := range claims {
		h.Users = append(h.Users, claim.LoadBalancer)
	}
	return h
}

// published are the addresses in the status of a Service, or names if the kind publishes these.
func (k *Kind) published(svc *corev1.Service) []string {
	var addresses []string
	for _, i := range svc.Status.LoadBalancer.Ingress {
		if address := k.Product.Marks().addressOf(i); address != "" {
			addresses = append(addresses, address)
		}
	}
	return addresses
}

// addressOf is what an entry of a status says of a load balancer; empty if it is of the other form.
func (m Marks) addressOf(i corev1.LoadBalancerIngress) string {
	if m.HostNames {
		return i.Hostname
	}
	return i.IP
}

func (k *Kind) isHeld(svc *corev1.Service) bool {
	return controller.Writer{Finalizer: k.Product.Marks().Finalizer}.Holds(svc)
}

func keyOf(svc *corev1.Service) string { return svc.Namespace + "/" + svc.Name }

// claimsOf are the claims that are noted on a Service.
func claimsOf(svc *corev1.Service) ownership.Claims {
	return ownership.ParseClaims(svc.Annotations[annotation.Claims])
}

func joined(texts []string) string { return strings.Join(texts, "; ") }
