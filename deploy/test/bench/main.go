// Command bench runs a local world through the situations of a large cluster, one after the other, and prints what each cost: calls to
// the cloud by kind, calls refused, time, and the CPU and memory of each of our processes. Cloud, API server and kubelets share the
// machine with what is measured, so times are upper bounds; the numbers of calls are what they would be anywhere.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"alicloud-controllers.dev/deploy/tools/local/binaries"
	"alicloud-controllers.dev/deploy/tools/local/world"
)

// options are the flags.
type options struct {
	nodes, services, pods int
	limits                bool
	kind                  kind
	dir, bin, json        string
	version               string          // of what is measured
	only                  map[string]bool // situations to run besides those that others need; none: all
}

// The sizes that a world has room for.
const (
	fewestNodes, mostNodes = 10, 10_000
	// nodePorts is how many a cluster has by default. Each Service takes one, and besides those that were asked for there
	// are those of a tenant, his neighbour's, and one for each restart.
	nodePorts    = 2768
	mostServices = nodePorts - bulk - 1 - 4
	// mostPods twice, the old ones and the new ones, fit into the part of the vSwitch that the nodes leave free.
	mostPods = (128 - podsFirstOctet) * podsPerOctet / 2
	// mostCalls are kept in the simulator's journal.
	mostCalls = 100_000
)

func parse(args []string, output io.Writer) (options, error) {
	root, err := binaries.Root()
	if err != nil {
		return options{}, err
	}
	o := options{kind: clb}
	var only string
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(output)
	flags.IntVar(&o.nodes, "nodes", 200, "`number` of fake nodes")                      //nolint:mnd // A default.
	flags.IntVar(&o.services, "services", 300, "`number` of Services")                  //nolint:mnd // A default.
	flags.IntVar(&o.pods, "pods", 300, "`number` of pods with an ENI each, 0 for none") //nolint:mnd // A default.
	flags.BoolFunc("limits", "keep to the published rate limits of the cloud", func(text string) (err error) {
		if o.limits, err = strconv.ParseBool(text); err != nil {
			return errors.New("it must be true or false")
		}
		return nil
	})
	flags.Func("kind", "`kind` of load balancers: clb or nlb (default clb)", o.kind.parse)
	flags.StringVar(&o.dir, "dir", filepath.Join(root, ".dev", "scale"), "`directory` of the world's state and logs")
	flags.StringVar(&o.bin, "bin", filepath.Join(root, "bin"), "`directory` with our programs")
	flags.StringVar(&o.json, "json", "", "`file` that gets the figures as JSON")
	flags.StringVar(&o.version, "version", "dev", "`version` of our programs, for the figures")
	flags.StringVar(&only, "only", "", "comma-separated `names` of the situations to measure; all if empty")
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	switch {
	case flags.NArg() > 0:
		return options{}, fmt.Errorf("arguments besides flags: %q", flags.Args())
	case o.nodes < fewestNodes || o.nodes > mostNodes:
		return options{}, fmt.Errorf("-nodes is %d, it must be %d to %d", o.nodes, fewestNodes, mostNodes)
	case o.services < 1 || o.services > mostServices:
		return options{}, fmt.Errorf("-services is %d, it must be 1 to %d: a cluster has %d node ports", o.services, mostServices, nodePorts)
	case o.pods < 0 || o.pods > mostPods:
		return options{}, fmt.Errorf("-pods is %d, it must be 0 to %d", o.pods, mostPods)
	case o.services*o.kind.calls(o.nodes) > mostCalls:
		return options{},
			fmt.Errorf("-services is %d and -nodes is %d: to create them takes %d calls, and the simulated cloud can count %d; take fewer of one",
				o.services, o.nodes, o.services*o.kind.calls(o.nodes), mostCalls)
	}
	o.only = map[string]bool{}
	var known []string
	for _, s := range situations() {
		known = append(known, s.name)
	}
	for name := range strings.SplitSeq(only, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		if !slices.Contains(known, name) {
			return options{}, fmt.Errorf("-only: there is no situation %q; there are %q", name, known)
		}
		o.only[name] = true
	}
	return o, nil
}

func main() {
	// The first signal stops the world in order, and so does a terminal that is closed; the next one ends this process,
	// and its children with it.
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
	if err := checkWritable(o.json); err != nil {
		return err
	}
	hold, err := world.Acquire(o.dir)
	if err != nil {
		return err
	}
	b, err := newBench(ctx, o, out)
	var stopped error
	if err == nil {
		err, stopped = measureAll(ctx, o, out, b.measure), b.stop()
	}
	return hold.End(ctx, err, stopped)
}

// measureAll goes through the situations and reports what they cost, also those before one that fails: a run may take an hour.
func measureAll(ctx context.Context, o options, out io.Writer, measure func(context.Context, situation) (Row, error)) error {
	report := Report{
		Version: o.version, Time: time.Now().UTC(), CPUs: runtime.NumCPU(), Nodes: o.nodes, Services: o.services, Pods: o.pods, Limits: o.limits,
		Kind: string(o.kind),
	}
	var failed error
	for _, s := range situations() {
		wanted := len(o.only) == 0 || o.only[s.name]
		if !wanted && !s.needed {
			continue
		}
		_, _ = fmt.Fprintf(out, "%s ...\n", s.name)
		row, err := measure(ctx, s)
		if err != nil {
			report.Unfinished, failed = s.name, fmt.Errorf("situation %q: %w", s.name, err)
			break
		}
		if wanted {
			report.Rows = append(report.Rows, row)
		}
	}
	if len(report.Rows) == 0 {
		return failed
	}
	report.Goals = report.goals()
	return errors.Join(failed, report.Write(out), report.save(o.json, out), report.check())
}

// checkWritable checks before the run that its figures can be written after it.
func checkWritable(name string) error {
	if name == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil { //nolint:gosec // All users may read the figures.
		return fmt.Errorf("-json: make the file's directory: %w", err)
	}
	_, missing := os.Stat(name)
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o644) //nolint:gosec // The same.
	if err != nil {
		return fmt.Errorf("-json: %w", err)
	}
	err = f.Close()
	if missing != nil {
		err = errors.Join(err, os.Remove(name))
	}
	return err
}
