// Package controller keeps the route tables of a VPC and the NetworkUnavailable condition of nodes in step with the nodes of a
// cluster. The unit of work is a route table: whatever happens to nodes within a moment becomes one look at each table.
package controller

import (
	"log/slog"
	"net/netip"
	"sync/atomic"
	"time"

	"k8s.io/client-go/informers"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"alicloud-controllers.dev/services/kube"
	"alicloud-controllers.dev/services/reconcile"
	"alicloud-controllers.dev/services/replica"

	"alicloud-controllers.dev/routecontroller/internal/orphan"
	"alicloud-controllers.dev/routecontroller/internal/table"
)

// Config is what a Controller needs. All fields are required but Scope.Region, RouteTableIDs and VPCID, which are found out.
type Config struct {
	replica.Dependencies

	ClusterID string
	// ClusterTag is the key of the tag of instances whose value is ClusterID.
	ClusterTag    string
	Scope         table.Scope
	VPCID         string
	RouteTableIDs []string
	ClusterCIDRs  []netip.Prefix
	// SyncInterval is how long the remembered state of a table is believed.
	SyncInterval time.Duration
	// Orphans bounds the deletion of routes whose nodes are gone.
	Orphans orphan.Policy
	// GatherQuiet and GatherMax bound how long node events are gathered.
	GatherQuiet, GatherMax time.Duration
	// RouteQuota is how many custom entries a table may hold.
	RouteQuota int
}

// Controller is the route controller.
type Controller struct {
	cfg        Config
	log        *slog.Logger
	factory    informers.SharedInformerFactory
	nodes      corelisters.NodeLister
	synced     cache.InformerSynced
	listing    kube.Listing
	tables     *reconcile.Runner
	conditions *reconcile.Runner
	gather     *reconcile.Gather
	events     *kube.Events
	metrics    *metrics
	deleted    *deletedRoutes
	// region is known before target.
	region string
	// target is nil until the VPC and its tables are known, and undiscovered is why they are not, once they were looked for.
	target       atomic.Pointer[target]
	undiscovered atomic.Pointer[error]
	verdicts     *claimVerdicts
	bindings     bindings
	// leading says that Run has begun; a standby watches and queues nothing.
	leading atomic.Bool
}
