// Package slb is what the resources of the cloud's Slb product share.
package slb

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/memo"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/write"
)

// Config holds what the resources work with.
type Config struct {
	// Caller reaches the cloud.
	Caller cloud.Caller
	// Locks orders the writes to one resource, which the cloud refuses to take at the same time.
	Locks      cloud.Locker
	Registerer prometheus.Registerer
	// Room is for what reads remember; see batch.Config.
	Room *batch.Room
	// Logger gets the stacks of panics in reads. It is required.
	Logger *slog.Logger
	// Saw is told of every load balancer in an answer of the cloud; nil: nobody is.
	Saw func(*slbv1.LoadBalancer)
}

// Product is what the resources share.
type Product struct {
	cloud.API

	Locks      cloud.Locker
	Registerer prometheus.Registerer
	// Room is for what reads remember; see batch.Config.
	Room *batch.Room
	// Logger gets the stacks of panics in reads. It is required.
	Logger *slog.Logger
	// Saw is to be told of every load balancer in an answer of the cloud.
	Saw func(*slbv1.LoadBalancer)

	balancers *write.Serial // by load balancer
	pace      *pace
	releases  *memo.Memo[string, struct{}] // load balancers whose listeners or rules let go of a vServer group a moment ago
}

// New makes a Product.
func New(cfg Config) *Product {
	if cfg.Saw == nil {
		cfg.Saw = func(*slbv1.LoadBalancer) {}
	}
	return &Product{
		API: cloud.API{Product: openapi.SLB, Caller: cfg.Caller}, Locks: cfg.Locks, Registerer: cfg.Registerer, Room: cfg.Room, Logger: cfg.Logger,
		Saw:       cfg.Saw,
		balancers: write.NewSerial(cfg.Locks), pace: newPace(cfg.Registerer), releases: memo.New[string, struct{}](mostBalancers),
	}
}

const (
	// mostBalancers is of how many load balancers the last change is remembered at most.
	mostBalancers = 10_000
	// releaseLife is how long after a listener's change its old group may still be in use.
	releaseLife = time.Minute
)

// The cloud's limits of DescribeLoadBalancers and DescribeLoadBalancerListeners (SLB API reference), and our own.
const (
	// IDsPerCall is how many load balancers one call may name.
	IDsPerCall = 10
	// ParallelReads bounds the calls for one request, so that one big load balancer does not take the whole budget at once.
	ParallelReads = 8
)

// OnWrite adds what is to be forgotten after a write to a load balancer or to what belongs to it. It is for constructors.
func (p *Product) OnWrite(forget func(loadBalancerID string)) { p.balancers.OnWrite(forget) }

// Exclusively makes a change of one load balancer, or of what belongs to it, alone.
func (p *Product) Exclusively(ctx context.Context, loadBalancerID string, change func(ctx context.Context, w *Writer) error) error {
	return p.balancers.Do(ctx, loadBalancerID, func(ctx context.Context) error {
		return change(ctx, &Writer{product: p, loadBalancerID: loadBalancerID})
	})
}

// Release notes that a listener or rule of a load balancer may have let go of its vServer group.
func (p *Product) Release(loadBalancerID string) {
	p.releases.Put(loadBalancerID, struct{}{}, releaseLife)
}

// Released reports whether a listener or rule of a load balancer let go of a vServer group a moment ago. The cloud takes the group for
// used for a while.
func (p *Product) Released(loadBalancerID string) bool {
	_, released := p.releases.Get(loadBalancerID)
	return released
}

// NewCache makes a cache.
func NewCache[V any](p *Product, name string) *batch.Cache[V] {
	return batch.NewCache[V](batch.CacheConfig{Name: name, Room: p.Room, Registerer: p.Registerer, Logger: p.Logger})
}

// NewReader makes a reader of what there is of single load balancers. Reads that come while others are under way share calls. A read
// that comes alone hardly waits.
func NewReader[V any](
	p *Product, name string, load func(context.Context, []string) (map[string]V, error),
) (*batch.Reader[string, V], error) {
	return batch.New(batch.Config[string, V]{
		Name: name, Load: load, MaxItems: IDsPerCall, Idle: 200 * time.Microsecond, Max: 100 * time.Millisecond, Parallel: ParallelReads,
		Blames: cloud.BlamesItem, Room: p.Room, Registerer: p.Registerer, Logger: p.Logger,
	})
}

// Metadata is what requests to change any resource may have.
type Metadata interface {
	GetSetTags() []*commonv1.Tag
	GetRemoveTagKeys() []string
	GetResourceGroupId() string
}

// ChangeMetadata changes the tags and the resource group of a resource that SLB calls a kind, one call each.
func (p *Product) ChangeMetadata(ctx context.Context, kind, id string, notFound rpcerr.Reason, r Metadata) error {
	calls := cloud.TagCalls(openapi.SLB, kind, id, r.GetSetTags(), r.GetRemoveTagKeys())
	if group := r.GetResourceGroupId(); group != "" {
		calls = append(calls, cloud.Write(openapi.SLB, "MoveResourceGroup",
			cloud.Params{"ResourceType": kind, "ResourceId": id, "NewResourceGroupId": group}))
	}
	return cloud.As(notFound, p.SetAll(ctx, calls))
}
