// Command world runs the local world: a Kubernetes control plane, a simulated cloud and our processes on loopback.
//
//	world up   [-dir DIR] [-bin DIR] [-nodes N] [-controllers lb,node,route|none]   brings a world up and stays
//	world down [-dir DIR]                                                           stops it
//	world demo [-bin DIR]                                                           shows what it does and leaves nothing
//	world prepare                                                                   puts the control plane into the cache
//	world prepare-node                                                              does that, and builds the programs of a real node
//	world prepare-upstream                                                          does that, and builds Kubernetes' own end-to-end tests
//
// KUBERNETES=oldest takes the API server of the oldest Kubernetes that is supported, see tools/local/oldest.
// KUBEBUILDER_ASSETS names a directory with kube-apiserver and etcd, which are then taken from there. Otherwise those of the releases are
// downloaded where there is a network, and built where there is none; DOWNLOAD=never builds them always.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// The first signal stops the world in order, and so does a terminal that is closed; the next one ends this process.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop)
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "world:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	commands := map[string]func(context.Context, []string) error{
		"up": up, "down": down, "demo": showcase, "prepare": prepare, "prepare-node": prepareNode, "prepare-upstream": prepareUpstream,
	}
	if len(args) == 0 || commands[args[0]] == nil {
		return fmt.Errorf("name a command: up, down, demo, prepare, prepare-node or prepare-upstream")
	}
	return commands[args[0]](ctx, args[1:])
}
