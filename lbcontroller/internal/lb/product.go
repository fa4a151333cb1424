package lb

import (
	"context"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb/apply"
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/observe"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
	"alicloud-controllers.dev/lbcontroller/internal/readiness"
)

// Product is what the engine must know of a kind of load balancers: it builds what is wanted, compares, reads and calls. It keeps nothing
// between calls, has no queue, cache or clock, and its methods are called by several goroutines.
type Product interface {
	// Configure builds the wanted load balancer and its listeners; the server groups are the engine's. Pure.
	desired.Configurer
	// Create, Update, Tagged, Unprotect and Changed compare attributes and make the actions of the kind. Pure.
	plan.Differ
	// Read, Complete and Search read the cloud.
	observe.Reader
	// Call carries out one action.
	apply.Caller

	// Fields are what the spec of a Service asks for, in the words of annotations, of which the view has those of the Service.
	Fields(view desired.View) []annotation.Field
	// Marks are the texts by which the kind is known on Services and in metrics.
	Marks() Marks
	// Wants reports whether a Service asks for a load balancer of the kind.
	Wants(svc *corev1.Service) bool
	// WithoutEffect says, as text for users, which annotations mean nothing for the load balancer that there is.
	WithoutEffect(view desired.View, there model.Observed) []string
	// OpenTo says, as text for users, who can connect to a load balancer as it is; empty if it has no listener.
	OpenTo(there model.Observed) string
	// Probes reports whether a listener, wanted or present, checks the health of its servers.
	Probes(l model.Listener) bool
	// CheckedPort is the port of servers that the health checks by TCP of a wanted listener go to, 0 for the servers' own; ok is false if
	// there are none.
	CheckedPort(l model.Listener, g model.Group) (port int32, ok bool)
	// CheckSources are the networks that a load balancer checks its servers from; none if that isn't known.
	CheckSources(ctx context.Context, there model.Observed) ([]netip.Prefix, error)
	// Health returns what the cloud says of the health of each server, once for each listener that it works for. The type of a server is left
	// out of its key.
	Health(ctx context.Context, there model.Observed) (map[model.ServerKey][]readiness.Health, error)
	// Addresses are those that are bound to a load balancer, as they were not longer ago than maxAge; 0 for now. none
	// says, as text for users, what it means for a Service which publishes them that there is none.
	Addresses(ctx context.Context, id string, maxAge time.Duration) (list []string, none string, err error)
	// Locked reports, by one read, whether the cloud has locked a load balancer because money is owed for it.
	Locked(ctx context.Context, id string) (bool, error)
	// Certificate is the id of the first certificate that a listener names; empty for none.
	Certificate(l model.Listener) string
	// CertificateEnds says when certificates end: the zero time where the cloud doesn't say. One that isn't there is left out.
	CertificateEnds(ctx context.Context, ids []string) (map[string]time.Time, error)
}

// Foreseer is a Product that finds out, by reading, what of a plan the cloud would refuse.
type Foreseer interface {
	// Foresee says, as text for users, what is wrong with what an annotation asks for, and what would do; why is empty
	// if nothing is known to be. hopeless are the actions that can't be done then. What is wrong by lists of before is
	// read anew if that is wanted.
	Foresee(ctx context.Context, there model.Observed, coming plan.Plan, anew bool) (
		key, why string, hopeless func(plan.Action) bool)
}

// Marks are the texts by which a kind is known.
type Marks struct {
	// Name is that of the kind for people, in logs and events, and chooses the rows of the table of annotations.
	Name annotation.LoadBalancer
	// Finalizer keeps a Service until its load balancer is released. No other kind has the same.
	Finalizer string
	// MetricType is the value of the label type of metrics.
	MetricType string
	// CreateAPI is the cloud's action that makes a load balancer, as errors of the gateway name it.
	CreateAPI string
	// Orphans is where the state of the search for orphans is in the record.
	Orphans string
	// Others are what ids of load balancers of other kinds begin with, each with what is said, for people, to whoever
	// names such a load balancer.
	Others map[string]string
	// DottedNames gives server groups names as an NLB has them.
	DottedNames bool
	// BuiltInGroup is the id of the server group that every load balancer has; empty where there is none.
	BuiltInGroup string
	// GroupsApart says that server groups stand by themselves: they can be there before the load balancer, and outlive it.
	GroupsApart bool
	// HostNames says that what is published of a load balancer is a host name.
	HostNames bool
	// ListLabel is the label of a Service with the id of its access list; empty for none.
	ListLabel string
	// ListLimit says for people how long an access list may be.
	ListLimit string
	// ServersPerCall is how many servers the cloud takes in one call.
	ServersPerCall int
}
