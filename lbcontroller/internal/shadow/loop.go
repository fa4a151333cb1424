package shadow

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

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/cache"

	"alicloud-controllers.dev/services/reconcile"
)

const (
	// gatherQuiet and gatherMax gather changes, such as those of kubectl apply.
	gatherQuiet, gatherMax = 100 * time.Millisecond, time.Second
	// firstRetry doubles up to lastRetry while writes fail.
	firstRetry, lastRetry = time.Second, time.Minute
	// lookAgain is how often it is looked for custom resources, and askAgain how often if the API server doesn't say.
	lookAgain, askAgain = time.Minute, 5 * time.Second
)

// Loop makes passes over all objects of a kind: when something changes that one has looked at, and again while they
// fail. Nothing is remembered in between.
type Loop struct {
	Writer
	kind   string
	log    *slog.Logger
	pass   func(context.Context) []error
	gather *reconcile.Gather
	// caches are complete; nil before that.
	caches atomic.Pointer[[]cache.SharedIndexInformer]
	mu     sync.Mutex
	// read are the Services that are looked at, there or not, by the pass that has done so last.
	read   map[types.NamespacedName]int
	passes int
	retry  time.Duration
	// missing are custom resources that are waited for.
	missing string
	// held is what held of Services in the pass before, and holds in this one; see Holds.
	held, holds map[types.NamespacedName]string
}

// NewLoop makes a Loop for objects of a kind. What fails in a pass holds up nothing else in it. Nothing runs yet.
func NewLoop(kind string, writer Writer, log *slog.Logger, pass func(context.Context) []error) (*Loop, error) {
	l := &Loop{kind: kind, Writer: writer, log: log, pass: pass, read: map[types.NamespacedName]int{},
		held: map[types.NamespacedName]string{}}
	l.gather = reconcile.NewGather(gatherQuiet, gatherMax, l.run)
	return l, writer.Known.OnChange(l.Changed)
}

// Trigger asks for a pass.
func (l *Loop) Trigger() { l.gather.Trigger() }

// Changed asks for a pass if the last one has looked at a Service. Without a name, it is any.
func (l *Loop) Changed(name types.NamespacedName) {
	l.mu.Lock()
	_, matters := l.read[name]
	l.mu.Unlock()
	if matters || name.Name == "" {
		l.Trigger()
	}
}

// Service is one from the cache, nil for none; what changes of it from now on is seen.
func (l *Loop) Service(name types.NamespacedName) *corev1.Service {
	l.looksAt(name)
	return l.Known.Service(name)
}

// looksAt notes that the pass depends on a Service.
func (l *Loop) looksAt(name types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.read[name] = l.passes
}

// Await waits for the custom resources, and warns when others are missing than before, or when it can't be known which
// are. It is false if ctx ends.
func (l *Loop) Await(ctx context.Context, advice string, missing func() (string, error)) bool {
	defer l.wait("")
	for said := ""; ; {
		text, err := missing()
		if text == "" && err == nil || ctx.Err() != nil {
			return text == "" && err == nil
		}
		again, now := lookAgain, text
		if err != nil {
			again, now = askAgain, err.Error()
		}
		switch {
		case now == said:
		case err != nil:
			l.log.Warn("the API server doesn't say which custom resources it has", "kind", l.kind, "error", err)
		default:
			l.log.Warn("custom resources are missing", "kind", l.kind, "missing", text, "advice", advice)
			l.wait(text)
		}
		said = now
		select {
		case <-ctx.Done():
			return false
		case <-time.After(again):
		}
	}
}

// Missing are those of the resources of a group that the API server doesn't have in a version, and the versions in which
// it has them instead.
func Missing(api discovery.DiscoveryInterface, group, version string, resources ...string) (string, error) {
	groups, err := api.ServerGroups()
	if err != nil {
		return "", err
	}
	there := map[string][]string{}
	for _, g := range groups.Groups {
		for i := 0; g.Name == group && i < len(g.Versions); i++ {
			served, err := api.ServerResourcesForGroupVersion(g.Versions[i].GroupVersion)
			if err != nil {
				return "", err
			}
			for _, r := range served.APIResources {
				there[r.Name] = append(there[r.Name], g.Versions[i].Version)
			}
		}
	}
	var missing []string
	for _, name := range resources {
		if versions := there[name]; len(versions) == 0 {
			missing = append(missing, name)
		} else if !slices.Contains(versions, version) {
			missing = append(missing, fmt.Sprintf("%s (only %s)", name, strings.Join(versions, ", ")))
		}
	}
	return strings.Join(missing, ", "), nil
}

func (l *Loop) wait(missing string) {
	l.mu.Lock()
	l.missing = missing
	l.mu.Unlock()
	l.Trigger()
}

// Missing are the custom resources that are waited for; empty for none.
func (l *Loop) Missing() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.missing
}

// Factory makes informers.
type Factory interface {
	Start(stop <-chan struct{})
	Shutdown()
}

// Watch keeps caches until ctx ends. Each change asks for a pass.
func (l *Loop) Watch(ctx context.Context, caches []cache.SharedIndexInformer, factories ...Factory) error {
	complete := []cache.InformerSynced{l.Known.Synced}
	for _, informer := range caches {
		complete = append(complete, informer.HasSynced)
		changed := func(any) { l.Trigger() }
		if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: changed, UpdateFunc: func(_, obj any) { changed(obj) }, DeleteFunc: changed,
		}); err != nil {
			return err
		}
	}
	for _, factory := range factories {
		factory.Start(ctx.Done())
	}
	if cache.WaitForCacheSync(ctx.Done(), complete...) {
		l.caches.Store(&caches)
		l.Trigger()
	}
	<-ctx.Done()
	for _, factory := range factories {
		factory.Shutdown()
	}
	return nil
}

// Holds notes in a pass what holds of a Service and doesn't stand on it. The engine looks at the Service after a pass in which that is
// something else than in the one before.
func (l *Loop) Holds(name types.NamespacedName, what string) {
	if what != "" {
		l.holds[name] = what
	}
}

// wake has the engine look at the Services of which something else holds.
func (l *Loop) wake() {
	for name, what := range l.holds {
		if l.held[name] == what {
			delete(l.held, name)
		} else {
			l.held[name] = what
		}
	}
	for name := range l.held {
		l.Known.Wake(name)
	}
	l.held = l.holds
}

// Complete reports whether the caches are.
func (l *Loop) Complete() bool { return l.caches.Load() != nil }

// Objects are those of the caches; false before these are complete, after which a pass is asked for.
func (l *Loop) Objects() (list []any, complete bool) {
	caches := l.caches.Load()
	if caches == nil {
		return nil, false
	}
	for _, informer := range *caches {
		list = append(list, informer.GetStore().List()...)
	}
	return list, true
}

// Run makes passes until ctx ends. Only one replica may.
func (l *Loop) Run(ctx context.Context) error {
	l.Trigger()
	return l.gather.Run(ctx)
}

// run makes one pass.
func (l *Loop) run(ctx context.Context) {
	l.passes++
	l.holds = map[types.NamespacedName]string{}
	errs := l.pass(ctx)
	l.wake()
	l.mu.Lock()
	maps.DeleteFunc(l.read, func(_ types.NamespacedName, pass int) bool { return pass < l.passes })
	l.mu.Unlock()
	if errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil }); len(errs) == 0 || ctx.Err() != nil {
		l.retry = 0
		return
	}
	for _, err := range errs {
		// Else the cache trails.
		if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) && !apierrors.IsAlreadyExists(err) {
			l.log.Warn("an object is not up to date", "kind", l.kind, "error", err)
		}
	}
	l.retry = min(max(firstRetry, 2*l.retry), lastRetry)
	time.AfterFunc(l.retry, l.Trigger)
}
