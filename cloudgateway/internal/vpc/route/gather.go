package route

import (
	"context"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/rpc"
)

const (
	// callsTogether is how many calls are made for a batch of changes before it is answered: with two, full calls cost the fewest reads.
	callsTogether = 2
	// changeTime bounds a batch of changes, besides the deadlines of the requests that wait for it.
	changeTime = 150 * time.Second
	// arrival is how long a request waits for others that come with it.
	arrival = 20 * time.Millisecond
)

// changeSet is what changes must have in common to go into one call: the cloud's list of failures does not name the
// table, and a request must not wait for the small share of the budget or the low priority of another.
type changeSet struct {
	vpcID, tableID string
	remove         bool
	lane           batch.Lane
}

func (c changeSet) operation() operation {
	if c.remove {
		return deletion()
	}
	return creation()
}

// request is the part of a request that is of one set.
type request struct {
	ctx   context.Context // Whose jobs they are.
	open  int             // jobs that have not come to their end
	ended func()          // is called when none is open
}

// gatherer puts jobs of several requests into the same calls. The cloud takes one change of a VPC at a time, so
// requests wait for their turn, and the one that has it takes those along that wait. No request gets the outcome of a
// job that was begun before it came: the entry may have been changed in between.
type gatherer struct {
	service *Service

	mu      sync.Mutex
	waiting map[changeSet][]*job // in the order in which they came
}

// do carries out jobs of one set. It returns when all have come to their end, which done of each says, or when ctx ends.
func (g *gatherer) do(ctx context.Context, set changeSet, jobs []*job) {
	turn, leave := context.WithCancel(ctx)
	defer leave()
	from := &request{ctx: ctx, open: len(jobs), ended: leave}
	for _, j := range jobs {
		j.from, j.done = from, make(chan struct{})
	}
	g.mu.Lock()
	g.waiting[set] = append(g.waiting[set], jobs...)
	g.mu.Unlock()
	defer g.drop(set, jobs)
	go g.takeTurns(turn, set, jobs)
	for _, j := range jobs {
		select {
		case <-j.done:
		case <-ctx.Done():
			return
		}
	}
}

// takeTurns carries out batches, as often as it is the turn of a request, until none of its jobs is left. A batch that
// was begun goes on when the request leaves, as long as another one waits for it.
func (g *gatherer) takeTurns(turn context.Context, set changeSet, jobs []*job) {
	if len(jobs) < g.service.routesPerCall {
		cloud.Sleep(turn, arrival)
	}
	for turn.Err() == nil {
		if err := g.service.product.Networks.Do(turn, set.vpcID, func(ctx context.Context) error {
			g.run(ctx, set, jobs)
			return nil
		}); err != nil {
			g.fail(set, jobs, err)
			return
		}
	}
}

// run carries out a batch.
func (g *gatherer) run(ctx context.Context, set changeSet, own []*job) {
	jobs := g.begin(set, own)
	if len(jobs) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(changeTime, time.Until(latest(jobs))))
	defer cancel()
	g.mu.Lock()
	wanted := len(jobs)
	for _, j := range jobs {
		j.left = func() { // Also called for those that have come to their end.
			if wanted--; wanted == 0 {
				cancel()
			}
		}
	}
	g.mu.Unlock()
	by := trace.SpanContextFromContext(ctx)
	for _, j := range jobs {
		//nolint:contextcheck // That of each request.
		if span := trace.SpanFromContext(j.from.ctx); by.IsSampled() && !span.SpanContext().Equal(by) {
			span.AddLink(trace.Link{SpanContext: by})
		}
	}
	_, err := batch.Recovered(g.service.product.Logger, "routechanges", func() (any, error) {
		(&run{service: g.service, op: set.operation(), vpcID: set.vpcID, tableID: set.tableID, jobs: jobs}).toTheEnd(onBehalf(ctx, jobs))
		return nil, nil
	})
	if err != nil {
		for _, j := range jobs {
			j.fail(err)
		}
	}
	g.end(jobs)
}

// onBehalf is a context whose calls to the cloud are noted by all requests of some jobs.
func onBehalf(ctx context.Context, jobs []*job) context.Context {
	methods := make([]context.Context, len(jobs))
	for i, j := range jobs {
		methods[i] = j.from.ctx
	}
	return rpc.Together(ctx, methods)
}

// latest is the latest deadline of requests; a zero time if there are none.
func latest(jobs []*job) (end time.Time) {
	for _, j := range jobs {
		deadline, ok := j.from.ctx.Deadline()
		if !ok {
			return time.Now().Add(changeTime)
		}
		if deadline.After(end) {
			end = deadline
		}
	}
	return end
}

// begin takes the jobs of the next batch out of those that wait: the request's own first, and no others if it has none.
func (g *gatherer) begin(set changeSet, own []*job) (taken []*job) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, from := range [][]*job{own, g.waiting[set]} {
		for _, j := range from {
			if !j.begun && len(taken) < callsTogether*g.service.routesPerCall {
				j.begun = true
				taken = append(taken, j)
			}
		}
		if len(taken) == 0 {
			break
		}
	}
	g.sweep(set)
	return taken
}

// sweep takes what was begun out of the jobs that wait.
func (g *gatherer) sweep(set changeSet) {
	g.waiting[set] = slices.DeleteFunc(g.waiting[set], func(j *job) bool { return j.begun })
	if len(g.waiting[set]) == 0 {
		delete(g.waiting, set)
	}
}

// end says that jobs have come to their end.
func (g *gatherer) end(jobs []*job) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, j := range jobs {
		close(j.done)
		if j.from.open--; j.from.open == 0 {
			j.from.ended()
		}
	}
}

// fail ends the jobs of a request that were not begun, because it gets no turn.
func (g *gatherer) fail(set changeSet, jobs []*job, err error) {
	failed := g.unbegun(set, jobs)
	for _, j := range failed {
		j.fail(err)
	}
	g.end(failed)
}

func (g *gatherer) unbegun(set changeSet, jobs []*job) (found []*job) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, j := range jobs {
		if !j.begun {
			j.begun = true
			found = append(found, j)
		}
	}
	g.sweep(set)
	return found
}

// drop takes a request off its jobs. What was not begun is not done, and a batch for which no request waits ends.
func (g *gatherer) drop(set changeSet, jobs []*job) {
	g.unbegun(set, jobs)
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, j := range jobs {
		if j.left != nil {
			j.left()
		}
	}
}
