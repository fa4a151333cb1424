package vpc

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
)

const (
	// pollWait is the time between two looks at entries that are being created or deleted.
	pollWait = time.Second
	// maxSends bounds how often one entry is sent when what the cloud says and what it shows disagree.
	maxSends = 5
)

// CreateRouteEntries creates entries of one VPC and waits until they are in force. The error tells that nothing was tried.
func (c *Client) CreateRouteEntries(ctx context.Context, vpcID string, entries []*vpcv1.RouteEntry) ([]*vpcv1.RouteEntryResult, error) {
	return c.changeRoutes(ctx, vpcID, entries, creation{})
}

// DeleteRouteEntries deletes entries of one VPC and waits until they are gone. The error tells that nothing was tried.
func (c *Client) DeleteRouteEntries(ctx context.Context, vpcID string, entries []*vpcv1.RouteEntry) ([]*vpcv1.RouteEntryResult, error) {
	return c.changeRoutes(ctx, vpcID, entries, deletion{})
}

// job is one entry on its way.
type job struct {
	entry    *vpcv1.RouteEntry
	verdict  verdict
	status   string // as last seen
	sends    int
	accepted bool  // the cloud said yes, the effect may take a while
	last     error // of the last attempt, if it was refused
	failure  error // final
}

// open tells whether there is something left to do or to wait for.
func (j *job) open() bool { return j.verdict == todo || j.verdict == waiting }

func (j *job) fail(err error) { j.verdict, j.failure = failed, err }

// operation is what creation and deletion differ in.
type operation interface {
	action() string
	// members encodes an entry as an item of the call.
	members(*vpcv1.RouteEntry) map[string]string
	// judge compares an entry with what its table holds at that destination, nil for nothing.
	judge(want, got *vpcv1.RouteEntry) (verdict, error)
	// refused judges the refusal of one entry: todo if only the table can tell.
	refused(err error) verdict
}

func (c *Client) changeRoutes(
	ctx context.Context, vpcID string, entries []*vpcv1.RouteEntry, op operation,
) ([]*vpcv1.RouteEntryResult, error) {
	jobs := make([]*job, len(entries))
	tables := map[string][]*job{}
	for i, e := range entries {
		jobs[i] = &job{entry: e}
		tables[e.GetRouteTableId()] = append(tables[e.GetRouteTableId()], jobs[i])
	}
	err := c.exclusively(ctx, vpcID, func(ctx context.Context) error {
		// A call names the entries of one table only, since the cloud's list of failures does not tell the table.
		for _, table := range slices.Sorted(maps.Keys(tables)) {
			for chunk := range slices.Chunk(tables[table], c.routesPerCall) {
				c.changeChunk(ctx, table, chunk, op)
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

// changeChunk sends the entries of one call and looks at the table until each has come to its end. The cloud takes no other
// route write of the VPC until then, so there is nothing to gain by going on earlier.
func (c *Client) changeChunk(ctx context.Context, tableID string, jobs []*job, op operation) {
	for {
		c.send(ctx, tableID, jobs, op)
		if !anyOpen(jobs) {
			return
		}
		if err := c.look(ctx, tableID, jobs, op); err != nil {
			expire(jobs, fmt.Errorf("read the routes of %s back: %w", tableID, err))
			return
		}
		if !anyOpen(jobs) {
			return
		}
		if !cloud.Sleep(ctx, pollWait) {
			expire(jobs, nil)
			return
		}
	}
}

// send makes one call for the entries that have to be sent.
func (c *Client) send(ctx context.Context, tableID string, jobs []*job, op operation) {
	var batch []*job
	var items []map[string]string
	for _, j := range jobs {
		switch {
		case j.verdict != todo:
		case j.sends >= maxSends:
			j.fail(j.last)
		default:
			j.sends++
			batch = append(batch, j)
			item := op.members(j.entry)
			item["RouteTableId"] = tableID
			items = append(items, item)
		}
	}
	if len(batch) == 0 {
		return
	}
	var answer struct{ FailedRouteEntries []failedEntry }
	call := cloud.Write(openapi.VPC, op.action(), cloud.Params{}.Items("RouteEntries", items))
	result, err := c.caller.Do(ctx, call, &answer)
	for _, j := range batch {
		j.last = err
		switch {
		case err == nil:
			j.verdict, j.accepted = waiting, true
		case cloud.Busy(err):
			j.sends-- // A conflict with other work says nothing about the entry.
		case !cloud.Unclear(err):
			j.fail(err)
		}
	}
	for _, f := range answer.FailedRouteEntries {
		refusal := openapi.ItemError(openapi.VPC, op.action(), f.FailedCode, f.FailedMessage, result.RequestID)
		for _, j := range batch {
			if f.matches(j.entry) {
				j.accepted, j.last = false, refusal
				if j.verdict = op.refused(refusal); j.verdict == failed {
					j.fail(refusal)
				}
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
func (c *Client) look(ctx context.Context, tableID string, jobs []*job, op operation) error {
	held, err := c.describeEntries(ctx, entriesKey{tableID: tableID})
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
		case v == todo && j.accepted:
			j.verdict = waiting // The effect is not to be seen yet.
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
		case j.verdict == waiting || j.last == nil:
			j.fail(unfinished(j, cause))
		default:
			j.fail(j.last)
		}
	}
}

func unfinished(j *job, cause error) error {
	e := &rpcerr.Error{
		Code: codes.Aborted, Reason: rpcerr.ResourceBusy, RetryAfter: pollWait,
		Message: fmt.Sprintf("route to %s is %q and did not settle before the deadline", j.entry.GetDestinationCidr(), j.status),
	}
	if cause != nil {
		e.Code, e.Reason = codes.Unknown, rpcerr.OutcomeUnknown
		e.Message = fmt.Sprintf("the change of the route to %s was sent: %v", j.entry.GetDestinationCidr(), cause)
	}
	return e
}

// creation makes entries.
type creation struct{}

func (creation) action() string { return "CreateRouteEntries" }

func (creation) members(e *vpcv1.RouteEntry) map[string]string {
	kind := e.GetNextHopType()
	if kind == "" {
		kind = "Instance"
	}
	return map[string]string{
		"DstCidrBlock": e.GetDestinationCidr(),
		"NextHop":      e.GetNextHopId(),
		"NextHopType":  kind,
		"Name":         e.GetName(),
		"Description":  e.GetDescription(),
		"IpVersion":    ipVersion(e.GetDestinationCidr()),
	}
}

// ipVersion names the family of an IPv6 destination; that of all others goes without saying.
func ipVersion(destination string) string {
	if strings.Contains(destination, ":") {
		return "6"
	}
	return ""
}

func (creation) judge(want, got *vpcv1.RouteEntry) (verdict, error) {
	switch {
	case got == nil:
		return todo, nil
	case got.GetStatus() == "Deleting":
		return waiting, nil // It is sent again when the old entry is gone.
	case got.GetNextHopId() != want.GetNextHopId():
		return failed, &rpcerr.Error{
			Code: codes.AlreadyExists, Reason: rpcerr.RouteConflict, API: "vpc/CreateRouteEntries",
			Message: fmt.Sprintf("route table %s has a route to %s by %q, so %q can't be its next hop",
				want.GetRouteTableId(), want.GetDestinationCidr(), got.GetNextHopId(), want.GetNextHopId()),
		}
	case got.GetStatus() == statusAvailable:
		return done, nil
	default:
		return waiting, nil
	}
}

func (creation) refused(err error) verdict {
	if rpcerr.ReasonOf(err) == rpcerr.AlreadyExists || cloud.Busy(err) {
		return todo
	}
	return failed
}

// deletion removes entries.
type deletion struct{}

func (deletion) action() string { return "DeleteRouteEntries" }

func (deletion) members(e *vpcv1.RouteEntry) map[string]string {
	if id := e.GetRouteEntryId(); id != "" {
		return map[string]string{"RouteEntryId": id}
	}
	return map[string]string{"DstCidrBlock": e.GetDestinationCidr(), "NextHop": e.GetNextHopId()}
}

func (deletion) judge(want, got *vpcv1.RouteEntry) (verdict, error) {
	switch {
	case got == nil:
		return done, nil
	case want.GetRouteEntryId() == "" && got.GetNextHopId() != want.GetNextHopId():
		return done, nil // The destination was given to another next hop in the meantime.
	case got.GetStatus() == "Deleting":
		return waiting, nil
	default:
		return todo, nil
	}
}

func (deletion) refused(err error) verdict {
	switch {
	case rpcerr.ReasonOf(err) == rpcerr.RouteNotFound:
		return done
	case cloud.Busy(err):
		return todo
	default:
		return failed
	}
}
