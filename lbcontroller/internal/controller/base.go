package controller

import (
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/record"

	"alicloud-controllers.dev/services/reconcile"

	"alicloud-controllers.dev/lbcontroller/internal/cluster"
	"alicloud-controllers.dev/lbcontroller/internal/seen"
)

// retrySuperseded is when a pass is repeated that worked on an outdated Service. The event that is on its way mostly
// comes first, but one of nothing but the controller's own conditions queues nothing, and no look is left of the passes
// before.
const retrySuperseded = time.Second

// Config is what a Controller needs.
type Config struct {
	Client   kubernetes.Interface
	Recorder record.EventRecorder
	// Kinds are the kinds of load balancers. The first that wants a Service has it.
	Kinds   []Registration
	Workers int
	// SecretNamespaces are those in which Services may name Secrets with certificates.
	SecretNamespaces []string
	// NodeQuiet and NodeMax gather bursts of node changes.
	NodeQuiet, NodeMax time.Duration
	// ExcludeControlPlane keeps traffic off the nodes of the control plane.
	ExcludeControlPlane bool
	// DrainNodes takes new connections off nodes whose conditions say that they are being drained.
	DrainNodes bool
	// Drain is how long work under way may go on when another replica is about to take over.
	Drain      time.Duration
	Registerer prometheus.Registerer
	// Tracers begin a trace with every attempt; nil for no traces.
	Tracers trace.TracerProvider
	Logger  *slog.Logger
}

// base is what the watches and the passes over Services have in common.
type base struct {
	Config
	queue    queue
	events   reporter
	cluster  cluster.Cache
	nodes    nodeSets
	secrets  cluster.Secrets
	modes    modes
	metrics  metrics
	services seen.Services[service]
	bypassed bypassed
	// onFilled are told of Services whose servers in server groups of users have changed.
	onFilled []func(types.NamespacedName)
	// claims says who may use Secrets of other namespaces, and claimsKnown whether that is known; nil where nobody may.
	claims      cluster.Claims
	claimsKnown func() bool
}

func (b *base) assign(svc *corev1.Service) assignment { return assign(b.Kinds, svc) }

func (b *base) writer(key, finalizer string) Writer {
	return Writer{Client: b.Client, Finalizer: finalizer, modes: &b.modes, wrote: b.services.Of(key).wrote}
}

// refusedByAPI says that the API server didn't take what the controller writes on a Service, unless the cache only trails.
func (b *base) refusedByAPI(svc *corev1.Service, reason string, err error) error {
	if Superseded(err) {
		return reconcile.After(err, retrySuperseded)
	}
	b.events.record(svc, Failure(reason, err))
	return err
}

func (b *base) measure(metricType, verb string, start time.Time, changed bool, err error) {
	if changed || err != nil {
		b.metrics.count(metricType, verb, start, err)
	}
}

// forget drops all that is remembered of a Service.
func (b *base) forget(key string) {
	for _, kind := range b.Kinds {
		kind.Kind.Forget(key)
	}
	b.metrics.stands(b.services.Of(key), "")
	b.services.Forget(key)
}
