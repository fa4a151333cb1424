// Package apply carries out plans: one batch call for what goes, one for what comes, per table.
package apply

import (
	"context"
	"fmt"
	"net/netip"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/routecontroller/internal/table"
)

// Config is what an Applier needs.
type Config struct {
	Routes vpcv1.RouteServiceClient
	VPCID  string
	// ClusterID goes into the mark of created entries.
	ClusterID string
}

// Applier changes route tables.
type Applier struct{ cfg Config }

// New makes an Applier.
func New(cfg Config) *Applier { return &Applier{cfg: cfg} }

// Result says what was done. What is in neither list of a kind was not tried.
type Result struct {
	Created      []table.Entry
	Deleted      []table.Entry
	CreateFailed []CreateFailure
	DeleteFailed []DeleteFailure
}

// CreateFailure is a route that could not be created.
type CreateFailure struct {
	Route table.Route
	Err   error
}

// DeleteFailure is an entry that could not be deleted.
type DeleteFailure struct {
	Entry table.Entry
	Err   error
}

// Err sums the failures up in one error that wraps the first of them; nil if there was none.
func (r Result) Err() error {
	failed := len(r.CreateFailed) + len(r.DeleteFailed)
	if failed == 0 {
		return nil
	}
	var first error
	if len(r.DeleteFailed) > 0 {
		first = fmt.Errorf("delete route %s: %w", r.DeleteFailed[0].Entry.CIDR, r.DeleteFailed[0].Err)
	} else {
		first = fmt.Errorf("create route %s of node %s: %w", r.CreateFailed[0].Route.CIDR, r.CreateFailed[0].Route.Node,
			r.CreateFailed[0].Err)
	}
	return fmt.Errorf("%d of %d changes failed, the first: %w", failed, failed+len(r.Created)+len(r.Deleted), first)
}

// Delete deletes entries of one table.
func (a *Applier) Delete(ctx context.Context, tableID string, entries []table.Entry) Result {
	var result Result
	if len(entries) == 0 {
		return result
	}
	req := &vpcv1.BatchDeleteRouteEntriesRequest{VpcId: a.cfg.VPCID}
	for _, entry := range entries {
		req.RouteEntries = append(req.RouteEntries, &vpcv1.RouteEntry{
			RouteTableId: tableID, DestinationCidr: entry.CIDR.String(), NextHopId: entry.InstanceID,
		})
	}
	resp, err := a.cfg.Routes.BatchDeleteRouteEntries(ctx, req)
	errs := itemErrors(err, len(entries), resp.GetResults())
	for i, entry := range entries {
		if errs[i] != nil {
			result.DeleteFailed = append(result.DeleteFailed, DeleteFailure{Entry: entry, Err: errs[i]})
			continue
		}
		result.Deleted = append(result.Deleted, entry)
	}
	return result
}

// Create creates routes in one table.
func (a *Applier) Create(ctx context.Context, tableID string, routes []table.Route) Result {
	var result Result
	if len(routes) == 0 {
		return result
	}
	req := &vpcv1.BatchCreateRouteEntriesRequest{VpcId: a.cfg.VPCID}
	for _, route := range routes {
		req.RouteEntries = append(req.RouteEntries, &vpcv1.RouteEntry{
			RouteTableId: tableID, DestinationCidr: route.CIDR.String(), NextHopId: route.InstanceID,
			NextHopType: table.NextHopInstance, Description: table.Mark(a.cfg.ClusterID, route.Node),
		})
	}
	resp, err := a.cfg.Routes.BatchCreateRouteEntries(ctx, req)
	results := resp.GetResults()
	errs := itemErrors(err, len(routes), results)
	for i, route := range routes {
		if errs[i] != nil {
			result.CreateFailed = append(result.CreateFailed, CreateFailure{Route: route, Err: errs[i]})
			continue
		}
		result.Created = append(result.Created, table.Entry{
			Key: route.Key, NextHop: route.InstanceID, Description: req.GetRouteEntries()[i].GetDescription(),
			Available: table.IsAvailable(results[i].GetStatus()),
		})
	}
	return result
}

// Apply deletes and then creates. A route whose place could not be freed is not tried, it fails with the deletion.
func (a *Applier) Apply(ctx context.Context, tableID string, remove []table.Entry, create []table.Route) Result {
	result := a.Delete(ctx, tableID, remove)
	blocked := map[netip.Prefix]error{}
	for _, failure := range result.DeleteFailed {
		blocked[failure.Entry.CIDR] = failure.Err
	}
	free := make([]table.Route, 0, len(create))
	for _, route := range create {
		if err := blocked[route.CIDR]; err != nil {
			result.CreateFailed = append(result.CreateFailed, CreateFailure{Route: route, Err: err})
			continue
		}
		free = append(free, route)
	}
	created := a.Create(ctx, tableID, free)
	result.Created = created.Created
	result.CreateFailed = append(result.CreateFailed, created.CreateFailed...)
	return result
}

// itemErrors gives one error per item, of the call or of the item. A short answer is an error of all: its results can't be
// matched with the items.
func itemErrors(callErr error, n int, results []*vpcv1.RouteEntryResult) []error {
	errs := make([]error, n)
	if callErr == nil && len(results) != n {
		callErr = fmt.Errorf("gateway answered %d results for %d entries", len(results), n)
	}
	for i := range errs {
		if callErr != nil {
			errs[i] = callErr
			continue
		}
		errs[i] = rpcerr.FromItem(results[i].GetError())
	}
	return errs
}
