// Package world brings up a complete small world on loopback: a real Kubernetes control plane with fake nodes, a simulated
// Alibaba Cloud, and the processes under development, each as a process of its own with its own identity and log. It serves
// people (make dev, make demo) and the end-to-end tests alike.
package world

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"

	"alicloud-controllers.dev/deploy/tools/local/binaries"
	"alicloud-controllers.dev/deploy/tools/local/cloud"
	"alicloud-controllers.dev/deploy/tools/local/pki"
	"alicloud-controllers.dev/deploy/tools/local/proc"
)

// The controllers that a world can have.
const (
	LB    = "lbcontroller"
	Node  = "nodecontroller"
	Route = "routecontroller"
)

// Controllers are all of them.
func Controllers() []string { return []string{LB, Node, Route} }

// Config describes a world.
type Config struct {
	// Dir keeps state, logs and secrets. It must be empty or not exist.
	Dir string
	// Kubernetes are the programs of the control plane, see binaries.EnsureKubernetes.
	Kubernetes binaries.Kubernetes
	// BinDir has our programs, see binaries.BuildProcesses.
	BinDir string
	// Nodes is the number of fake nodes to begin with.
	Nodes int
	// Controllers to run.
	Controllers []string
	// Gateways to run, of which the first to start is the active one; 0: one. More than one are for Linux only.
	Gateways int
	// Discovery lets the controllers find the gateway through the API server, as in a cluster. The gateway then listens on an address of
	// this machine that is not loopback, which EndpointSlices must not have. For one gateway only.
	Discovery bool
	// Gateway replaces keys of the gateways' configuration.
	Gateway map[string]any
	// LB, Node and Route replace keys of the controllers' configuration.
	LB, Node, Route map[string]any
	// DualStack gives instances IPv6 addresses and nodes a range of IPv6, and the controllers take care of both.
	DualStack bool
	// Beside is a world whose cloud is this one's, too: another cluster in the same VPC. It has the same cluster id unless LB,
	// Node and Route say otherwise, and must be stopped before that one.
	Beside *World
	// Traffic lets load balancers really forward: their addresses and those of the instances are loopback addresses then. Linux
	// only.
	Traffic bool
	// Front lets tools call the cloud through the gateway's OpenAPI front.
	Front bool
	// GatewayAPI lets lbcontroller serve Gateways and ServerGroupBindings, with their custom resources and the GatewayClasses nlb and clb.
	GatewayAPI bool
	// Fast makes the cloud's transitions take no time.
	Fast bool
	// LogLevel of our processes; empty: info.
	LogLevel string
	// Out gets progress lines.
	Out io.Writer
}

// World is a running world.
type World struct {
	cfg        Config
	plan       plan
	started    time.Time
	ports      block
	addresses  map[string]string // by process or endpoint
	caFile     string
	gatewayTLS pki.Pair
	adminToken string
	accessKey  accessKey
	front      frontPair
	names      string // address of the name server of the gateways, if there is more than one

	client kubernetes.Interface
	cloud  *cloud.Client

	mu        sync.Mutex
	processes []*proc.Process      // in the order of their start
	specs     map[string]proc.Spec // of components that were configured after the start
	nextNode  int

	cancel     context.CancelFunc // ends the background work
	background sync.WaitGroup
}

// endpoints are everything that listens.
func endpoints() []string {
	return append(products(),
		"etcd", "etcd-peer", "kube-apiserver", "kube-controllers", "openapisim",
		"cloudgateway", "cloudgateway-admin", "front", LB+"-admin", Node+"-admin", Route+"-admin",
	)
}

// products are the endpoints of the simulated cloud.
func products() []string {
	return []string{"slb", "vpc", "ecs", "sts", "nlb", "cas", "ram", "cs", "quotas", "location", "metadata"}
}

// Start brings a world up. When it fails, nothing is left running.
func Start(ctx context.Context, cfg Config) (*World, error) {
	w := &World{cfg: cfg, started: time.Now(), addresses: map[string]string{}, specs: map[string]proc.Spec{}, nextNode: 1}
	err := w.prepare()
	if err == nil {
		err = w.start(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, w.Stop())
	}
	return w, nil
}

// prepare does what needs no process.
func (w *World) prepare() error {
	var err error
	if w.plan, err = planAddresses(w.cfg.Traffic); err != nil {
		return err
	}
	w.plan.dualStack = w.cfg.DualStack
	for _, dir := range []string{"logs", "secrets", "config"} {
		if err := os.MkdirAll(w.path(dir), 0o700); err != nil {
			return fmt.Errorf("make directory of the world: %w", err)
		}
	}
	if w.ports, err = takeBlock(len(endpoints())); err != nil {
		return err
	}
	for i, name := range endpoints() {
		w.addresses[name] = w.ports.addresses[i]
	}
	w.placeStandbys()
	if w.cfg.Discovery {
		host, err := ownAddress()
		if err != nil {
			return err
		}
		w.addresses["cloudgateway"] = net.JoinHostPort(host.String(), port(w.addresses["cloudgateway"]))
	}
	w.adminToken = rand.Text()
	if w.cfg.Front {
		if err := w.makeFrontPair(); err != nil {
			return err
		}
	}
	if w.cfg.Beside != nil {
		return w.joinCloud(w.cfg.Beside)
	}
	w.cloud = cloud.New("http://" + w.addresses["openapisim"])
	return w.makeAccessKey()
}

// joinCloud lets a world use the cloud of another one.
func (w *World) joinCloud(other *World) error {
	for _, name := range append(products(), "openapisim") {
		w.addresses[name] = other.addresses[name]
	}
	w.cloud, w.accessKey = other.cloud, other.accessKey
	return nil
}

// Stop stops all processes: those that need others before these, and those that need none of each other at the same time.
func (w *World) Stop() error {
	if w.cancel != nil {
		w.cancel()
	}
	w.background.Wait()
	w.mu.Lock()
	processes := slices.Clone(w.processes)
	w.mu.Unlock()
	var errs []error
	for rank := range ranks {
		var group errgroup.Group
		for _, p := range processes {
			if w.rank(p.Name()) == rank {
				group.Go(p.Stop)
			}
		}
		errs = append(errs, group.Wait())
	}
	return errors.Join(append(errs, w.plan.release(), w.ports.release())...)
}

// ranks is how many there are.
const ranks = 5

// rank says when a process is stopped: the controllers give their Leases back, and what keeps these ends last.
func (w *World) rank(name string) int {
	switch {
	case name == "etcd":
		return ranks - 1
	case name == "kube-apiserver":
		return ranks - 2
	case slices.Contains([]string{"kube-controllers", "openapisim"}, name):
		return ranks - 3
	case slices.Contains(w.gatewayNames(), name):
		return 1
	}
	return 0
}

// Process returns a process by its name, or nil.
func (w *World) Process(name string) *proc.Process {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.processes {
		if p.Name() == name {
			return p
		}
	}
	return nil
}

// Kill ends a process as a crash does.
func (w *World) Kill(name string) error {
	p := w.Process(name)
	if p == nil {
		return fmt.Errorf("kill %s: no such process", name)
	}
	return p.Kill()
}

// Restart starts a process again that was killed or stopped, and waits until it is ready.
func (w *World) Restart(ctx context.Context, name string) error {
	p := w.Process(name)
	if p == nil {
		return fmt.Errorf("restart %s: no such process", name)
	}
	if err := p.Start(); err != nil {
		return err
	}
	return p.WaitReady(ctx)
}

// Ends says how often each process has ended by itself. Ours are started again then.
func (w *World) Ends() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	ends := map[string]int{}
	for _, p := range w.processes {
		ends[p.Name()] = p.Ends()
	}
	return ends
}

// Client may do everything in the cluster.
func (w *World) Client() kubernetes.Interface { return w.client }

// Traffic reports whether load balancers forward.
func (w *World) Traffic() bool { return w.cfg.Traffic }

// Cloud is the simulated cloud.
func (w *World) Cloud() *cloud.Client { return w.cloud }

// CAFile has signed the certificates of the gateway and the API server.
func (w *World) CAFile() string { return w.caFile }

// AdminURL is where a process shows its metrics and its readiness.
func (w *World) AdminURL(process string) string { return "http://" + w.addresses[process+"-admin"] }

// LogDir has one file for each process.
func (w *World) LogDir() string { return w.path("logs") }

// Dir is the world's directory.
func (w *World) Dir() string { return w.cfg.Dir }

func (w *World) say(format string, args ...any) {
	_, _ = fmt.Fprintf(w.cfg.Out, "%5.1fs  %s\n", time.Since(w.started).Seconds(), fmt.Sprintf(format, args...))
}

// Remains are the names of what a world has in its directory and dir has as well.
func Remains(dir string) []string {
	parts := []string{"etcd", "logs", "secrets", "config", "kubeconfig", "env"}
	return slices.DeleteFunc(parts, func(part string) bool {
		_, err := os.Lstat(filepath.Join(dir, part))
		return err != nil
	})
}

// Clean makes dir ready for a new world.
func Clean(dir string) error {
	for _, part := range Remains(dir) {
		if err := os.RemoveAll(filepath.Join(dir, part)); err != nil {
			return fmt.Errorf("clean %s: %w", dir, err)
		}
	}
	return nil
}
