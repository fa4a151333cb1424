// Command bench runs a local world through the situations of a large cluster, one after the other, and prints what each cost: calls to
// the cloud by kind, calls refused, time, and the CPU and memory of each of our processes. Cloud, API server and kubelets share the
// machine with what is measured, so times are upper bounds; the numbers of calls are what they would be anywhere.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"alicloud-controllers.dev/deploy/local/binaries"
	"alicloud-controllers.dev/deploy/local/world"
)

// options are the flags.
type options struct {
	nodes, services, pods int
	limits                bool
	dir, bin, json        string
	only                  map[string]bool // situations to run besides those that others need; none: all
}

func parse(args []string, output io.Writer) (options, error) {
	root, err := binaries.Root()
	if err != nil {
		return options{}, err
	}
	var o options
	var only string
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(output)
	flags.IntVar(&o.nodes, "nodes", 200, "`number` of fake nodes, 10 to 10000")         //nolint:mnd // A default.
	flags.IntVar(&o.services, "services", 300, "`number` of Services, 1 to 10000")      //nolint:mnd // A default.
	flags.IntVar(&o.pods, "pods", 300, "`number` of pods with an ENI each, 0 to 10000") //nolint:mnd // A default.
	flags.BoolVar(&o.limits, "limits", false, "keep to the published rate limits of the cloud")
	flags.StringVar(&o.dir, "dir", filepath.Join(root, ".dev", "scale"), "`directory` of the world's state and logs")
	flags.StringVar(&o.bin, "bin", filepath.Join(root, "bin"), "`directory` with our programs")
	flags.StringVar(&o.json, "json", "", "`file` that gets the figures as JSON")
	flags.StringVar(&only, "only", "", "comma-separated `names` of the situations to measure; all if empty")
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	const most, fewestNodes = 10_000, 10
	switch {
	case flags.NArg() > 0:
		return options{}, fmt.Errorf("arguments besides flags: %q", flags.Args())
	case o.nodes < fewestNodes || o.nodes > most:
		return options{}, fmt.Errorf("-nodes is %d, it must be %d to %d", o.nodes, fewestNodes, most)
	case o.services < 1 || o.services > most:
		return options{}, fmt.Errorf("-services is %d, it must be 1 to %d", o.services, most)
	case o.pods < 0 || o.pods > most:
		return options{}, fmt.Errorf("-pods is %d, it must be 0 to %d", o.pods, most)
	}
	o.only = map[string]bool{}
	known := map[string]bool{}
	for _, s := range situations() {
		known[s.name] = true
	}
	for name := range strings.SplitSeq(only, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		if !known[name] {
			return options{}, fmt.Errorf("-only: there is no situation %q; see docs/performance.md", name)
		}
		o.only[name] = true
	}
	return o, nil
}

func main() {
	// The first signal stops the world in order, and so does a terminal that is closed; the next one ends this process, and its children with it.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop)
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args, out)
	if err != nil {
		return err
	}
	hold, err := world.Acquire(o.dir)
	if err != nil {
		return err
	}
	b, err := newBench(ctx, o, out)
	var stopped error
	if err == nil {
		err, stopped = b.measureAll(ctx), b.stop()
	}
	return hold.End(ctx, err, stopped)
}

// measureAll goes through the situations and reports what they cost.
func (b *bench) measureAll(ctx context.Context) error {
	report := Report{Nodes: b.nodes, Services: b.services, Pods: b.pods, Limits: b.limits}
	for _, s := range situations() {
		measure := len(b.only) == 0 || b.only[s.name]
		if !measure && !s.needed {
			continue
		}
		_, _ = fmt.Fprintf(b.out, "%s ...\n", s.name)
		row, err := b.measure(ctx, s)
		if err != nil {
			return fmt.Errorf("situation %q: %w", s.name, err)
		}
		if measure {
			report.Rows = append(report.Rows, row)
		}
	}
	if err := report.Write(b.out); err != nil {
		return err
	}
	if err := report.check(); err != nil {
		return err
	}
	if b.json == "" {
		return nil
	}
	data, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return fmt.Errorf("encode figures: %w", err)
	}
	if err := os.WriteFile(b.json, append(data, '\n'), 0o644); err != nil { //nolint:gosec // Figures are for everybody.
		return fmt.Errorf("write figures: %w", err)
	}
	return nil
}
