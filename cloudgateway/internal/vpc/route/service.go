// Package route serves RouteService: route tables and their entries.
package route

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
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
	// entriesPerPage is more than the 100 that the reference of DescribeRouteEntryList names. The existing controllers ask
	// for as many, and the cloud takes it. Where it gives fewer in an answer, the next page goes on behind them.
	entriesPerPage = 500
)

const (
	// mostTables and learnedLife bound for how many tables, and for how long, the size and the VPC are remembered.
	mostTables  = 10_000
	learnedLife = 24 * time.Hour
	// paceLife is how long is remembered what a change of a VPC takes.
	paceLife = 10 * time.Minute
)

// Service implements vpcv1.RouteServiceServer.
type Service struct {
	vpcv1.UnimplementedRouteServiceServer

	product       *vpc.Product
	vswitches     *vswitch.Service
	routesPerCall int
	tables        *cloud.Collection[vpcv1.RouteTable]
	entries       *batch.Reader[string, []*vpcv1.RouteEntry] // by filter
	changes       *gatherer
	pace          write.Pace // how long changes of a VPC take to come into force
	// pages is how many calls the last complete reading of each table took. It decides how entries are read back in the fewest calls.
	pages     *memo.Memo[string, int]
	networkOf *memo.Memo[string, string] // the VPC of each table that was seen
}

// New makes a Service. One call names at most routesPerCall entries, 1 to 50.
func New(p *vpc.Product, vswitches *vswitch.Service, routesPerCall int) *Service {
	s := &Service{
		product: p, vswitches: vswitches, routesPerCall: max(1, min(routesPerCall, maxRoutesPerCall)),
		entries: cloud.NewCache[[]*vpcv1.RouteEntry](p.Shared, "routeentries"),
		pages:   memo.New[string, int](mostTables), networkOf: memo.New[string, string](mostTables), pace: write.NewPace(paceLife),
	}
	s.tables = cloud.NewCollection(p.API, p.Shared, kind(func(t *vpcv1.RouteTable) {
		s.networkOf.Put(t.GetRouteTableId(), t.GetVpcId(), learnedLife)
	}))
	s.changes = &gatherer{service: s, waiting: map[changeSet][]*job{}}
	p.Networks.OnWrite(func(string) {
		s.tables.ForgetAll()
		s.entries.Clear()
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

// change gathers entries with those of other requests, so that a call is full whether they come in one request or in many, and a request
// is answered as soon as its own entries have come to their end.
func (s *Service) change(ctx context.Context, vpcID string, entries []*vpcv1.RouteEntry, remove bool) ([]*vpcv1.RouteEntryResult, error) {
	jobs := make([]*job, len(entries))
	var order []changeSet
	sets := map[changeSet][]*job{}
	for i, e := range entries {
		if err := s.checkVPC(ctx, e.GetRouteTableId(), vpcID); err != nil {
			return nil, err
		}
		set := changeSet{vpcID: vpcID, tableID: e.GetRouteTableId(), remove: remove, lane: batch.LaneOf(ctx)}
		if sets[set] == nil {
			order = append(order, set)
		}
		jobs[i] = &job{entry: proto.CloneOf(e)} // What the table has of it is filled in.
		sets[set] = append(sets[set], jobs[i])
	}
	ctx, cancel := cloud.Earlier(ctx)
	defer cancel()
	for _, set := range order {
		s.changes.do(ctx, set, sets[set])
	}
	results := make([]*vpcv1.RouteEntryResult, len(entries))
	for i, entry := range entries {
		j := jobs[i]
		select {
		case <-j.done:
			results[i] = &vpcv1.RouteEntryResult{Status: j.status, Error: rpcerr.ToItem(j.failure)}
		default:
			results[i] = &vpcv1.RouteEntryResult{Error: rpcerr.ToItem(unfinished(&job{entry: entry}))}
		}
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

	from  *request
	done  chan struct{} // closed at the end, after which nothing changes
	begun bool          // does not wait any more
	left  func()        // is called when the request of a job that was begun does not wait for it any more
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
		text = fmt.Sprintf("the route to %s is %q, the change of it did not come to its end before the deadline",
			j.entry.GetDestinationCidr(), j.status)
	}
	return rpcerr.Errorf(rpcerr.ResourceBusy, "%s", text).WithRetry(write.PollInterval)
}
