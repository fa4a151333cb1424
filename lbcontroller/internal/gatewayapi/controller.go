package gatewayapi

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/pkg/client/clientset/versioned"
	"sigs.k8s.io/gateway-api/pkg/client/informers/externalversions"

	"alicloud-controllers.dev/services/reconcile"

	"alicloud-controllers.dev/lbcontroller/internal/controller"
)

const (
	// gatherQuiet and gatherMax gather changes, such as those of kubectl apply.
	gatherQuiet, gatherMax = 100 * time.Millisecond, time.Second
	// firstRetry doubles up to lastRetry while writes fail.
	firstRetry, lastRetry = time.Second, time.Minute
	// lookAgain is how often it is looked for the custom resources.
	lookAgain = time.Minute
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

// Controller keeps the Services of all Gateways and what is said on these. Each pass looks at all of them: nothing is remembered in
// between.
type Controller struct {
	Config
	gather *reconcile.Gather
	// caches are complete; nil before that.
	caches atomic.Pointer[[]cache.SharedIndexInformer]
	// lacks are the custom resources that the API server doesn't have; nil if it has all, or nobody has looked.
	lacks atomic.Pointer[string]
	mu    sync.Mutex
	// read are the Services that are looked at, there or not, by the pass that has done so last.
	read    map[types.NamespacedName]int
	passes  int
	retry   time.Duration
	objects *prometheus.GaugeVec
}

// New makes a Controller; nothing runs yet.
func New(cfg Config) (*Controller, error) {
	c := &Controller{Config: cfg, read: map[types.NamespacedName]int{},
		objects: promauto.With(cfg.Registerer).NewGaugeVec(prometheus.GaugeOpts{
			Name: "lbcontroller_gateway_api_objects",
			Help: "Gateways, ListenerSets and routes that ask for load balancers, by kind and by the reason of the first condition that " +
				"isn't as it should be; Accepted for none.",
		}, []string{"kind", "state"})}
	c.gather = reconcile.NewGather(gatherQuiet, gatherMax, c.pass)
	return c, cfg.Known.OnChange(func(name types.NamespacedName) {
		c.mu.Lock()
		_, matters := c.read[name]
		c.mu.Unlock()
		if matters || name.Name == "" {
			c.gather.Trigger()
		}
	})
}

// Watch waits for the custom resources and keeps the caches until ctx ends.
func (c *Controller) Watch(ctx context.Context) error {
	for said := ""; ; {
		missing := c.missing()
		if len(missing) == 0 {
			break
		}
		if text := fmt.Sprint(missing); text != said {
			c.Logger.Warn("Gateways are not served: install the custom resources of the Gateway API, 1.6 or later", "missing", missing)
			said = text
			c.lacks.Store(new(strings.Join(missing, ", ")))
			c.gather.Trigger()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(lookAgain):
		}
	}
	c.lacks.Store(nil)
	gateways := externalversions.NewSharedInformerFactory(c.Gateways, 0)
	v1, others := gateways.Gateway().V1(), informers.NewSharedInformerFactory(c.Client, 0)
	all := []cache.SharedIndexInformer{
		v1.GatewayClasses().Informer(), v1.Gateways().Informer(), v1.ListenerSets().Informer(), v1.TCPRoutes().Informer(),
		v1.UDPRoutes().Informer(), v1.TLSRoutes().Informer(), v1.ReferenceGrants().Informer(), others.Core().V1().Namespaces().Informer(),
	}
	for _, informer := range all {
		changed := func(any) { c.gather.Trigger() }
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: changed, UpdateFunc: func(_, obj any) { changed(obj) }, DeleteFunc: changed,
		}); err != nil {
			return err
		}
	}
	gateways.Start(ctx.Done())
	others.Start(ctx.Done())
	if cache.WaitForCacheSync(ctx.Done(), func() bool {
		return c.Known.Synced() && !slices.ContainsFunc(all, func(i cache.SharedIndexInformer) bool { return !i.HasSynced() })
	}) {
		c.caches.Store(&all)
		c.gather.Trigger()
	}
	<-ctx.Done()
	gateways.Shutdown()
	others.Shutdown()
	return nil
}

// missing are the resources that the API server doesn't have yet.
func (c *Controller) missing() []string {
	served, err := c.Gateways.Discovery().ServerResourcesForGroupVersion(gatewayv1.GroupVersion.String())
	if err != nil && !apierrors.IsNotFound(err) {
		return []string{err.Error()}
	}
	missing := []string{"gatewayclasses", "gateways", "listenersets", "tcproutes", "udproutes", "tlsroutes", "referencegrants"}
	for i := 0; served != nil && i < len(served.APIResources); i++ {
		missing = slices.DeleteFunc(missing, func(name string) bool { return name == served.APIResources[i].Name })
	}
	return missing
}

// Run translates until ctx ends. Only one replica may.
func (c *Controller) Run(ctx context.Context) error {
	c.gather.Trigger()
	return c.gather.Run(ctx)
}

// pass brings all Services and all that is said to what the Gateways ask for. What fails holds up nothing else.
func (c *Controller) pass(ctx context.Context) {
	if c.caches.Load() == nil {
		c.sayUnserved(ctx) // A pass is asked for when they are complete.
		return
	}
	c.passes++
	w := c.world()
	errs := c.write(ctx, w, w.Translate())
	c.mu.Lock()
	maps.DeleteFunc(c.read, func(_ types.NamespacedName, pass int) bool { return pass < c.passes })
	c.mu.Unlock()
	if errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil }); len(errs) == 0 || ctx.Err() != nil {
		c.retry = 0
		return
	}
	for _, err := range errs {
		if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) && !apierrors.IsAlreadyExists(err) { // Else the cache trails.
			c.Logger.Warn("a Gateway is not up to date", "error", err)
		}
	}
	c.retry = min(max(firstRetry, 2*c.retry), lastRetry)
	time.AfterFunc(c.retry, c.gather.Trigger)
}

// world is what the caches say.
func (c *Controller) world() *World {
	w := &World{Options: c.Options, Namespaces: map[string]map[string]string{}, Slices: c.Known.Slices, Secret: c.Known.Secret}
	w.Service = func(name types.NamespacedName) *corev1.Service {
		c.mu.Lock()
		c.read[name] = c.passes // What changes from now on is seen.
		c.mu.Unlock()
		return c.Known.Service(name)
	}
	for _, informer := range *c.caches.Load() {
		for _, obj := range informer.GetStore().List() {
			switch o := obj.(type) {
			case *gatewayv1.GatewayClass:
				w.Classes = append(w.Classes, o)
			case *gatewayv1.Gateway:
				w.Gateways = append(w.Gateways, o)
			case *gatewayv1.ListenerSet:
				w.ListenerSets = append(w.ListenerSets, o)
			case *gatewayv1.ReferenceGrant:
				w.Grants = append(w.Grants, o)
			case *corev1.Namespace:
				w.Namespaces[o.Name] = o.Labels
			default:
				if route, ok := RouteOf(o); ok {
					w.Routes = append(w.Routes, route)
				}
			}
		}
	}
	return w
}
