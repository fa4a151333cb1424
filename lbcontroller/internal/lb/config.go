package lb

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"

	"alicloud-controllers.dev/services/gateway"

	"alicloud-controllers.dev/lbcontroller/internal/backend/ecs"
	"alicloud-controllers.dev/lbcontroller/internal/backend/eni"
	"alicloud-controllers.dev/lbcontroller/internal/lb/blocked"
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
	"alicloud-controllers.dev/lbcontroller/internal/lb/knowledge"
	"alicloud-controllers.dev/lbcontroller/internal/lb/orphan"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
)

// Marks on a Service, those of the existing CCM.
const (
	// LabelHash holds the digest of the configuration that the load balancer has.
	LabelHash = "service.beta.kubernetes.io/hash"
	// LabelLoadBalancerID holds the id of the load balancer.
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
	// DriftCheck is how often, about, a load balancer that nothing happens to is read and compared.
	DriftCheck time.Duration
	// Policy says which changes are made for Services that don't say.
	Policy Policy
	// Drift is what is only reported of what others have changed in the cloud.
	Drift Drift
	// Orphans is what is done about load balancers whose Services are gone.
	Orphans Orphans
	// Quotas are the cloud's limits.
	Quotas Quotas
	// Records keep over a restart which backends Services have; nil for none.
	Records *knowledge.Record
	// HealthPatience is how long a pod that declares a readiness gate waits for its first health checks at the load
	// balancer, at most. 0 releases it as soon as it is registered.
	HealthPatience time.Duration
	// TLSSecrets says that certificates of Secrets are uploaded, and deleted when nobody needs them.
	TLSSecrets bool
	// CertificateGrace is how long such a certificate stays that no Service needs.
	CertificateGrace time.Duration
	// CertificateCheck is how often the ends of server certificates are read; 0 for never.
	CertificateCheck time.Duration
	// SecurityGroups says that those of servers are looked at, which may keep health checks out.
	SecurityGroups bool
	// HealthCheckRules lets rules be added to them for the health checks of Services that ask for it.
	HealthCheckRules bool
	// Registerer takes the metrics of the kind; nil for none.
	Registerer prometheus.Registerer
	Logger     *slog.Logger
}

// Shared is what kinds have in common that one process serves.
type Shared struct {
	enis *eni.Resolver
	// instances knows the nodes that the cloud doesn't have.
	instances *ecs.Checker
	// groups are the security groups of servers.
	groups *blocked.Reader
	// removesRules says that a kind looks for rules in them that nobody needs, so that only one does.
	removesRules atomic.Bool
	metrics      metrics
}

// NewShared makes what kinds have in common. The registerer, which may be nil, takes the metrics.
func NewShared(client *gateway.Client, vpc string, registerer prometheus.Registerer) *Shared {
	return &Shared{
		enis: &eni.Resolver{Client: client, VPCID: vpc}, instances: &ecs.Checker{Client: client}, groups: &blocked.Reader{Client: client},
		metrics: newMetrics(registerer),
	}
}

// Orphans says what is done about load balancers of the cluster whose Services are gone.
type Orphans struct {
	Client   kubernetes.Interface
	Recorder record.EventRecorder
	// Interval is how often they are looked for; 0 for never. A look is one read of the gateway with the priority of the background.
	Interval time.Duration
	// Delete lets them be deleted.
	Delete bool
	orphan.Policy
}
