package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"alicloud-controllers.dev/deploy/tools/local/binaries"
	"alicloud-controllers.dev/deploy/tools/local/demo"
	"alicloud-controllers.dev/deploy/tools/local/world"
)

// options are the flags of all commands.
type options struct {
	dir, bin, controllers string
	nodes                 int
	traffic, front        bool
	gatewayAPI            bool
}

func parse(command string, args []string) (options, error) {
	root, err := binaries.Root()
	if err != nil {
		return options{}, err
	}
	var o options
	flags := flag.NewFlagSet("world "+command, flag.ContinueOnError)
	flags.StringVar(&o.dir, "dir", filepath.Join(root, ".dev"), "`directory` of the world's state, logs and secrets")
	flags.StringVar(&o.bin, "bin", filepath.Join(root, "bin"), "`directory` with our programs")
	flags.StringVar(&o.controllers, "controllers", "lb,node,route", "`list` of lb, node and route, or none")
	flags.IntVar(&o.nodes, "nodes", 3, "`number` of fake nodes") //nolint:mnd // A default.
	flags.BoolVar(&o.traffic, "traffic", command == "demo" && runtime.GOOS == "linux",
		"let load balancers forward, on loopback addresses; Linux only")
	flags.BoolVar(&o.front, "front", false, "let tools call the cloud through the gateway's OpenAPI front")
	flags.BoolVar(&o.gatewayAPI, "gateway-api", false, "serve Gateways, with GatewayClasses nlb and clb, and ServerGroupBindings")
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	switch {
	case flags.NArg() > 0:
		return options{}, fmt.Errorf("arguments besides flags: %q", flags.Args())
	case o.nodes < 0:
		return options{}, fmt.Errorf("-nodes is %d, it must not be negative", o.nodes)
	}
	o.dir, err = filepath.Abs(o.dir)
	return o, err
}

// start brings up a world in an empty directory.
func start(ctx context.Context, o options) (*world.World, error) {
	controllers, err := world.ParseControllers(strings.Split(o.controllers, ","))
	if err != nil {
		return nil, err
	}
	kubernetes, err := ensureKubernetes(ctx)
	if err != nil {
		return nil, err
	}
	return world.Start(ctx, world.Config{
		Dir: o.dir, BinDir: o.bin, Kubernetes: kubernetes, Nodes: o.nodes, Controllers: controllers, Out: os.Stdout,
		Traffic: o.traffic, Front: o.front, GatewayAPI: o.gatewayAPI,
	})
}

// ensureKubernetes downloads or builds the control plane if the cache does not have it.
func ensureKubernetes(ctx context.Context) (binaries.Kubernetes, error) {
	cfg, err := building()
	if err != nil {
		return binaries.Kubernetes{}, err
	}
	return binaries.EnsureKubernetes(ctx, cfg)
}

func building() (binaries.Config, error) {
	root, err := binaries.Root()
	if err != nil {
		return binaries.Config{}, err
	}
	cfg := binaries.Config{Root: root, Assets: os.Getenv("KUBEBUILDER_ASSETS"), Out: os.Stdout, Downloads: binaries.Releases()}
	if cfg.Oldest, err = binaries.OldestAsked(); err != nil {
		return cfg, err
	}
	switch choice := os.Getenv("DOWNLOAD"); choice {
	case "", "auto":
	case "never":
		cfg.Downloads = binaries.Downloads{}
	default:
		return cfg, fmt.Errorf("DOWNLOAD is %q; use auto or never", choice)
	}
	return cfg, nil
}

// prepare does the long part of what the other commands and the end-to-end tests need, so that no time limit is on it.
func prepare(ctx context.Context, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("prepare takes no arguments, got %q", args)
	}
	_, err := ensureKubernetes(ctx)
	return err
}

// prepareNode does the same for the tests that need a real node.
func prepareNode(ctx context.Context, args []string) error {
	if err := prepare(ctx, args); err != nil {
		return err
	}
	cfg, err := building()
	if err != nil {
		return err
	}
	_, err = binaries.EnsureNode(ctx, cfg)
	return err
}

// prepareUpstream does the same for Kubernetes' own end-to-end tests.
func prepareUpstream(ctx context.Context, args []string) error {
	if err := prepare(ctx, args); err != nil {
		return err
	}
	cfg, err := building()
	if err != nil {
		return err
	}
	_, err = binaries.EnsureUpstream(ctx, cfg)
	return err
}

func up(ctx context.Context, args []string) error {
	o, err := parse("up", args)
	if err != nil {
		return err
	}
	return inDirectory(ctx, o, func(w *world.World) error {
		fmt.Fprintf(os.Stdout, "\nThe world is up; logs are in %s.\n\n  . '%s'        # kubectl and the endpoints of the cloud\n"+
			"  %s/console    # what the cloud holds and is asked, for a browser\n\nStop it with Ctrl-C or make dev-down.\n",
			w.LogDir(), w.EnvFile(), w.Cloud().URL())
		watch(ctx, w)
		fmt.Fprintln(os.Stdout, "stopping; Ctrl-C ends it at once")
		return nil
	})
}

// inDirectory runs a world in a directory of its own.
func inDirectory(ctx context.Context, o options, use func(*world.World) error) error {
	hold, err := world.Acquire(o.dir)
	if err != nil {
		return err
	}
	w, err := start(ctx, o)
	var stopped error
	if err == nil {
		err, stopped = use(w), w.Stop()
	}
	return hold.End(ctx, err, stopped)
}

// watchInterval is how soon the end of a process is reported.
const watchInterval = time.Second

// watch says which processes end by themselves until ctx ends.
func watch(ctx context.Context, w *world.World) {
	reported := map[string]int{}
	ticker := time.NewTicker(watchInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for name, ends := range w.Ends() {
			if ends > reported[name] {
				fmt.Fprintf(os.Stdout, "%s has ended, its log is %s\n", name, filepath.Join(w.LogDir(), name+".log"))
			}
			reported[name] = ends
		}
	}
}

func down(ctx context.Context, args []string) error {
	o, err := parse("down", args)
	if err != nil {
		return err
	}
	return stopHolder(ctx, o.dir)
}

// demoDirs matches the directories of demos in the directory for temporary files.
const demoDirs = "alicloud-demo-*"

func showcase(ctx context.Context, args []string) error {
	o, err := parse("demo", args)
	if err != nil {
		return err
	}
	old, err := fs.Glob(os.DirFS(os.TempDir()), demoDirs)
	if err != nil {
		return fmt.Errorf("find demos that crashed or failed: %w", err)
	}
	for _, name := range old {
		err := sweep(filepath.Join(os.TempDir(), name))
		if err != nil && !errors.Is(err, os.ErrPermission) { // Others have theirs there, too.
			return err
		}
	}
	if o.dir, err = os.MkdirTemp("", demoDirs); err != nil {
		return fmt.Errorf("make directory of the demo: %w", err)
	}
	begin := time.Now()
	err = inDirectory(ctx, o, func(w *world.World) error { return demo.Run(ctx, w, os.Stdout) })
	if err == nil {
		fmt.Fprintf(os.Stdout, "\nDone in %s.\n", time.Since(begin).Round(100*time.Millisecond))
	}
	return err
}
