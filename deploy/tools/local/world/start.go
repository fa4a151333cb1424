package world

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"alicloud-controllers.dev/deploy/tools/local/pki"
	"alicloud-controllers.dev/deploy/tools/local/proc"
)

func (w *World) start(ctx context.Context) error {
	background, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w.cancel = cancel
	ca, err := w.identify()
	if err != nil {
		return err
	}
	if err := w.nameGateways(background); err != nil {
		return err
	}
	programs, err := w.controlPlane(ca)
	if err != nil {
		return err
	}
	etcd, apiserver, rest := programs[0], programs[1], programs[2:]
	w.say("starting Kubernetes and the simulated cloud")
	if err := w.startStores(ctx, etcd, apiserver); err != nil {
		return err
	}
	w.say("starting %s, with %d nodes", strings.Join(append([]string{"cloudgateway"}, w.cfg.Controllers...), ", "), w.cfg.Nodes)
	if err := w.populate(ctx, rest); err != nil {
		return err
	}
	w.background.Go(func() { w.keepTokens(background) })
	w.background.Go(func() { w.schedule(background) })
	if err := w.startControllers(ctx); err != nil {
		return err
	}
	return w.writeEnv()
}

// identify makes the authority that all trust, the gateway's certificate, and the world's own way to the API server.
func (w *World) identify() (*pki.Authority, error) {
	ca, err := pki.New(w.path("secrets"))
	if err != nil {
		return nil, err
	}
	w.caFile = ca.File()
	if w.gatewayTLS, err = ca.Serving("cloudgateway", "cloudgateway"); err != nil {
		return nil, err
	}
	if err := w.writeKubeconfig(w.Kubeconfig(), "admin", clientcmdapi.AuthInfo{Token: w.adminToken}); err != nil {
		return nil, err
	}
	return ca, w.connect()
}

// startStores starts what keeps the state of the cluster and of the cloud.
func (w *World) startStores(ctx context.Context, etcd, apiserver proc.Spec) error {
	parallel, ctx := errgroup.WithContext(ctx)
	if w.cfg.Beside == nil {
		parallel.Go(func() error { return w.run(ctx, w.simulator()) })
	}
	parallel.Go(func() error {
		if err := w.run(ctx, etcd); err != nil {
			return err
		}
		return w.run(ctx, apiserver)
	})
	return parallel.Wait()
}

// populate makes a cluster of it: a network, nodes, the rest of Kubernetes, and the gateways.
func (w *World) populate(ctx context.Context, rest []proc.Spec) error {
	if w.cfg.Beside == nil {
		if err := w.cloud.Seed(ctx, w.plan.network()); err != nil {
			return err
		}
	}
	parallel, ctx := errgroup.WithContext(ctx)
	parallel.Go(func() error { return w.runAll(ctx, rest) })
	parallel.Go(func() error {
		if err := w.grant(ctx); err != nil {
			return err
		}
		return w.startGateways(ctx)
	})
	parallel.Go(func() error {
		_, err := w.AddNodes(ctx, w.cfg.Nodes)
		return err
	})
	return parallel.Wait()
}

func (w *World) startControllers(ctx context.Context) error {
	var specs []proc.Spec
	for _, name := range w.cfg.Controllers {
		spec, err := w.controller(name)
		if err != nil {
			return err
		}
		specs = append(specs, spec)
	}
	return w.runAll(ctx, specs)
}

// connect makes the client that the world itself uses.
func (w *World) connect() error {
	cfg, err := clientcmd.BuildConfigFromFlags("", w.Kubeconfig())
	if err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	cfg.QPS, cfg.Burst = 1000, 2000
	if w.client, err = kubernetes.NewForConfig(cfg); err != nil {
		return fmt.Errorf("make Kubernetes client: %w", err)
	}
	return nil
}

// runAll starts processes at the same time and waits until all are ready.
func (w *World) runAll(ctx context.Context, specs []proc.Spec) error {
	parallel, ctx := errgroup.WithContext(ctx)
	for _, spec := range specs {
		parallel.Go(func() error { return w.run(ctx, spec) })
	}
	return parallel.Wait()
}

// run starts a process and waits until it is ready.
func (w *World) run(ctx context.Context, spec proc.Spec) error {
	spec.LogFile = w.path("logs", spec.Name+".log")
	p := proc.New(spec)
	if err := p.Start(); err != nil {
		return err
	}
	w.mu.Lock()
	w.processes = append(w.processes, p)
	w.mu.Unlock()
	return p.WaitReady(ctx)
}
