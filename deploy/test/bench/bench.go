package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"k8s.io/client-go/informers"
	corelisters "k8s.io/client-go/listers/core/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/journal"
	"alicloud-controllers.dev/deploy/tools/local/binaries"
	"alicloud-controllers.dev/deploy/tools/local/world"
)

const (
	// poll is how often what is waited for is looked at.
	poll = 100 * time.Millisecond
	// quiet is how long the cloud must not be called before a situation counts as over: longer than our controllers gather changes.
	quiet = 8 * time.Second
	// recheck is how long to wait before an expensive check is made again.
	recheck = 5 * time.Second
	// longest bounds every situation. CreateLoadBalancer's published limit lets 2 000 Services wait for most of an hour.
	longest = 2 * time.Hour
)

// bench is a world and what was done to it.
type bench struct {
	options
	world *world.World
	out   io.Writer
	// What is listed again and again is watched: the lists of a thousand nodes would cost the API server more than what is measured.
	watchedNodes    corelisters.NodeLister
	watchedServices corelisters.ServiceLister
	// unwatch ends the watches, without which the API server does not stop soon.
	unwatch context.CancelFunc
	// joined is the number of nodes that the cluster has.
	joined int
	// next is the number of the first call that the current situation has not seen.
	next int64
	// ended has what processes used that the current situation has ended, since their start.
	ended map[string]Usage
	// made are the Services that were created, by namespace and name.
	made []key
}

// newBench brings up a world whose account has room for what is to come.
func newBench(ctx context.Context, o options, out io.Writer) (*bench, error) {
	root, err := binaries.Root()
	if err != nil {
		return nil, err
	}
	kubernetes, err := binaries.EnsureKubernetes(ctx, binaries.Config{Root: root, Assets: os.Getenv("KUBEBUILDER_ASSETS"), Out: out})
	if err != nil {
		return nil, err
	}
	cfg := world.Config{Dir: o.dir, BinDir: o.bin, Kubernetes: kubernetes, Controllers: world.Controllers(), Out: out}
	if !o.limits {
		cfg.Gateway = map[string]any{"budget": map[string]any{"overrides": world.Unlimited()}}
	}
	w, err := world.Start(ctx, cfg)
	if err != nil {
		return nil, err
	}
	b := &bench{options: o, world: w, out: out}
	err = w.Cloud().Limits(ctx, func(doc *openapisim.LimitsDocument) {
		doc.Enabled = &o.limits
		const many = 1 << 30
		q := &doc.Settings.Quotas
		q.LoadBalancers, q.RouteEntries, q.Servers, q.ServerAttachments = many, many, 0, 0
		q.NLBs, q.NLBServerGroups, q.NLBGroupsPerServer, q.NLBServers = many, many, many, many
	})
	if err != nil {
		return nil, errors.Join(err, w.Stop())
	}
	if err := b.follow(ctx); err != nil {
		return nil, errors.Join(err, b.stop())
	}
	return b, nil
}

// follow watches nodes and Services until unwatch.
func (b *bench) follow(ctx context.Context) error {
	ctx, b.unwatch = context.WithCancel(ctx)
	factory := informers.NewSharedInformerFactory(b.world.Client(), 0)
	core := factory.Core().V1()
	b.watchedNodes, b.watchedServices = core.Nodes().Lister(), core.Services().Lister()
	factory.Start(ctx.Done())
	for kind, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return fmt.Errorf("watch %s: %w", kind, ctx.Err())
		}
	}
	return nil
}

// stop ends the world.
func (b *bench) stop() error {
	b.unwatch()
	return b.world.Stop()
}

// situation is something that happens to a cluster.
type situation struct {
	name string
	// needed says that later situations stand on it, so that it is run even when it is not measured.
	needed bool
	// run brings the situation about and returns when users have what they asked for, with a further figure, if there is one.
	run func(ctx context.Context, b *bench, row *Row) error
	// settled reports what the cloud still lacks when it is not called any more; nil: nothing is checked.
	settled func(ctx context.Context, b *bench) error
}

// measure runs a situation and waits until the cloud is left alone.
func (b *bench) measure(ctx context.Context, s situation) (Row, error) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	row := Row{Name: s.name, Processes: map[string]Usage{}}
	before := map[string]float64{}
	b.ended = map[string]Usage{}
	for _, name := range b.world.Ours() {
		used, err := b.usage(name)
		if err != nil {
			return row, err
		}
		before[name] = used.CPUSeconds
		if err := resetPeak(b.world.Process(name).Pid()); err != nil {
			return row, err
		}
	}
	start := time.Now()
	row.Started = start.UTC()
	if err := s.run(ctx, b, &row); err != nil {
		return row, err
	}
	row.Seconds = time.Since(start).Seconds()
	calls, err := b.settle(ctx, s.settled)
	if err != nil {
		return row, err
	}
	row.count(start, calls)
	row.Measured = time.Since(start).Seconds()
	for name, times := range b.world.Ends() {
		if times > 0 {
			return row, fmt.Errorf("%s has ended by itself", name)
		}
	}
	for _, name := range b.world.Ours() {
		used, err := b.usage(name)
		if err != nil {
			return row, err
		}
		used.CPUSeconds += b.ended[name].CPUSeconds - before[name]
		used.PeakMiB = max(used.PeakMiB, b.ended[name].PeakMiB)
		row.Processes[name] = used
	}
	return row, nil
}

// usage is what a process used since its start, and its peak since resetPeak.
func (b *bench) usage(name string) (used Usage, err error) {
	pid := b.world.Process(name).Pid()
	if used.CPUSeconds, err = cpuSeconds(pid); err != nil {
		return used, err
	}
	used.PeakMiB, err = peakMiB(pid)
	return used, err
}

// restart ends a process in some way, and starts it again.
func (b *bench) restart(ctx context.Context, name string, end func() error) error {
	used, err := b.usage(name)
	if err != nil {
		return err
	}
	b.ended[name] = used
	return errors.Join(end(), b.world.Restart(ctx, name))
}

// settle waits until the cloud is not called for a while and holds what it is to hold. It returns the calls since the last time.
func (b *bench) settle(ctx context.Context, check func(context.Context, *bench) error) ([]journal.Call, error) {
	var all []journal.Call
	last := time.Now()
	var missing error
	for {
		calls, next, err := b.world.Cloud().Calls(ctx, b.next)
		if err != nil {
			return nil, err
		}
		if len(calls) > 0 && calls[0].Seq != b.next+1 {
			return nil, fmt.Errorf("the simulated cloud has forgotten %d calls, more than it keeps were made", calls[0].Seq-b.next-1)
		}
		b.next = next
		if len(calls) > 0 {
			all, last = append(all, calls...), time.Now()
		}
		if time.Since(last) >= quiet {
			if check == nil {
				return all, nil
			}
			if missing = check(ctx, b); missing == nil {
				return all, nil
			}
			last = time.Now().Add(recheck - quiet)
		}
		if err := wait(ctx, poll); err != nil {
			if missing != nil {
				return nil, missing
			}
			return nil, err
		}
	}
}

// until waits for check to return nil, and fails with its last error.
func until(ctx context.Context, check func(ctx context.Context) error) error {
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		if ended := wait(ctx, poll); ended != nil {
			return fmt.Errorf("%w: %w", ended, err)
		}
	}
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// percent of n, at least one.
func percent(n, p int) int { return max(1, n*p/100) } //nolint:mnd // A percentage.

// groupsComplete checks that every server group of a Service on nodes has all nodes, and that no load balancer is there twice.
func groupsComplete(ctx context.Context, b *bench) error {
	cloud, err := b.world.Cloud().State(ctx)
	if err != nil {
		return err
	}
	balancers, all := b.kind.holds(cloud)
	groups := 0
	for id, servers := range all {
		if len(servers) == 0 || servers[0].pod {
			continue
		}
		groups++
		if len(servers) != len(cloud.Instances) {
			return fmt.Errorf("server group %s has %d servers, want %d", id, len(servers), len(cloud.Instances))
		}
	}
	if groups != len(b.made) {
		return fmt.Errorf("%d server groups have servers, want %d", groups, len(b.made))
	}
	if balancers != len(b.made) {
		return fmt.Errorf("%d load balancers are there, want %d", balancers, len(b.made))
	}
	return nil
}

// cloudEmpty checks that nothing is left of Services.
func cloudEmpty(ctx context.Context, b *bench) error {
	cloud, err := b.world.Cloud().State(ctx)
	if err != nil {
		return err
	}
	if n, groups := b.kind.holds(cloud); n+len(groups) > 0 {
		return fmt.Errorf("%d load balancers and %d server groups are left", n, len(groups))
	}
	return nil
}

// forget takes Services from those that are there.
func (b *bench) forget(gone []key) {
	b.made = slices.DeleteFunc(b.made, func(k key) bool { return slices.Contains(gone, k) })
}
