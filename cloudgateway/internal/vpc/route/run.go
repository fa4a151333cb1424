package route

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/write"
)

const (
	// maxSends bounds how often one entry is sent when what the cloud says and what it shows disagree.
	maxSends = 5
	// longestPause is that between two looks. The documentation of CreateRouteEntries says to look every three seconds.
	longestPause = 3 * time.Second
	// singleReads is how many entries that are known by their ids alone are read one by one. A call takes one id only.
	singleReads = 3
)

// operation is what creation and deletion differ in.
type operation struct {
	// call makes a call for entries of a table.
	call func(tableID string, entries []*vpcv1.RouteEntry) openapi.Call
	// alone reports whether an entry needs a call of its own.
	alone func(*vpcv1.RouteEntry) bool
	// judge compares an entry with what its table holds at that destination, nil for nothing.
	judge func(want, got *vpcv1.RouteEntry) (write.Verdict, error)
	// exact: entries have to be asked for by their destinations, since a table that changes while its pages are read may show less than
	// there is, and what is missing is taken for deleted.
	exact bool
	// before is the reason of a refusal for an entry that was changed before, and then what that means for it.
	before rpcerr.Reason
	then   write.Verdict
}

// refused judges the refusal of one entry: Todo if it was sent too early.
func (op operation) refused(err error) write.Verdict {
	switch {
	case rpcerr.ReasonOf(err) == op.before:
		return op.then
	case cloud.Busy(err):
		return write.Todo
	default:
		return write.Failed
	}
}

// run makes changes of one table, whose VPC is locked.
type run struct {
	service        *Service
	op             operation
	vpcID, tableID string
	jobs           []*job
}

// toTheEnd sends calls and waits for each to come into force, since the cloud takes no other one of the VPC until then. As long as there
// are more to send, a few of the entries of a call speak for all of it; each is looked at in the end.
func (r *run) toTheEnd(ctx context.Context) {
	// An id is of an entry in the table, and of the one that the request means, or nothing is sent: the cloud may not look
	// at more than the id.
	if err := r.identify(ctx); err != nil {
		r.expire(err)
		return
	}
	for {
		next := r.next()
		open := slices.DeleteFunc(slices.Clone(r.jobs), func(j *job) bool { return !j.open() })
		if len(open) == 0 {
			return
		}
		if slices.ContainsFunc(next, func(j *job) bool { return j.tried }) && !cloud.Sleep(ctx, write.PollInterval) {
			r.expire(nil)
			return
		}
		r.send(ctx, next)
		if err := r.await(ctx, next); err != nil {
			r.expire(fmt.Errorf("read the routes of %s back: %w", r.tableID, err))
			return
		}
		if ctx.Err() != nil {
			r.expire(nil)
			return
		}
	}
}

// next are the entries of the next call. Two requests may be about the same entry: the second has its turn when the first is done.
func (r *run) next() (next []*job) {
	there := map[string]bool{}
	for _, j := range r.jobs {
		identity := j.entry.GetRouteEntryId() + " " + j.entry.GetDestinationCidr()
		switch {
		case j.verdict != write.Todo, there[identity]:
		case j.sends >= maxSends:
			j.fail(j.last)
		case r.op.alone(j.entry):
			return []*job{j}
		default:
			there[identity] = true
			if next = append(next, j); len(next) == r.service.routesPerCall {
				return next
			}
		}
	}
	return next
}

// send makes one call.
func (r *run) send(ctx context.Context, jobs []*job) {
	if len(jobs) == 0 {
		return
	}
	entries := make([]*vpcv1.RouteEntry, len(jobs))
	for i, j := range jobs {
		entries[i] = j.entry
	}
	var failed []failedEntry
	call := r.op.call(r.tableID, entries)
	answer := &cloud.Fields{"FailedRouteEntries": cloud.Each(&failed, decodeFailed)}
	result, err := r.service.product.Caller.Do(onBehalf(ctx, jobs), call, answer)
	for _, j := range jobs {
		j.tried, j.last = true, err
		switch {
		case cloud.Busy(err): // A conflict with other work says nothing about the entry.
			continue
		case err == nil:
			j.verdict, j.accepted = write.Waiting, true
		case cloud.Unclear(err):
			j.verdict = write.Waiting
		case r.op.alone(j.entry):
			j.refuse(r.op, err)
		default:
			j.fail(err)
		}
		j.sends++
	}
	for _, f := range failed {
		refusal := openapi.ItemError(openapi.VPC, call.Action, f.code, f.message, result.RequestID)
		for _, j := range jobs {
			if f.matches(j.entry) {
				j.refuse(r.op, refusal)
			}
		}
	}
}

// failedEntry is one refusal in the answer to a batch.
type failedEntry struct{ id, destination, nextHop, code, message string }

func decodeFailed(item []byte) (f failedEntry, err error) {
	return f, cloud.Decode(item, cloud.Fields{
		"RouteEntryId": &f.id, "DstCidrBlock": &f.destination, "NextHop": &f.nextHop, "FailedCode": &f.code, "FailedMessage": &f.message,
	})
}

// matches reports whether the refusal is of the entry. What the cloud leaves out matches anything, but one of the id and the
// destination is always there.
func (f failedEntry) matches(e *vpcv1.RouteEntry) bool {
	if f.id != "" && f.id == e.GetRouteEntryId() {
		return true
	}
	return f.destination != "" && f.destination == e.GetDestinationCidr() &&
		(f.nextHop == "" || e.GetNextHopId() == "" || f.nextHop == e.GetNextHopId())
}

// await looks at what was sent until it is in force, or until there is no more time. The first look comes when the last
// change of the VPC had come into force.
func (r *run) await(ctx context.Context, sent []*job) error {
	began, pace := time.Now(), r.service.pace
	pause := time.Duration(0)
	if slices.ContainsFunc(sent, func(j *job) bool { return j.accepted }) {
		pause = pace.Of(r.vpcID)
	}
	for early := time.Duration(0); ; {
		if pause > 0 && !cloud.Sleep(ctx, pause) {
			r.expire(nil)
			return nil
		}
		waiting, err := r.look(ctx, r.subject(sent))
		if err != nil {
			return err
		}
		if !waiting {
			if early > 0 {
				pace.Took(r.vpcID, time.Since(began))
			}
			return nil
		}
		early = min(early+write.PollInterval, longestPause)
		pause = early
	}
}

// subject is what is to be looked at: a few entries of the last call, or everything if there is nothing more to send.
func (r *run) subject(sent []*job) []*job {
	waits := func(j *job) bool { return j.verdict == write.Waiting }
	subject := slices.DeleteFunc(slices.Clone(sent), func(j *job) bool { return !waits(j) })
	if slices.ContainsFunc(r.jobs, func(j *job) bool { return j.verdict == write.Todo }) {
		return subject[:min(len(subject), cidrsPerCall)]
	}
	for _, j := range r.jobs {
		if waits(j) && !slices.Contains(sent, j) {
			subject = append(subject, j)
		}
	}
	return subject
}

// identify judges the jobs with an id by what the table holds: at the destination, and what is not there by its id alone.
func (r *run) identify(ctx context.Context) error {
	named := slices.DeleteFunc(slices.Clone(r.jobs), func(j *job) bool { return j.entry.GetRouteEntryId() == "" })
	if err := r.lookAtAll(ctx, r.views(named)); err != nil {
		return err
	}
	elsewhere := slices.DeleteFunc(named, func(j *job) bool { return j.verdict != write.Done || j.entry.GetDestinationCidr() == "" })
	return r.lookAtAll(ctx, r.byID(elsewhere))
}

func (r *run) lookAtAll(ctx context.Context, views []view) error {
	for _, v := range views {
		if _, err := r.judge(ctx, v.jobs, v.filter); err != nil {
			return err
		}
	}
	return nil
}

// look judges jobs by what the table holds, in as few calls as it takes: calls about some of the entries, or all of the table. It reports
// whether the cloud is still at work on some. Then the others were not looked at, since they hardly have come further.
func (r *run) look(ctx context.Context, jobs []*job) (waiting bool, err error) {
	for _, v := range r.views(jobs) {
		if waiting, err = r.judge(ctx, v.jobs, v.filter); waiting || err != nil {
			break
		}
	}
	return waiting, err
}

// view is a reading of a table that shows some entries.
type view struct {
	jobs   []*job
	filter cloud.Params // nil: all of the table
}

// views are those that show all jobs.
func (r *run) views(jobs []*job) (views []view) {
	var known, ids []*job
	for _, j := range jobs {
		if j.entry.GetDestinationCidr() != "" {
			known = append(known, j)
		} else {
			ids = append(ids, j)
		}
	}
	groups := slices.Collect(slices.Chunk(known, cidrsPerCall))
	if all, read := r.service.pages.Get(r.tableID); read && all < len(groups) && !r.op.exact {
		views, groups = []view{{jobs: known}}, nil
	}
	for _, group := range groups {
		cidrs := make([]string, len(group))
		for i, j := range group {
			cidrs[i] = j.entry.GetDestinationCidr()
		}
		views = append(views, view{group, cloud.Params{}.List("DestCidrBlockList", cidrs)})
	}
	return append(views, r.byID(ids)...)
}

// byID are those that show entries by their ids alone.
func (r *run) byID(ids []*job) (views []view) {
	if len(ids) > singleReads {
		return []view{{jobs: ids}}
	}
	for _, j := range ids {
		views = append(views, view{[]*job{j}, cloud.Params{"RouteEntryId": j.entry.GetRouteEntryId()}})
	}
	return views
}

// judge judges jobs by what one look shows.
func (r *run) judge(ctx context.Context, jobs []*job, filter cloud.Params) (waiting bool, err error) {
	held, err := r.service.describeEntries(ctx, r.tableID, filter)
	if err != nil {
		return false, err
	}
	byDestination := make(map[string]*vpcv1.RouteEntry, len(held))
	byID := make(map[string]*vpcv1.RouteEntry, len(held))
	for _, e := range held {
		byDestination[e.GetDestinationCidr()] = e
		byID[e.GetRouteEntryId()] = e
	}
	for _, j := range jobs {
		got := byDestination[j.entry.GetDestinationCidr()]
		if id := j.entry.GetRouteEntryId(); id != "" {
			got = byID[id]
		}
		j.status = got.GetStatus()
		j.entry.DestinationCidr = cmp.Or(j.entry.GetDestinationCidr(), got.GetDestinationCidr())
		v, conflict := r.op.judge(j.entry, got)
		switch {
		case conflict != nil:
			j.fail(conflict)
		case v == write.Todo && j.accepted:
			waiting = true // The effect is not to be seen yet.
		default:
			j.verdict = v
			waiting = waiting || v == write.Waiting
		}
	}
	return waiting, nil
}

func (r *run) expire(cause error) {
	for _, j := range r.jobs {
		j.expire(cause)
	}
}
