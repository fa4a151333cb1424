package gatewaytest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	"alicloud-controllers.dev/proto/rpcerr"
)

// NLB is the network load balancers of the cloud. What is put in without a status is active, available or running.
type NLB struct {
	LoadBalancers map[string]*nlbv1.LoadBalancer
	Listeners     map[string]*nlbv1.Listener
	ServerGroups  map[string]*nlbv1.ServerGroup // with their servers
	// AdditionalCertificates are those of listeners, by the listener's id. Any certificate exists.
	AdditionalCertificates map[string][]string
	// Zones are those in which instances can be.
	Zones []string
	// ServersPerGroup is the cloud's quota, 400 by default.
	ServersPerGroup int

	// Job says what becomes of the job of a write, e.g. "nlb.CreateLoadBalancer", with the Fake locked; nil: it succeeds at once. The
	// servers of a new group are added by a job of "nlb.ApplyServerChanges".
	Job func(method string, req proto.Message) Job
	// Health says what a listener finds of a server, e.g. "Unhealthy", with the Fake locked; the empty text: nothing that is wrong.
	Health func(listener *nlbv1.Listener, server *nlbv1.Server) string

	running  []*job          // in the order of their beginnings
	answered map[string]*job // of requests with a request_id, by method and request_id
}

// Job is what becomes of what the cloud carries out after it has accepted a write.
type Job struct {
	// Takes is how long it goes on. Meanwhile other writes to the same load balancer and its listeners, or to the same group, wait.
	Takes time.Duration
	// Fails is the cloud's code if it fails, e.g. "InternalError". What it has made is gone then, but for a load balancer, which has failed.
	Fails string
}

// job is a job that was begun.
type job struct {
	Job

	resource string // whose turn it takes
	request  proto.Message
	id       string // of what it has made
	ends     time.Time
	finish   func(failed bool)
}

func newNLB() NLB {
	const quota = 400
	return NLB{
		LoadBalancers: map[string]*nlbv1.LoadBalancer{}, Listeners: map[string]*nlbv1.Listener{}, ServerGroups: map[string]*nlbv1.ServerGroup{},
		AdditionalCertificates: map[string][]string{}, Zones: []string{"cn-hangzhou-h", "cn-hangzhou-i", "cn-hangzhou-j"}, ServersPerGroup: quota,
		answered: map[string]*job{},
	}
}

// settle ends the jobs whose time has come, and reports whether there were any.
func (n *NLB) settle() bool {
	var ended []*job
	n.running = slices.DeleteFunc(n.running, func(j *job) bool {
		if j.ends.After(time.Now()) {
			return false
		}
		ended = append(ended, j)
		return true
	})
	slices.SortStableFunc(ended, func(a, b *job) int { return a.ends.Compare(b.ends) })
	for _, j := range ended {
		if j.finish != nil {
			j.finish(j.Fails != "")
		}
	}
	return len(ended) > 0
}

// nlbRequest is a request to write.
type nlbRequest interface {
	proto.Message
	GetRequestId() string
	GetValidateOnly() bool
}

// nlbWrite is a write.
type nlbWrite struct {
	method   string
	resource string // whose turn it waits for; empty: it makes a resource that stands by itself
	request  nlbRequest
	// plan checks the request; f is locked. What is possible of a request is done, also if something else is wrong.
	plan func() (nlbChange, error)
}

// nlbChange is what a write does, with f locked.
type nlbChange struct {
	begin  func() (id string) // happens whatever becomes of the job
	change func()             // is what a job that fails doesn't do
	finish func(failed bool)  // happens at the end of the job
}

func (c nlbChange) nothing() bool { return c.begin == nil && c.change == nil && c.finish == nil }

// writeNLB makes a write and waits for the end of its job. It gives the id of what was made.
func (f *Fake) writeNLB(ctx context.Context, w nlbWrite) (string, error) {
	ctx, cancel := earlier(ctx)
	defer cancel()
	f.enter()
	defer f.leave()
	if w.request.GetValidateOnly() {
		_, err := w.plan()
		return "", err
	}
	var problem error
	j, err := f.NLB.recall(w)
	for j == nil && err == nil {
		if other := f.NLB.busy(w.resource); other != nil {
			if !f.await(ctx, other) {
				return "", refused(rpcerr.ResourceBusy.Code(), rpcerr.ResourceBusy, "another change of %s is under way", w.resource)
			}
			j, err = f.NLB.recall(w)
			continue
		}
		var change nlbChange
		if change, problem = w.plan(); change.nothing() {
			return "", problem
		}
		j = f.NLB.begin(w, change, problem == nil)
	}
	if err != nil {
		return "", err
	}
	return j.id, cmp.Or(f.outcome(ctx, w.method, j), problem)
}

// outcome waits for the end of a job; f is locked.
func (f *Fake) outcome(ctx context.Context, method string, j *job) error {
	switch {
	case !f.await(ctx, j):
		return refused(rpcerr.ResourceBusy.Code(), rpcerr.ResourceBusy, "the job of %s goes on after the deadline", method)
	case j.Fails != "":
		failure := rpcerr.Errorf(rpcerr.JobFailed, "the job of %s has failed", method)
		failure.CloudCode = j.Fails
		return failure
	}
	return nil
}

// recall finds the job of an earlier request with the same request_id, nil if there was none.
func (n *NLB) recall(w nlbWrite) (*job, error) {
	if w.request.GetRequestId() == "" {
		return nil, nil
	}
	earlier := n.answered[w.method+" "+w.request.GetRequestId()]
	if earlier != nil && !proto.Equal(earlier.request, w.request) {
		return nil, refused(rpcerr.IdempotencyMismatch.Code(), rpcerr.IdempotencyMismatch,
			"request_id %q was used with other content", w.request.GetRequestId())
	}
	return earlier, nil
}

// busy finds a job of a resource that goes on.
func (n *NLB) busy(resource string) *job {
	i := slices.IndexFunc(n.running, func(j *job) bool { return resource != "" && j.resource == resource })
	if i < 0 {
		return nil
	}
	return n.running[i]
}

// begin begins the job of a write.
func (n *NLB) begin(w nlbWrite, change nlbChange, recallable bool) *job {
	j := &job{resource: w.resource, request: proto.Clone(w.request), finish: change.finish}
	if n.Job != nil {
		j.Job = n.Job(w.method, w.request)
	}
	if change.begin != nil {
		j.id = change.begin()
		j.resource = cmp.Or(j.resource, j.id)
	}
	if change.change != nil && j.Fails == "" {
		change.change()
	}
	j.ends = time.Now().Add(j.Takes)
	n.running = append(n.running, j)
	if w.request.GetRequestId() != "" && recallable {
		n.answered[w.method+" "+w.request.GetRequestId()] = j
	}
	n.settle()
	return j
}

// await waits for the end of a job, without f, which is locked. It reports whether the job has ended.
func (f *Fake) await(ctx context.Context, j *job) bool {
	for slices.Contains(f.NLB.running, j) && ctx.Err() == nil {
		f.leave()
		end := time.NewTimer(time.Until(j.ends))
		select {
		case <-end.C:
		case <-ctx.Done():
		}
		end.Stop()
		f.enter()
	}
	return !slices.Contains(f.NLB.running, j)
}

// earlier ends before the caller's deadline, as the gateway does, so that the caller learns why.
func earlier(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	const part = 10
	return context.WithDeadline(ctx, deadline.Add(-min(time.Second, time.Until(deadline)/part)))
}

// requestID checks that a creation has one.
func requestID(r nlbRequest) error {
	if id := r.GetRequestId(); id == "" || len(id) > maxRequestID {
		return invalid("request_id", "%q has not 1 to %d characters", id, maxRequestID)
	}
	return nil
}

// nlbName is what a load balancer or a server group can be called.
func nlbName(name string) error {
	if name != "" && !namePattern().MatchString(name) {
		return invalid("name", "%q is not 2 to 128 letters, digits, dots, hyphens and underscores that begin with a letter", name)
	}
	return nil
}

// among reports whether a filter lets a value through.
func among[V comparable](wanted []V, value V) bool {
	return len(wanted) == 0 || slices.Contains(wanted, value)
}

// match is among for a filter with one value, whose zero value lets all through.
func match[V comparable](wanted, value V) bool {
	var all V
	return wanted == all || wanted == value
}

// idsOf are the keys of a map, in order.
func idsOf[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
