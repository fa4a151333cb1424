package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	"google.golang.org/grpc/resolver"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// scheme of the addresses "kubernetes:///service.namespace:port", whose port is a number or the name of the Service's.
const scheme = "kubernetes"

// endpoints finds the replicas of a Service through the API server. It needs no DNS, which a cluster has only once nodes are
// initialised, which in turn needs the gateway; and it knows of a new replica when the API server does.
type endpoints struct {
	client kubernetes.Interface
	log    *slog.Logger
	// changed is called when the replicas are other ones, or the same in another state.
	changed func()
}

// Scheme implements resolver.Builder.
func (endpoints) Scheme() string { return scheme }

// OverrideAuthority gives the name of the Service that its certificate has.
func (endpoints) OverrideAuthority(target resolver.Target) string {
	service, err := parseService(target.Endpoint())
	if err != nil {
		return target.Endpoint() // Build refuses it.
	}
	return net.JoinHostPort(service.name+"."+service.namespace+".svc", service.port)
}

// Build implements resolver.Builder.
func (e endpoints) Build(target resolver.Target, cc resolver.ClientConn, _ resolver.BuildOptions) (resolver.Resolver, error) {
	service, err := parseService(target.Endpoint())
	if err != nil {
		return nil, err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(e.client, 0, informers.WithNamespace(service.namespace),
		informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = discoveryv1.LabelServiceName + "=" + service.name }))
	w := &endpointWatch{service: service, cc: cc, changed: e.changed, slices: factory.Discovery().V1().EndpointSlices().Informer()}
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { w.update() }, UpdateFunc: func(any, any) { w.update() }, DeleteFunc: func(any) { w.update() },
	}
	if _, err := w.slices.AddEventHandler(handler); err != nil {
		return nil, fmt.Errorf("watch EndpointSlices: %w", err)
	}
	if err := w.slices.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector,
		err error) {
		w.unreadable(err)
	}); err != nil {
		return nil, fmt.Errorf("watch EndpointSlices: %w", err)
	}
	// client-go takes its logger from the context.
	ctx, stop := context.WithCancel(klog.NewContext(context.Background(), logr.FromSlogHandler(e.log.Handler())))
	w.stop = stop
	w.running.Go(func() { w.slices.RunWithContext(ctx) })
	w.running.Go(func() {
		// A Service without any EndpointSlice causes no event.
		if cache.WaitForCacheSync(ctx.Done(), w.slices.HasSynced) {
			w.update()
		}
	})
	return w, nil
}

// service is what an address names.
type service struct{ name, namespace, port string }

func parseService(endpoint string) (service, error) {
	host, port, err := net.SplitHostPort(endpoint)
	if err != nil {
		return service{}, err
	}
	name, namespace, _ := strings.Cut(host, ".")
	if name == "" || namespace == "" || port == "" || strings.Contains(namespace, ".") {
		return service{}, fmt.Errorf("%q is not service.namespace:port", endpoint)
	}
	return service{name: name, namespace: namespace, port: port}, nil
}

// endpointWatch keeps one connection's knowledge of the replicas.
type endpointWatch struct {
	service service
	cc      resolver.ClientConn
	changed func()
	slices  cache.SharedIndexInformer
	stop    context.CancelFunc
	running sync.WaitGroup

	mu    sync.Mutex
	known bool // replicas have been found
}

// update gives the connection the replicas that there are. When there are none, it keeps those it has: a replica that is gone
// doesn't answer anyway, and a slice that is gone may be a mistake.
func (w *endpointWatch) update() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.slices.HasSynced() {
		return // Part of the replicas is worse than none: calls fail at once instead of waiting.
	}
	addresses := w.addresses()
	if len(addresses) == 0 {
		w.cc.ReportError(fmt.Errorf("service %s/%s has no endpoint with port %s", w.service.namespace, w.service.name, w.service.port))
		return
	}
	w.known = true
	var state resolver.State
	for _, address := range addresses {
		state.Endpoints = append(state.Endpoints, resolver.Endpoint{Addresses: []resolver.Address{{Addr: address}}})
	}
	_ = w.cc.UpdateState(state) // Its error asks for ResolveNow, which a watch has no use for.
	w.changed()
}

// unreadable gives the calls that wait for replicas the reason why none are known.
func (w *endpointWatch) unreadable(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	// The end of a watch is usual, and what is known goes on being so.
	if w.known || errors.Is(err, context.Canceled) {
		return
	}
	w.cc.ReportError(fmt.Errorf("read the EndpointSlices of Service %s/%s: %w", w.service.namespace, w.service.name, err))
}

// addresses are those of all replicas, ready or not: which of them serves is what gRPC's health checks find out, and one that isn't
// ready still says why.
func (w *endpointWatch) addresses() []string {
	var all []string
	for _, object := range w.slices.GetStore().List() {
		slice, ok := object.(*discoveryv1.EndpointSlice)
		if !ok || slice.AddressType == discoveryv1.AddressTypeFQDN {
			continue
		}
		port, ok := w.service.portIn(slice.Ports)
		if !ok {
			continue
		}
		for _, endpoint := range slice.Endpoints {
			// All addresses of an endpoint are the same replica; the first is enough (as kube-proxy has it).
			if len(endpoint.Addresses) > 0 {
				all = append(all, net.JoinHostPort(endpoint.Addresses[0], port))
			}
		}
	}
	slices.Sort(all)
	return slices.Compact(all) // An endpoint may be in two slices while it moves.
}

// portIn gives the number of the port in a slice.
func (s service) portIn(ports []discoveryv1.EndpointPort) (string, bool) {
	if _, err := strconv.ParseUint(s.port, 10, 16); err == nil {
		return s.port, true
	}
	for _, p := range ports {
		if p.Name != nil && p.Port != nil && *p.Name == s.port {
			return strconv.Itoa(int(*p.Port)), true
		}
	}
	return "", false
}

// ResolveNow implements resolver.Resolver: a watch needs no reminder.
func (*endpointWatch) ResolveNow(resolver.ResolveNowOptions) {}

// Close implements resolver.Resolver.
func (w *endpointWatch) Close() {
	w.stop()
	w.running.Wait()
}
