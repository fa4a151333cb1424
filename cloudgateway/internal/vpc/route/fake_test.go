package route

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/proto/rpcerr"
)

// fakeCloud holds the entries of one route table. Changes take settle to come into force, and nothing else may be changed
// meanwhile.
type fakeCloud struct {
	settle time.Duration
	// page bounds how many entries an answer has; 0: as many as are asked for.
	page int
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
		return openapi.Result{}, remarshal(f.list(call.Params), out)
	}
	if call.Action == "DescribeRouteTableList" {
		return openapi.Result{}, remarshal(tableList(call.Params["RouteTableId"]), out)
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

func (f *fakeCloud) writesSoFar() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.writes)
}

func (f *fakeCloud) change(call openapi.Call) any {
	var failed []map[string]string
	for i := 1; ; i++ {
		member := func(name string) string { return call.Params["RouteEntries."+strconv.Itoa(i)+"."+name] }
		if member("RouteTableId") == "" {
			return map[string]any{"FailedRouteEntries": failed}
		}
		cidr, hop := member("DstCidrBlock"), member("NextHop")
		if id := member("RouteEntryId"); id != "" {
			cidr = strings.TrimPrefix(id, "rte-")
			hop = f.entries[cidr].hop
		}
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

// list is a page of the entries that match, in the order of their destinations.
func (f *fakeCloud) list(params map[string]string) any {
	wanted := map[string]bool{}
	for i := 1; params["DestCidrBlockList."+strconv.Itoa(i)] != ""; i++ {
		wanted[params["DestCidrBlockList."+strconv.Itoa(i)]] = true
	}
	cidrs := slices.Sorted(maps.Keys(f.entries))
	if len(wanted) > 0 {
		cidrs = slices.DeleteFunc(cidrs, func(cidr string) bool { return !wanted[cidr] })
	}
	if id := params["RouteEntryId"]; id != "" {
		cidrs = slices.DeleteFunc(cidrs, func(cidr string) bool { return "rte-"+cidr != id })
	}
	first, _ := strconv.Atoi(params["NextToken"])
	size, _ := strconv.Atoi(params["MaxResult"])
	if f.page > 0 {
		size = min(size, f.page)
	}
	last, next := min(first+size, len(cidrs)), ""
	if last < len(cidrs) {
		next = strconv.Itoa(last)
	}
	var list []any
	for _, cidr := range cidrs[first:last] {
		e := f.entries[cidr]
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
	return map[string]any{"NextToken": next, "RouteEntrys": map[string]any{"RouteEntry": list}}
}

func tableList(id string) any {
	table := map[string]any{"RouteTableId": id, "VpcId": "vpc-1", "Status": "Available"}
	return map[string]any{"TotalCount": 1, "RouterTableList": map[string]any{"RouterTableListType": []any{table}}}
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
