// Command controllers runs those controllers of Kubernetes that a local world needs, as kube-controller-manager does by
// default, and the fake kubelets of kwok.
//
// kube-controller-manager has a fifth of all that the first start of a world compiles, for the volumes, the scheduler
// and the kubelet, which no world has.
package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	clientset "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/klog/v2"
	_ "k8s.io/kubernetes/pkg/apis/apps/install" // the defaults of a StatefulSet
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	"k8s.io/kubernetes/pkg/controller/certificates/rootcacertpublisher"
	"k8s.io/kubernetes/pkg/controller/daemon"
	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/endpointslice"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/namespace"
	"k8s.io/kubernetes/pkg/controller/nodeipam"
	"k8s.io/kubernetes/pkg/controller/nodeipam/ipam"
	"k8s.io/kubernetes/pkg/controller/nodelifecycle"
	"k8s.io/kubernetes/pkg/controller/replicaset"
	"k8s.io/kubernetes/pkg/controller/serviceaccount"
	"k8s.io/kubernetes/pkg/controller/statefulset"
)

// The defaults of kube-controller-manager.
const (
	resync = 12 * time.Hour

	nodeMonitorPeriod, nodeStartupGrace, nodeMonitorGrace = 5 * time.Second, time.Minute, 50 * time.Second
	evictionRate, secondaryEvictionRate, unhealthyZone    = 0.1, 0.01, 0.55
	largeCluster                                          = 50
	mask4, mask6                                          = 24, 64
	maxEndpointsPerSlice                                  = 100
	namespaceResync, garbageResync                        = 5 * time.Minute, 30 * time.Second

	workers, daemonWorkers, namespaceWorkers, garbageWorkers = 5, 2, 10, 20
)

// The rates of all controllers together, which a world with a thousand nodes needs.
const queriesPerSecond, burst = 500, 1000

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		klog.ErrorS(err, "controllers")
		klog.Flush()
		os.Exit(1) //nolint:gocritic // Nothing is left to stop.
	}
}

// options are the flags.
type options struct{ kubeconfig, address, clusterCIDR, rootCA, fakeNodes, stages string }

func run(ctx context.Context) error {
	var o options
	flag.StringVar(&o.kubeconfig, "kubeconfig", "", "`file` with the way to the API server")
	flag.StringVar(&o.address, "address", "", "`address` where /healthz answers once the controllers run")
	flag.StringVar(&o.clusterCIDR, "cluster-cidr", "", "`ranges` of the pods, one for each family, separated by a comma")
	flag.StringVar(&o.rootCA, "root-ca-file", "", "`file` with the authority that pods trust")
	flag.StringVar(&o.fakeNodes, "fake-nodes", "", "annotation `selector` of the nodes that have no kubelet of their own")
	flag.StringVar(&o.stages, "fake-node-stages", "", "`file` with what kwok does with these nodes and their pods")
	flag.Parse()
	cfg, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
	if err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	cfg.QPS, cfg.Burst = queriesPerSecond, burst
	m, err := newManager(cfg)
	if err != nil {
		return err
	}
	for _, add := range []func(context.Context, options) error{m.nodes, m.workloads, m.accounts, m.namespaces, m.garbage} {
		if err := add(ctx, o); err != nil {
			return err
		}
	}
	m.start(ctx)
	if err := startKubelets(ctx, o); err != nil {
		return err
	}
	return serve(ctx, o.address)
}

// manager makes the controllers and starts them.
type manager struct {
	cfg       *rest.Config
	client    *clientset.Clientset
	informers informers.SharedInformerFactory
	metadata  metadatainformer.SharedInformerFactory
	started   chan struct{} // closed when the informers run
	runs      []func(context.Context)
}

func newManager(cfg *rest.Config) (*manager, error) {
	client, err := clientset.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	metadataClient, err := metadata.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("make client of metadata: %w", err)
	}
	return &manager{
		cfg: cfg, client: client, started: make(chan struct{}),
		informers: informers.NewSharedInformerFactoryWithOptions(client, resync, informers.WithTransform(trim)),
		metadata:  metadatainformer.NewSharedInformerFactoryWithOptions(metadataClient, resync, metadatainformer.WithTransform(trim)),
	}, nil
}

// trim takes out of an object what no controller reads and is as large as the rest.
func trim(obj any) (any, error) {
	if accessor, err := meta.Accessor(obj); err == nil && accessor.GetManagedFields() != nil {
		accessor.SetManagedFields(nil)
	}
	return obj, nil
}

func (m *manager) add(run func(context.Context)) { m.runs = append(m.runs, run) }

func (m *manager) start(ctx context.Context) {
	m.informers.Start(ctx.Done())
	m.metadata.Start(ctx.Done())
	close(m.started)
	for _, run := range m.runs {
		go run(ctx)
	}
}

// nodes gives ranges to nodes, and taints those that are silent.
func (m *manager) nodes(ctx context.Context, o options) error {
	var ranges []*net.IPNet
	var masks []int
	for cidr := range strings.SplitSeq(o.clusterCIDR, ",") {
		_, ipnet, err := net.ParseCIDR(cidr)
		if err != nil {
			return fmt.Errorf("-cluster-cidr: %w", err)
		}
		ranges = append(ranges, ipnet)
		if masks = append(masks, mask4); ipnet.IP.To4() == nil {
			masks[len(masks)-1] = mask6
		}
	}
	core := m.informers.Core().V1()
	addresses, err := nodeipam.NewNodeIpamController(ctx, core.Nodes(), nil, m.client, ranges, nil, nil, masks, ipam.RangeAllocatorType)
	if err != nil {
		return fmt.Errorf("make the controller of the nodes' ranges: %w", err)
	}
	m.add(addresses.Run)
	lifecycle, err := nodelifecycle.NewNodeLifecycleController(ctx, m.informers.Coordination().V1().Leases(), core.Pods(), core.Nodes(),
		m.informers.Apps().V1().DaemonSets(), m.client, nodeMonitorPeriod, nodeStartupGrace, nodeMonitorGrace,
		evictionRate, secondaryEvictionRate, largeCluster, unhealthyZone)
	if err != nil {
		return fmt.Errorf("make the controller of silent nodes: %w", err)
	}
	m.add(lifecycle.Run)
	return nil
}

// workloads makes pods, and endpoints of them.
func (m *manager) workloads(ctx context.Context, _ options) error {
	apps, core := m.informers.Apps().V1(), m.informers.Core().V1()
	deployments, err := deployment.NewDeploymentController(ctx, apps.Deployments(), apps.ReplicaSets(), core.Pods(), m.client)
	if err != nil {
		return fmt.Errorf("make the controller of Deployments: %w", err)
	}
	daemons, err := daemon.NewDaemonSetsController(ctx, apps.DaemonSets(), apps.ControllerRevisions(), core.Pods(), core.Nodes(), m.client,
		flowcontrol.NewBackOff(time.Second, 15*time.Minute))
	if err != nil {
		return fmt.Errorf("make the controller of DaemonSets: %w", err)
	}
	replicas := replicaset.NewReplicaSetController(ctx, apps.ReplicaSets(), core.Pods(), m.client, replicaset.BurstReplicas)
	stateful := statefulset.NewStatefulSetController(ctx, core.Pods(), apps.StatefulSets(), core.PersistentVolumeClaims(),
		apps.ControllerRevisions(),
		m.client)
	slices := endpointslice.NewController(ctx, core.Pods(), core.Services(), core.Nodes(), m.informers.Discovery().V1().EndpointSlices(),
		maxEndpointsPerSlice, m.client, 0)
	m.add(func(ctx context.Context) { deployments.Run(ctx, workers) })
	m.add(func(ctx context.Context) { daemons.Run(ctx, daemonWorkers) })
	m.add(func(ctx context.Context) { replicas.Run(ctx, workers) })
	m.add(func(ctx context.Context) { stateful.Run(ctx, workers) })
	m.add(func(ctx context.Context) { slices.Run(ctx, workers) })
	return nil
}

// accounts gives each namespace what pods need to reach the API server.
func (m *manager) accounts(ctx context.Context, o options) error {
	authority, err := os.ReadFile(o.rootCA)
	if err != nil {
		return fmt.Errorf("-root-ca-file: %w", err)
	}
	core := m.informers.Core().V1()
	accounts, err := serviceaccount.NewServiceAccountsController(klog.FromContext(ctx), core.ServiceAccounts(), core.Namespaces(), m.client,
		serviceaccount.DefaultServiceAccountsControllerOptions())
	if err != nil {
		return fmt.Errorf("make the controller of ServiceAccounts: %w", err)
	}
	publisher, err := rootcacertpublisher.NewPublisher(core.ConfigMaps(), core.Namespaces(), m.client, authority)
	if err != nil {
		return fmt.Errorf("make the publisher of the authority: %w", err)
	}
	m.add(func(ctx context.Context) { accounts.Run(ctx, 1) })
	m.add(func(ctx context.Context) { publisher.Run(ctx, 1) })
	return nil
}

// namespaces empties namespaces that are deleted.
func (m *manager) namespaces(ctx context.Context, _ options) error {
	cfg := rest.CopyConfig(m.cfg)
	cfg.QPS, cfg.Burst = 20*cfg.QPS, 100*cfg.Burst // It asks for all kinds of a namespace, and deletes one by one.
	client, err := clientset.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("make client of namespaces: %w", err)
	}
	metadataClient, err := metadata.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("make client of namespaces: %w", err)
	}
	controller := namespace.NewNamespaceController(ctx, client, metadataClient, client.Discovery().ServerPreferredNamespacedResources,
		m.informers.Core().V1().Namespaces(), namespaceResync, corev1.FinalizerKubernetes)
	m.add(func(ctx context.Context) { controller.Run(ctx, namespaceWorkers) })
	return nil
}

// garbage deletes what belongs to what is gone.
func (m *manager) garbage(ctx context.Context, _ options) error {
	cfg := rest.CopyConfig(m.cfg)
	cfg.QPS *= 2 // Each deletion is two calls.
	metadataClient, err := metadata.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("make client of the garbage collector: %w", err)
	}
	kinds, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return fmt.Errorf("make client of the garbage collector: %w", err)
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kinds))
	collector, err := garbagecollector.NewGarbageCollector(ctx, m.client, metadataClient, mapper, garbagecollector.DefaultIgnoredResources(),
		informerfactory.NewInformerFactory(m.informers, m.metadata), m.started)
	if err != nil {
		return fmt.Errorf("make the garbage collector: %w", err)
	}
	m.add(func(ctx context.Context) { collector.Run(ctx, garbageWorkers, garbageResync) })
	m.add(func(ctx context.Context) { collector.Sync(ctx, kinds, garbageResync) })
	return nil
}

// serve answers that the controllers run until ctx ends.
func serve(ctx context.Context, address string) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	server := &http.Server{Addr: address, Handler: mux, ReadHeaderTimeout: time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.ListenAndServe(); ctx.Err() == nil {
		return fmt.Errorf("listen: %w", err)
	}
	return nil
}
