// Package controller initialises nodes from their ECS instances, keeps their labels and addresses in step, and deletes those
// whose instances are gone.
//
// Nodes with the taint of an uninitialised node are read together, and each is a key in a queue until it succeeds. One that needs a
// change of its network interface gets its labels and addresses first and waits for that in a queue of its own. Everything else
// happens in a periodic sweep over all nodes.
package controller

import (
	"log/slog"
	"sync/atomic"
	"time"

	"k8s.io/client-go/informers"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"

	"alicloud-controllers.dev/services/kube"
	"alicloud-controllers.dev/services/reconcile"
	"alicloud-controllers.dev/services/replica"

	"alicloud-controllers.dev/nodecontroller/internal/lifecycle"
	"alicloud-controllers.dev/nodecontroller/internal/nodestate"
)

const (
	// sweepKey and confirmKey are the keys of the sweep's queue: the one looks at the next part of the nodes, the other finds out about those
	// whose instances seem gone.
	sweepKey   = "all"
	confirmKey = "confirm"
	// answerTimeout bounds the waiting for one answer of the gateway, so that an operator who waits for silent nodes to go learns why they
	// stay. It is longer than the gateway itself waits for the cloud, whose error says more than that the time is over.
	answerTimeout = time.Minute
)

// Config is what a Controller needs. All fields are required but Region and VPCID, which are found out, and Deletion.
type Config struct {
	replica.Dependencies

	Region string
	VPCID  string
	// ClusterTag is the key of the tag that the cluster's instances carry.
	ClusterTag string
	// ClusterID is the value of that tag. Without it the tag's value does not count.
	ClusterID string
	// NodeVPCIDs are further VPCs whose instances may be nodes.
	NodeVPCIDs []string
	Options    nodestate.Options
	// DisableSourceDestCheck lets instances forward the packets of pods, where Options.CloudRoutes is set.
	DisableSourceDestCheck bool
	// SyncInterval is the time between sweeps.
	SyncInterval time.Duration
	// Workers is how many nodes are initialised at once.
	Workers int
	// ApproveServing approves the serving certificates of kubelets that the cloud confirms.
	ApproveServing bool
	// Deletion bounds the deletion of nodes; nil switches it off.
	Deletion *lifecycle.Policy
	// Maintenance lets nodes tell what the cloud is about to do to their instances; nil switches it off.
	Maintenance *Maintenance
}

// Controller is the node controller.
type Controller struct {
	cfg     Config
	log     *slog.Logger
	factory informers.SharedInformerFactory
	nodes   corelisters.NodeLister
	synced  cache.InformerSynced
	listing kube.Listing
	events  *kube.Events
	metrics *metrics

	arrivals *arrivals
	losses   losses
	init     *reconcile.Runner
	// forwarding holds the nodes whose network interfaces forwardQueue changes.
	forwarding   *forwarding
	forwardQueue *reconcile.Runner
	sweeps       *reconcile.Runner
	maintenance  *reconcile.Runner
	home         home
	// approval is nil if it is switched off.
	approval *approval
	// candidates are nodes whose instances may be gone. What follows belongs to the sweep, of which there is one at a time.
	candidates candidates
	round      round
	deletions  deletions
	held       heldNodes
	// duplicates are the nodes whose instance is that of another one, too.
	duplicates map[string]string
	// failed says when the deletion of a node failed last.
	failed map[string]time.Time
	// leading says that Run has begun; a standby watches and queues nothing.
	leading atomic.Bool
}
