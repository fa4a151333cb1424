package route

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/grpc/codes"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/write"
)

// maxSends bounds how often one entry is sent when what the cloud says and what it shows disagree.
const maxSends = 5

// BatchCreateRouteEntries creates entries of one VPC and waits until they are in force. An error says that nothing was tried.
func (s *Service) BatchCreateRouteEntries(
	ctx context.Context, r *vpcv1.BatchCreateRouteEntriesRequest,
) (*vpcv1.BatchCreateRouteEntriesResponse, error) {
	results, err := s.changeRoutes(ctx, r.GetVpcId(), r.GetRouteEntries(), creation{})
	if err != nil {
		return nil, err
	}
	return &vpcv1.BatchCreateRouteEntriesResponse{Results: results}, nil
}

// BatchDeleteRouteEntries deletes entries of one VPC and waits until they are gone. An error says that nothing was tried.
func (s *Service) BatchDeleteRouteEntries(
	ctx context.Context, r *vpcv1.BatchDeleteRouteEntriesRequest,
) (*vpcv1.BatchDeleteRouteEntriesResponse, error) {
	results, err := s.changeRoutes(ctx, r.GetVpcId(), r.GetRouteEntries(), deletion{})
	if err != nil {
		return nil, err
	}
	return &vpcv1.BatchDeleteRouteEntriesResponse{Results: results}, nil
}

// job is one entry on its way.
type job struct {
	entry    *vpcv1.RouteEntry
	verdict  write.Verdict
	status   string // as last seen
	sends    int
	accepted bool  // the cloud said yes, the effect may take a while
	last     error // of the last attempt, if it was refused
	failure  error // final
}

// open tells whether there is something left to do or to wait for.
func (j *job) open() bool { return j.verdict == write.Todo || j.verdict == write.Waiting }

func (j *job) fail(err error) { j.verdict, j.failure = write.Failed, err }

// refuse takes note that the cloud said no to the entry.
func (j *job) refuse(op operation, err error) {
	j.accepted, j.last = false, err
	if j.verdict = op.refused(err); j.verdict == write.Failed {
		j.fail(err)
	}
}

// operation is what creation and deletion differ in.
type operation interface {
	// call makes a call for entries of a table.
	call(tableID string, entries []*vpcv1.RouteEntry) openapi.Call
	// alone tells whether an entry needs a call of its own.
	alone(*vpcv1.RouteEntry) bool
	// judge compares an entry with what its table holds at that destination, nil for nothing.
	judge(want, got *vpcv1.RouteEntry) (write.Verdict, error)
	// refused judges the refusal of one entry: todo if only the table can tell.
	refused(err error) write.Verdict
}

func (s *Service) changeRoutes(
	ctx context.Context, vpcID string, entries []*vpcv1.RouteEntry, op operation,
) ([]*vpcv1.RouteEntryResult, error) {
	jobs := make([]*job, len(entries))
	tables := map[string][]*job{}
	for i, e := range entries {
		jobs[i] = &job{entry: e}
		tables[e.GetRouteTableId()] = append(tables[e.GetRouteTableId()], jobs[i])
	}
	err := s.networks.Do(ctx, vpcID, func(ctx context.Context) error {
		// A call names the entries of one table only, since the cloud's list of failures does not tell the table.
		for _, table := range slices.Sorted(maps.Keys(tables)) {
			for _, chunk := range s.calls(tables[table], op) {
				s.changeChunk(ctx, table, chunk, op)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	results := make([]*vpcv1.RouteEntryResult, len(jobs))
	for i, j := range jobs {
		results[i] = &vpcv1.RouteEntryResult{Status: j.status, Error: rpcerr.ToItem(j.failure)}
	}
	return results, nil
}

// calls cuts the entries of a table into what one call takes.
func (s *Service) calls(jobs []*job, op operation) [][]*job {
	var together []*job
	var calls [][]*job
	for _, j := range jobs {
		if op.alone(j.entry) {
			calls = append(calls, []*job{j})
		} else {
			together = append(together, j)
		}
	}
	return slices.AppendSeq(calls, slices.Chunk(together, s.routesPerCall))
}

// changeChunk sends the entries of one call and looks at the table until each has come to its end. The cloud takes no other
// route write of the VPC until then, so there is nothing to gain by going on earlier.
func (s *Service) changeChunk(ctx context.Context, tableID string, jobs []*job, op operation) {
	for {
		s.send(ctx, tableID, jobs, op)
		if !anyOpen(jobs) {
			return
		}
		if err := s.look(ctx, tableID, jobs, op); err != nil {
			expire(jobs, fmt.Errorf("read the routes of %s back: %w", tableID, err))
			return
		}
		if !anyOpen(jobs) {
			return
		}
		if !cloud.Sleep(ctx, write.PollInterval) {
			expire(jobs, nil)
			return
		}
	}
}

// send makes one call for the entries that have to be sent.
func (s *Service) send(ctx context.Context, tableID string, jobs []*job, op operation) {
	var batch []*job
	var entries []*vpcv1.RouteEntry
	for _, j := range jobs {
		switch {
		case j.verdict != write.Todo:
		case j.sends >= maxSends:
			j.fail(j.last)
		default:
			j.sends++
			batch, entries = append(batch, j), append(entries, j.entry)
		}
	}
	if len(batch) == 0 {
		return
	}
	var answer struct{ FailedRouteEntries []failedEntry }
	call := op.call(tableID, entries)
	result, err := s.api.Caller.Do(ctx, call, &answer)
	for _, j := range batch {
		j.last = err
		switch {
		case err == nil:
			j.verdict, j.accepted = write.Waiting, true
		case cloud.Busy(err):
			j.sends-- // A conflict with other work says nothing about the entry.
		case cloud.Unclear(err):
		case op.alone(j.entry):
			j.refuse(op, err)
		default:
			j.fail(err)
		}
	}
	for _, f := range answer.FailedRouteEntries {
		refusal := openapi.ItemError(openapi.VPC, call.Action, f.FailedCode, f.FailedMessage, result.RequestID)
		for _, j := range batch {
			if f.matches(j.entry) {
				j.refuse(op, refusal)
			}
		}
	}
}

// failedEntry is one refusal in the answer to a batch.
type failedEntry struct {
	RouteEntryID  string `json:"RouteEntryId"`
	DstCidrBlock  string
	NextHop       string
	FailedCode    string
	FailedMessage string
}

// matches tells whether the refusal is of the entry. What the cloud leaves out matches anything, but one of the id and the
// destination is always there.
func (f failedEntry) matches(e *vpcv1.RouteEntry) bool {
	if f.RouteEntryID != "" && f.RouteEntryID == e.GetRouteEntryId() {
		return true
	}
	return f.DstCidrBlock != "" && f.DstCidrBlock == e.GetDestinationCidr() &&
		(f.NextHop == "" || e.GetNextHopId() == "" || f.NextHop == e.GetNextHopId())
}

// look judges the open entries by what the table holds.
func (s *Service) look(ctx context.Context, tableID string, jobs []*job, op operation) error {
	held, err := s.describeEntries(ctx, tableID, nil)
	if err != nil {
		return err
	}
	byDestination := make(map[string]*vpcv1.RouteEntry, len(held))
	byID := make(map[string]*vpcv1.RouteEntry, len(held))
	for _, e := range held {
		byDestination[e.GetDestinationCidr()] = e
		byID[e.GetRouteEntryId()] = e
	}
	for _, j := range jobs {
		if !j.open() {
			continue
		}
		got := byDestination[j.entry.GetDestinationCidr()]
		if id := j.entry.GetRouteEntryId(); id != "" {
			got = byID[id]
		}
		j.status = got.GetStatus()
		v, conflict := op.judge(j.entry, got)
		switch {
		case conflict != nil:
			j.fail(conflict)
		case v == write.Todo && j.accepted:
			j.verdict = write.Waiting // The effect is not to be seen yet.
		default:
			j.verdict = v
		}
	}
	return nil
}

func anyOpen(jobs []*job) bool { return slices.ContainsFunc(jobs, (*job).open) }

// expire ends the entries that have not come to their end. They may still do so, or may be tried again.
func expire(jobs []*job, cause error) {
	for _, j := range jobs {
		switch {
		case !j.open():
		case j.verdict == write.Waiting || j.last == nil:
			j.fail(unfinished(j, cause))
		default:
			j.fail(j.last)
		}
	}
}

func unfinished(j *job, cause error) error {
	e := &rpcerr.Error{
		Code: codes.Aborted, Reason: rpcerr.ResourceBusy, RetryAfter: write.PollInterval,
		Message: fmt.Sprintf("route to %s is %q and did not settle before the deadline", j.entry.GetDestinationCidr(), j.status),
	}
	if cause != nil {
		e.Code, e.Reason = codes.Unknown, rpcerr.OutcomeUnknown
		e.Message = fmt.Sprintf("the change of the route to %s was sent: %v", j.entry.GetDestinationCidr(), cause)
	}
	return e
}
