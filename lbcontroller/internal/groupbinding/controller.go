package groupbinding

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"

	"alicloud-controllers.dev/services/reconcile"

	"alicloud-controllers.dev/lbcontroller/internal/controller"
)

const (
	// gatherQuiet and gatherMax gather changes, such as those of kubectl apply.
	gatherQuiet, gatherMax = 100 * time.Millisecond, time.Second
	// firstRetry doubles up to lastRetry while writes fail.
	firstRetry, lastRetry = time.Second, time.Minute
	// waitForResource is how often it is looked for the custom resource.
	waitForResource = time.Minute
)

// Config is what a Controller needs.
type Config struct {
	Client   kubernetes.Interface
	Bindings dynamic.Interface
	Looker   Looker
	// CLBClass is the class of Services that get a CLB, "" for those without a class.
	CLBClass   string
	Known      controller.Known
	Recorder   record.EventRecorder
	Registerer prometheus.Registerer
	Logger     *slog.Logger
}

// Controller keeps the Services of all bindings and what is said on these. Each pass looks at all of them. What is
// remembered in between is what was found of server groups.
type Controller struct {
	Config
	gather *reconcile.Gather
	// informer is complete; nil before that.
	informer atomic.Pointer[cache.SharedIndexInformer]
	mu       sync.Mutex
	// read are the Services that are looked at, there or not, by the pass that has done so last.
	read   map[types.NamespacedName]int
	passes int
	retry  time.Duration
	// wake asks for the pass in which it is time for the next look.
	wake   *time.Timer
	looks  looks
	states *prometheus.GaugeVec
}

// New makes a Controller; nothing runs yet.
func New(cfg Config) (*Controller, error) {
	c := &Controller{Config: cfg, read: map[types.NamespacedName]int{},
		states: promauto.With(cfg.Registerer).NewGaugeVec(prometheus.GaugeOpts{
			Name: "lbcontroller_server_group_bindings",
			Help: "ServerGroupBindings, by the reason of the first condition that isn't True; Registered for none.",
		}, []string{"state"})}
	c.gather = reconcile.NewGather(gatherQuiet, gatherMax, c.pass)
	c.looks = looks{look: cfg.Looker.Look, done: c.gather.Trigger, room: make(chan struct{}, mostLooks),
		found: map[types.UID]*look{}}
	changed := func(name types.NamespacedName) {
		c.mu.Lock()
		_, matters := c.read[name]
		c.mu.Unlock()
		if matters {
			c.gather.Trigger()
		}
	}
	cfg.Known.OnFilled(changed)
	return c, cfg.Known.OnChange(changed)
}

// Watch waits for the custom resource and keeps the cache until ctx ends.
func (c *Controller) Watch(ctx context.Context) error {
	for said := false; ; said = true {
		_, err := c.Bindings.Resource(Resource()).List(ctx, metav1.ListOptions{Limit: 1})
		if err == nil {
			break
		}
		if ctx.Err() == nil && !said {
			c.Logger.Warn("ServerGroupBindings are not served: install the custom resource, which the chart has in crds, and "+
				"let lbcontroller "+
				"list it", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(waitForResource):
		}
	}
	factory := dynamicinformer.NewDynamicSharedInformerFactory(c.Bindings, 0)
	informer := factory.ForResource(Resource()).Informer()
	changed := func(any) { c.gather.Trigger() }
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: changed, UpdateFunc: func(_, obj any) { changed(obj) }, DeleteFunc: changed,
	}); err != nil {
		return fmt.Errorf("watch %ss: %w", Kind, err)
	}
	factory.Start(ctx.Done())
	if cache.WaitForCacheSync(ctx.Done(), c.Known.Synced, informer.HasSynced) {
		c.informer.Store(&informer)
		c.gather.Trigger()
	}
	<-ctx.Done()
	factory.Shutdown()
	return nil
}

// Run translates until ctx ends. Only one replica may.
func (c *Controller) Run(ctx context.Context) error {
	c.gather.Trigger()
	defer c.looks.wait()
	return c.gather.Run(ctx)
}

// pass brings all Services and all that is said to what the bindings ask for. What fails holds up nothing else.
func (c *Controller) pass(ctx context.Context) {
	informer := c.informer.Load()
	if informer == nil {
		return // A pass is asked for when it is complete.
	}
	c.passes++
	bindings, going := c.bindings((*informer).GetStore().List())
	w := &World{Bindings: bindings, CLBClass: c.CLBClass, Service: c.service, Slices: c.Known.Slices,
		Filled: c.Known.Filled,
		Found:  c.looks.foundOf}
	next := c.looks.ask(ctx, w)
	errs := c.write(ctx, w.Translate(), going)
	c.mu.Lock()
	maps.DeleteFunc(c.read, func(_ types.NamespacedName, pass int) bool { return pass < c.passes })
	c.mu.Unlock()
	if c.wake != nil {
		c.wake.Stop()
	}
	if next > 0 {
		c.wake = time.AfterFunc(next, c.gather.Trigger)
	}
	if errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil }); len(errs) == 0 || ctx.Err() != nil {
		c.retry = 0
		return
	}
	for _, err := range errs {
		// Else the cache trails.
		if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) && !apierrors.IsAlreadyExists(err) {
			c.Logger.Warn("a ServerGroupBinding is not up to date", "error", err)
		}
	}
	c.retry = min(max(firstRetry, 2*c.retry), lastRetry)
	time.AfterFunc(c.retry, c.gather.Trigger)
}

// service is one from the cache; what changes of it from now on is seen.
func (c *Controller) service(name types.NamespacedName) *corev1.Service {
	c.mu.Lock()
	c.read[name] = c.passes
	c.mu.Unlock()
	return c.Known.Service(name)
}

// bindings are those from the cache: those that stay, and those that are being deleted.
func (c *Controller) bindings(objects []any) (staying, going []*Binding) {
	for _, obj := range objects {
		u, ok := obj.(*unstructured.Unstructured)
		if !ok {
			continue
		}
		b := &Binding{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, b); err != nil {
			c.Logger.Warn("a ServerGroupBinding can't be understood; is its custom resource that of the chart?", "binding",
				nameOf(u).String(),
				"error", err)
			continue
		}
		if b.DeletionTimestamp != nil {
			going = append(going, b)
		} else {
			staying = append(staying, b)
		}
	}
	return staying, going
}
