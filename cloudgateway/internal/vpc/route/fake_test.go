package route

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/services/rpcerr"
)

// fakeCloud holds the entries of one route table. Changes take settle to come into force, and nothing else may be changed
// meanwhile.
type fakeCloud struct {
	settle time.Duration
	// before and after stand in the way of a write: before refuses it, after loses its answer. Nil lets it pass.
	before, after func(call openapi.Call, nth int) error

	mu      sync.Mutex
	writes  []openapi.Call
	reads   int
	entries map[string]*fakeEntry
	busy    time.Time
}

type fakeEntry struct {
	hop, kind string
	creating  bool
	deleting  bool
	since     time.Time
}

func (f *fakeCloud) Do(_ context.Context, call openapi.Call, out any) (openapi.Result, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.settleAll()
	if call.Action == "DescribeRouteEntryList" {
		f.reads++
		return openapi.Result{}, remarshal(f.list(), out)
	}
	f.writes = append(f.writes, call)
	nth := len(f.writes)
	if f.before != nil {
		if err := f.before(call, nth); err != nil {
			return openapi.Result{}, err
		}
	}
	if time.Now().Before(f.busy) {
		return openapi.Result{}, refusal("TaskConflict")
	}
	answer := f.change(call)
	f.busy = time.Now().Add(f.settle)
	f.settleAll()
	if f.after != nil {
		if err := f.after(call, nth); err != nil {
			return openapi.Result{}, err
		}
	}
	return openapi.Result{}, remarshal(answer, out)
}

func (f *fakeCloud) change(call openapi.Call) any {
	var failed []map[string]string
	for i := 1; ; i++ {
		member := func(name string) string { return call.Params["RouteEntries."+strconv.Itoa(i)+"."+name] }
		if member("RouteTableId") == "" {
			return map[string]any{"FailedRouteEntries": failed}
		}
		cidr, hop := member("DstCidrBlock"), member("NextHop")
		refuse := func(code string) {
			failed = append(failed, map[string]string{"DstCidrBlock": cidr, "NextHop": hop, "FailedCode": code, "FailedMessage": code})
		}
		entry := f.entries[cidr]
		switch {
		case call.Action == "CreateRouteEntries" && entry != nil:
			refuse("VPC_ROUTE_ENTRY_CIDR_BLOCK_DUPLICATE")
		case call.Action == "CreateRouteEntries" && hop == "i-gone":
			refuse("InvalidNextHop.NotFound")
		case call.Action == "CreateRouteEntries":
			f.entries[cidr] = &fakeEntry{hop: hop, kind: "Custom", creating: true, since: time.Now()}
		case entry == nil || entry.hop != hop:
			refuse("VPC_ROUTER_ENTRY_NOT_EXIST")
		default:
			entry.deleting, entry.since = true, time.Now()
		}
	}
}

// settleAll ends the changes whose time is over.
func (f *fakeCloud) settleAll() {
	for cidr, e := range f.entries {
		if time.Since(e.since) < f.settle {
			continue
		}
		e.creating = false
		if e.deleting {
			delete(f.entries, cidr)
		}
	}
}

func (f *fakeCloud) list() any {
	var list []any
	for cidr, e := range f.entries {
		status := "Available"
		switch {
		case e.deleting:
			status = "Deleting"
		case e.creating:
			status = "Pending"
		}
		list = append(list, map[string]any{
			"RouteEntryId": "rte-" + cidr, "DestinationCidrBlock": cidr, "Status": status, "Type": e.kind,
			"NextHops": map[string]any{"NextHop": []any{map[string]any{"NextHopId": e.hop, "NextHopType": "Instance"}}},
		})
	}
	return map[string]any{"RouteEntrys": map[string]any{"RouteEntry": list}}
}

func remarshal(from, to any) error {
	if to == nil {
		return nil
	}
	data, err := json.Marshal(from)
	if err != nil {
		return fmt.Errorf("fake: %w", err)
	}
	return json.Unmarshal(data, to)
}

func refusal(code string) error {
	return openapi.ItemError(openapi.VPC, "CreateRouteEntries", code, code, "")
}

func lost() error {
	return &rpcerr.Error{Code: codes.Unknown, Reason: rpcerr.OutcomeUnknown, Message: "connection reset"}
}
