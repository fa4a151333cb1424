package gatewayapi

import (
	"context"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/pkg/client/clientset/versioned"
	"sigs.k8s.io/gateway-api/pkg/client/informers/externalversions"

	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/shadow"
)

// Config is what a Controller needs.
type Config struct {
	Options
	Client     kubernetes.Interface
	Gateways   versioned.Interface
	Known      controller.Known
	Recorder   record.EventRecorder
	Registerer prometheus.Registerer
	Logger     *slog.Logger
}

// Controller keeps the Services of all Gateways and what is said on these.
type Controller struct {
	Config
	*shadow.Loop
	objects *prometheus.GaugeVec
}

// New makes a Controller; nothing runs yet.
func New(cfg Config) (c *Controller, err error) {
	c = &Controller{Config: cfg, objects: promauto.With(cfg.Registerer).NewGaugeVec(prometheus.GaugeOpts{
		Name: "lbcontroller_gateway_api_objects",
		Help: "Gateways, ListenerSets and routes that ask for load balancers, by kind and by the reason of the first condition that " +
			"isn't as it should be; Accepted for none.",
	}, []string{"kind", "state"})}
	c.Loop, err = shadow.NewLoop(kindGateway, shadow.Writer{Client: cfg.Client, Known: cfg.Known}, cfg.Logger, c.pass)
	cfg.Known.SetClaims(c.mayUse, func() bool { return c.Complete() || c.Missing() != "" })
	return c, err
}

// Watch waits for the custom resources and keeps the caches until ctx ends.
func (c *Controller) Watch(ctx context.Context) error {
	if !c.Await(ctx, "install the custom resources of the Gateway API, 1.6 or later", c.missing) {
		return nil
	}
	gateways := externalversions.NewSharedInformerFactory(c.Gateways, 0)
	v1, others := gateways.Gateway().V1(), informers.NewSharedInformerFactory(c.Client, 0)
	return c.Loop.Watch(ctx, []cache.SharedIndexInformer{
		v1.GatewayClasses().Informer(), v1.Gateways().Informer(), v1.ListenerSets().Informer(), v1.TCPRoutes().Informer(),
		v1.UDPRoutes().Informer(), v1.TLSRoutes().Informer(), v1.ReferenceGrants().Informer(), others.Core().V1().Namespaces().Informer(),
	}, gateways, others)
}

// missing are the resources that the API server doesn't have yet.
func (c *Controller) missing() (string, error) {
	return shadow.Missing(c.Gateways.Discovery(), gatewayv1.GroupVersion.Group, gatewayv1.GroupVersion.Version, "gatewayclasses", "gateways",
		"listenersets", "tcproutes", "udproutes", "tlsroutes", "referencegrants")
}

// world is what the caches say; they may not be complete yet.
func (c *Controller) world(service func(types.NamespacedName) *corev1.Service) (*World, bool) {
	objects, complete := c.Objects()
	w := &World{Options: c.Options, Service: service, Slices: c.Known.Slices, Secret: c.Known.Secret, Lacks: c.Missing()}
	for _, obj := range objects {
		w.Add(obj)
	}
	return w, complete
}

// pass brings all Services and all that is said to what the Gateways ask for.
func (c *Controller) pass(ctx context.Context) []error {
	w, complete := c.world(c.Service)
	if !complete && w.Lacks == "" {
		return nil
	}
	if w.Lacks != "" {
		list, err := c.Gateways.GatewayV1().GatewayClasses().List(ctx, metav1.ListOptions{})
		if err != nil && !apierrors.IsNotFound(err) { // There are no classes without their custom resource.
			return []error{err}
		}
		for i := 0; err == nil && i < len(list.Items); i++ {
			w.Add(&list.Items[i])
		}
	}
	return c.write(ctx, w, w.Translate())
}
