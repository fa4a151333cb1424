// Package route serves RouteService: route tables and their entries.
package route

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
	"alicloud-controllers.dev/cloudgateway/internal/busytime"
	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/memo"
	"alicloud-controllers.dev/cloudgateway/internal/vpc"
	"alicloud-controllers.dev/cloudgateway/internal/vpc/vswitch"
	"alicloud-controllers.dev/cloudgateway/internal/write"
)

// The cloud's limits (VPC API reference).
const (
	maxRoutesPerCall = 50 // CreateRouteEntries, DeleteRouteEntries
	cidrsPerCall     = 20 // DescribeRouteEntryList
	// entriesPerPage is more than the 100 that the reference of DescribeRouteEntryList names. The existing controllers ask for as many, and the
	// cloud takes it. Where it gives fewer in an answer, the next page goes on behind them.
	entriesPerPage = 500
)

const (
	// callsTogether is how many calls are made for a gathering of changes before it is answered: with two, full calls cost the fewest reads.
	callsTogether = 2
	// changeTime bounds a gathering of changes, besides the deadlines of the requests that wait for it.
	changeTime = 150 * time.Second
	// mostTables and learnedLife bound for how many tables, and for how long, the size and the VPC are remembered.
	mostTables  = 10_000
	learnedLife = 24 * time.Hour
)

// Service implements vpcv1.RouteServiceServer.
type Service struct {
	vpcv1.UnimplementedRouteServiceServer

	product       *vpc.Product
	vswitches     *vswitch.Service
	routesPerCall int
	tables        *cloud.Collection[vpcv1.RouteTable]
	entries       *batch.Reader[string, []*vpcv1.RouteEntry] // by filter
	changes       *batch.Reader[change, *vpcv1.RouteEntryResult]
	pace          busytime.Estimator // how long changes take to come into force
	// pages is how many calls the last complete reading of each table took. It decides how entries are read back in the fewest calls.
	pages     *memo.Memo[string, int]
	networkOf *memo.Memo[string, string] // the VPC of each table that was seen
}

// New makes a Service. One call names at most routesPerCall entries, 1 to 50.
func New(p *vpc.Product, vswitches *vswitch.Service, routesPerCall int) *Service {
	s := &Service{
		product: p, vswitches: vswitches, routesPerCall: max(1, min(routesPerCall, maxRoutesPerCall)),
		entries: cloud.NewCache[[]*vpcv1.RouteEntry](p.Shared, "routeentries"),
		pages:   memo.New[string, int](mostTables), networkOf: memo.New[string, string](mostTables),
	}
	s.tables = cloud.NewCollection(p.API, p.Shared, kind(func(t *vpcv1.RouteTable) {
		s.networkOf.Put(t.GetRouteTableId(), t.GetVpcId(), learnedLife)
	}))
	p.Networks.OnWrite(func(string) {
		s.tables.ForgetAll()
		s.entries.Clear()
	})
	s.changes = batch.New(batch.Config[change, *vpcv1.RouteEntryResult]{
		Name: "routechanges", Load: s.makeChanges, MaxItems: callsTogether * s.routesPerCall, Parallel: 1, Timeout: changeTime,
		Room: p.Room, Registerer: p.Registerer, Logger: p.Logger,
	})
	return s
}

// ListRouteEntries reads every entry that matches, ordered by destination.
func (s *Service) ListRouteEntries(ctx context.Context, r *vpcv1.ListRouteEntriesRequest) (*vpcv1.ListRouteEntriesResponse, error) {
	cidrs, filter := cloud.Sorted(r.GetDestinationCidrs()), cloud.Params{}.
		With("RouteEntryType", r.GetType()).
		With("NextHopType", r.GetNextHopType()).
		With("NextHopId", r.GetNextHopId())
	key := fmt.Sprintf("%q %q %q", r.GetRouteTableId(), filter, cidrs)
	list, err := s.entries.Do(ctx, key, r.GetMaxAge().AsDuration(), func(ctx context.Context) ([]*vpcv1.RouteEntry, error) {
		found, err := cloud.InChunks(cidrs, cidrsPerCall, func(some []string) ([]*vpcv1.RouteEntry, error) {
			return s.describeEntries(ctx, r.GetRouteTableId(), cloud.Params{}.Merge(filter).List("DestCidrBlockList", some))
		})
		return cloud.SortedBy(found, (*vpcv1.RouteEntry).GetDestinationCidr), err
	})
	return cloud.Answer(&vpcv1.ListRouteEntriesResponse{RouteEntries: list}, err)
}

// describeEntries reads all pages of DescribeRouteEntryList now.
func (s *Service) describeEntries(ctx context.Context, tableID string, filter cloud.Params) ([]*vpcv1.RouteEntry, error) {
	params := cloud.Params{"RouteTableId": tableID}.Merge(filter).Int("MaxResult", entriesPerPage)
	var found []*vpcv1.RouteEntry
	calls := 0
	err := cloud.Tokened(ctx, params, func(p cloud.Params) (next string, err error) {
		calls++
		err = s.product.Read(ctx, "DescribeRouteEntryList", p, &cloud.Fields{
			"NextToken": &next, "RouteEntrys": cloud.Fields{"RouteEntry": cloud.Each(&found, decode)},
		})
		return next, err
	})
	if err == nil && len(filter) == 0 {
		s.pages.Put(tableID, calls, learnedLife)
	}
	for _, e := range found {
		e.RouteTableId = tableID // Older answers leave it out.
	}
	return cloud.SortedBy(found, (*vpcv1.RouteEntry).GetDestinationCidr), err
}

// BatchCreateRouteEntries creates entries of one VPC and waits until they are in force. An error says that nothing was tried.
func (s *Service) BatchCreateRouteEntries(
	ctx context.Context, r *vpcv1.BatchCreateRouteEntriesRequest,
) (*vpcv1.BatchCreateRouteEntriesResponse, error) {
	results, err := s.change(ctx, r.GetVpcId(), r.GetRouteEntries(), false)
	return cloud.Answer(&vpcv1.BatchCreateRouteEntriesResponse{Results: results}, err)
}

// BatchDeleteRouteEntries deletes entries of one VPC and waits until they are gone. An error says that nothing was tried.
func (s *Service) BatchDeleteRouteEntries(
	ctx context.Context, r *vpcv1.BatchDeleteRouteEntriesRequest,
) (*vpcv1.BatchDeleteRouteEntriesResponse, error) {
	results, err := s.change(ctx, r.GetVpcId(), r.GetRouteEntries(), true)
	return cloud.Answer(&vpcv1.BatchDeleteRouteEntriesResponse{Results: results}, err)
}

// change is one entry that is to be created or deleted.
type change struct {
	changeSet

	entry string // encoded
}

// changeSet is what changes must have in common to go into one call: the cloud's list of failures does not name the table.
type changeSet struct {
	vpcID, tableID string
	remove         bool
}

func (c changeSet) operation() operation {
	if c.remove {
		return deletion()
	}
	return creation()
}

// change gathers entries with those of other requests, so that a call is full whether they come in one request or in many, and a request
// is answered as soon as its own entries have come to their end.
func (s *Service) change(ctx context.Context, vpcID string, entries []*vpcv1.RouteEntry, remove bool) ([]*vpcv1.RouteEntryResult, error) {
	keys := make([]change, len(entries))
	for i, e := range entries {
		if err := s.checkVPC(ctx, e.GetRouteTableId(), vpcID); err != nil {
			return nil, err
		}
		encoded, err := proto.MarshalOptions{Deterministic: true}.Marshal(e)
		if err != nil {
			return nil, fmt.Errorf("encode route_entries[%d]: %w", i, err)
		}
		keys[i] = change{changeSet: changeSet{vpcID: vpcID, tableID: e.GetRouteTableId(), remove: remove}, entry: string(encoded)}
	}
	ctx, cancel := earlier(ctx)
	defer cancel()
	found := s.changes.GetMany(batch.Apart(ctx, vpcID), keys, 0)
	results := make([]*vpcv1.RouteEntryResult, len(entries))
	for i, entry := range entries {
		switch err := found[i].Err; {
		case errors.Is(err, context.DeadlineExceeded):
			results[i] = &vpcv1.RouteEntryResult{Error: rpcerr.ToItem(unfinished(&job{entry: entry}))}
		case err != nil:
			results[i] = &vpcv1.RouteEntryResult{Error: rpcerr.ToItem(err)}
		default:
			results[i] = found[i].Value
		}
	}
	return results, nil
}

// earlier ends a little before the caller's deadline: by then the caller has to have the results of what was done.
func earlier(ctx context.Context) (context.Context, context.CancelFunc) {
	const most, part = time.Second, 10
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, deadline.Add(-min(most, time.Until(deadline)/part)))
}

// makeChanges makes the changes of one VPC, whose writes the cloud takes one at a time.
func (s *Service) makeChanges(ctx context.Context, keys []change) (map[change]*vpcv1.RouteEntryResult, error) {
	jobs := make(map[change]*job, len(keys))
	var order []changeSet
	sets := map[changeSet][]*job{}
	for _, key := range keys {
		j := &job{entry: &vpcv1.RouteEntry{}}
		if err := proto.Unmarshal([]byte(key.entry), j.entry); err != nil {
			return nil, fmt.Errorf("decode a route entry: %w", err)
		}
		jobs[key] = j
		if sets[key.changeSet] == nil {
			order = append(order, key.changeSet)
		}
		sets[key.changeSet] = append(sets[key.changeSet], j)
	}
	for _, set := range order {
		jobs := sets[set]
		err := s.product.Networks.Do(ctx, set.vpcID, func(ctx context.Context) error {
			(&run{service: s, op: set.operation(), tableID: set.tableID, jobs: jobs}).toTheEnd(ctx)
			return nil
		})
		for _, j := range jobs {
			if err != nil {
				j.fail(err)
			}
		}
	}
	results := make(map[change]*vpcv1.RouteEntryResult, len(keys))
	for key, j := range jobs {
		results[key] = &vpcv1.RouteEntryResult{Status: j.status, Error: rpcerr.ToItem(j.failure)}
	}
	return results, nil
}

// job is one entry on its way.
type job struct {
	entry    *vpcv1.RouteEntry
	verdict  write.Verdict // Waiting: the table has to be looked at
	status   string        // as last seen
	tried    bool
	sends    int   // that were about the entry
	accepted bool  // the cloud said yes, the effect may take a while
	last     error // of the last attempt, if it was refused
	failure  error // final
}

// open reports whether there is something left to do or to wait for.
func (j *job) open() bool { return j.verdict == write.Todo || j.verdict == write.Waiting }

func (j *job) fail(err error) { j.verdict, j.failure = write.Failed, err }

// refuse notes that the cloud refused the entry.
func (j *job) refuse(op operation, err error) {
	j.accepted, j.last = false, err
	if j.verdict = op.refused(err); j.verdict == write.Failed {
		j.fail(err)
	}
}

// expire ends what has not come to its end. It may still do so, or may be tried again. Cause is why the table can't be read, if that is so.
func (j *job) expire(cause error) {
	switch {
	case !j.open():
	case j.verdict == write.Todo && j.last != nil:
		j.fail(j.last)
	case cause == nil:
		j.fail(unfinished(j))
	case !j.tried:
		j.fail(cause)
	default:
		j.fail(rpcerr.Errorf(rpcerr.OutcomeUnknown, "the change of the route to %s was sent: %v", j.entry.GetDestinationCidr(), cause))
	}
}

// unfinished is the error when there is no more time.
func unfinished(j *job) error {
	text := fmt.Sprintf("other changes took until the deadline; that of the route to %s was not finished", j.entry.GetDestinationCidr())
	if j.tried {
		text = fmt.Sprintf("the route to %s is %q, the change of it did not come to its end before the deadline", j.entry.GetDestinationCidr(), j.status)
	}
	return rpcerr.Errorf(rpcerr.ResourceBusy, "%s", text).WithRetry(write.PollInterval)
}
