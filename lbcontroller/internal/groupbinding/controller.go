package groupbinding

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
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

	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/shadow"
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

// Controller keeps the Services of all bindings and what is said on these. What is remembered between passes is what
// was found of server groups.
type Controller struct {
	Config
	*shadow.Loop
	// wake asks for the pass in which it is time for the next look.
	wake   *time.Timer
	looks  looks
	states *prometheus.GaugeVec
}

// New makes a Controller; nothing runs yet.
func New(cfg Config) (c *Controller, err error) {
	c = &Controller{Config: cfg, states: promauto.With(cfg.Registerer).NewGaugeVec(prometheus.GaugeOpts{
		Name: "lbcontroller_server_group_bindings",
		Help: "ServerGroupBindings, by the reason of the first condition that isn't True; Registered for none.",
	}, []string{"state"})}
	c.Loop, err = shadow.NewLoop(Kind, shadow.Writer{Client: cfg.Client, Known: cfg.Known}, cfg.Logger, c.pass)
	if err != nil {
		return nil, err
	}
	c.looks = looks{look: cfg.Looker.Look, done: c.Trigger, room: make(chan struct{}, mostLooks),
		found: map[types.UID]*look{}}
	cfg.Known.OnFilled(c.Changed)
	return c, nil
}

// Watch waits for the custom resource and keeps the cache until ctx ends.
func (c *Controller) Watch(ctx context.Context) error {
	if !c.Await(ctx, "install the custom resource, which the chart has in crds", func() (string, error) {
		_, err := c.Bindings.Resource(Resource()).List(ctx, metav1.ListOptions{Limit: 1})
		if apierrors.IsNotFound(err) {
			return Resource().String(), nil
		}
		return "", err
	}) {
		return nil
	}
	factory := dynamicinformer.NewDynamicSharedInformerFactory(c.Bindings, 0)
	return c.Loop.Watch(ctx, []cache.SharedIndexInformer{factory.ForResource(Resource()).Informer()}, factory)
}

// Run translates until ctx ends. Only one replica may.
func (c *Controller) Run(ctx context.Context) error {
	defer c.looks.wait()
	return c.Loop.Run(ctx)
}

// pass brings all Services and all that is said to what the bindings ask for.
func (c *Controller) pass(ctx context.Context) []error {
	objects, complete := c.Objects()
	if !complete {
		return nil
	}
	bindings, going := c.bindings(objects)
	w := &World{Bindings: bindings, CLBClass: c.CLBClass, Service: c.Service, Slices: c.Known.Slices,
		Filled: c.Known.Filled,
		Found:  c.looks.foundOf}
	next := c.looks.ask(ctx, w)
	errs := c.write(ctx, w.Translate(), going)
	if c.wake != nil {
		c.wake.Stop()
	}
	if next > 0 {
		c.wake = time.AfterFunc(next, c.Trigger)
	}
	return errs
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
				shadow.NameOf(u).String(),
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
