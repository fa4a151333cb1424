package route

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/flow"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/vpc"
	"alicloud-controllers.dev/cloudgateway/internal/vpc/vswitch"
)

func route(i int) *vpcv1.RouteEntry {
	return &vpcv1.RouteEntry{
		RouteTableId: "vtb-1", DestinationCidr: fmt.Sprintf("10.%d.%d.0/24", i/250, i%250), NextHopId: fmt.Sprintf("i-%d", i),
	}
}

func routesOf(count int) []*vpcv1.RouteEntry {
	list := make([]*vpcv1.RouteEntry, count)
	for i := range list {
		list[i] = route(i)
	}
	return list
}

// routeWorld is a fake cloud that holds the first entries of routesOf.
func routeWorld(held int) *fakeCloud {
	f := &fakeCloud{settle: 3 * time.Second, entries: map[string]*fakeEntry{}}
	for _, e := range routesOf(held) {
		f.entries[e.GetDestinationCidr()] = &fakeEntry{hop: e.GetNextHopId(), kind: "Custom"}
	}
	return f
}

// held lists what the table holds as "destination hop".
func (f *fakeCloud) held() []string {
	var list []string
	for _, cidr := range slices.Sorted(maps.Keys(f.entries)) {
		list = append(list, cidr+" "+f.entries[cidr].hop)
	}
	return list
}

func service(f cloud.Caller) *Service {
	p := vpc.New(vpc.Config{Caller: f, Locks: &flow.Keyed[string]{}, Logger: slog.New(slog.DiscardHandler)})
	return New(p, vswitch.New(p), 50)
}

// reasons lists the results as "status" or "REASON".
func reasons(results []*vpcv1.RouteEntryResult) []string {
	list := make([]string, len(results))
	for i, r := range results {
		if list[i] = r.GetStatus(); r.GetError() != nil {
			list[i] = r.GetError().GetReason()
		}
	}
	return list
}

func TestCreateWaitsUntilAllAreInForce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := routeWorld(0)
		start := time.Now()
		results, err := service(f).changeRoutes(t.Context(), "vpc-1", routesOf(120), creation{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(slices.Repeat([]string{"Available"}, 120), reasons(results)); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
		if n := len(f.writes); n != 3 {
			t.Errorf("%d writes for 120 entries, want 3", n)
		}
		if took := time.Since(start); took != 9*time.Second {
			t.Errorf("took %s, want three times the cloud's 3 s", took)
		}
	})
}

func TestRouteOutcomes(t *testing.T) {
	once := func(err error) func(openapi.Call, int) error {
		return func(_ openapi.Call, nth int) error {
			if nth == 1 {
				return err
			}
			return nil
		}
	}
	other := route(1)
	other.NextHopId = "i-other"
	gone := route(1)
	gone.NextHopId = "i-gone"
	tests := []struct {
		name    string
		held    int
		prepare func(*fakeCloud)
		remove  bool
		entries []*vpcv1.RouteEntry
		want    []string // reasons
		writes  int
		left    []string
	}{
		{
			name: "an equal entry exists", held: 1, entries: routesOf(2), want: []string{"Available", "Available"}, writes: 1,
			left: []string{"10.0.0.0/24 i-0", "10.0.1.0/24 i-1"},
		},
		{
			name: "the destination has another next hop", held: 2, entries: []*vpcv1.RouteEntry{other, route(2)},
			want: []string{"ROUTE_CONFLICT", "Available"}, writes: 1,
			left: []string{"10.0.0.0/24 i-0", "10.0.1.0/24 i-1", "10.0.2.0/24 i-2"},
		},
		{
			name: "one next hop is gone", entries: []*vpcv1.RouteEntry{route(0), gone}, want: []string{"Available", "INSTANCE_NOT_FOUND"},
			writes: 1, left: []string{"10.0.0.0/24 i-0"},
		},
		{
			name: "the VPC is busy", entries: routesOf(1), prepare: func(f *fakeCloud) { f.before = once(refusal("TaskConflict")) },
			want: []string{"Available"}, writes: 2, left: []string{"10.0.0.0/24 i-0"},
		},
		{
			name: "the answer is lost", entries: routesOf(2), prepare: func(f *fakeCloud) { f.after = once(lost()) },
			want: []string{"Available", "Available"}, writes: 1, left: []string{"10.0.0.0/24 i-0", "10.0.1.0/24 i-1"},
		},
		{
			name: "the call is lost", entries: routesOf(2), prepare: func(f *fakeCloud) { f.before = once(lost()) },
			want: []string{"Available", "Available"}, writes: 2, left: []string{"10.0.0.0/24 i-0", "10.0.1.0/24 i-1"},
		},
		{
			name: "refused as a whole", entries: routesOf(2), prepare: func(f *fakeCloud) { f.before = once(refusal("Forbidden.RAM")) },
			want: []string{"CLOUD_FORBIDDEN", "CLOUD_FORBIDDEN"}, writes: 1,
		},
		{name: "deleted", held: 2, remove: true, entries: routesOf(2), want: []string{"", ""}, writes: 1},
		{name: "gone already", held: 1, remove: true, entries: routesOf(2), want: []string{"", ""}, writes: 1},
		{
			name: "another's by now", held: 2, remove: true, entries: []*vpcv1.RouteEntry{other, route(0)},
			want: []string{"", ""}, writes: 1, left: []string{"10.0.1.0/24 i-1"},
		},
		{
			name: "the answer to the deletion is lost", held: 2, remove: true, entries: routesOf(2),
			prepare: func(f *fakeCloud) { f.after = once(lost()) }, want: []string{"", ""}, writes: 1,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := routeWorld(tt.held)
				if tt.prepare != nil {
					tt.prepare(f)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 150*time.Second)
				defer cancel()
				var op operation = creation{}
				if tt.remove {
					op = deletion{}
				}
				results, err := service(f).changeRoutes(ctx, "vpc-1", tt.entries, op)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, reasons(results)); diff != "" {
					t.Errorf("results (-want +got):\n%s", diff)
				}
				if n := len(f.writes); n != tt.writes {
					t.Errorf("%d writes, want %d", n, tt.writes)
				}
				if diff := cmp.Diff(tt.left, f.held()); diff != "" {
					t.Errorf("table (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestTablesHaveCallsOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := routeWorld(0)
		f.settle = 0
		a, b := route(0), route(1)
		b.RouteTableId = "vtb-2"
		results, err := service(f).changeRoutes(t.Context(), "vpc-1", []*vpcv1.RouteEntry{b, a}, creation{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"Available", "Available"}, reasons(results)); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
		var tables []string
		for _, w := range f.writes {
			tables = append(tables, w.Params["RouteEntries.1.RouteTableId"])
		}
		if diff := cmp.Diff([]string{"vtb-1", "vtb-2"}, tables); diff != "" {
			t.Errorf("tables of the calls (-want +got):\n%s", diff)
		}
	})
}

func TestDeadlineBeforeTheEntriesSettle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := routeWorld(0)
		f.settle = time.Hour
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		results, err := service(f).changeRoutes(ctx, "vpc-1", routesOf(1), creation{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"RESOURCE_BUSY"}, reasons(results)); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
		if got := results[0].GetStatus(); got != "Pending" {
			t.Errorf("status %q, want Pending", got)
		}
		if n := len(f.writes); n != 1 {
			t.Errorf("%d writes of an accepted entry, want 1", n)
		}
	})
}

func TestOneWriterPerVpc(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := routeWorld(0)
		c := service(f)
		first := make(chan struct{})
		go func() {
			defer close(first)
			if _, err := c.changeRoutes(t.Context(), "vpc-1", routesOf(1), creation{}); err != nil {
				t.Error(err)
			}
		}()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.changeRoutes(ctx, "vpc-1", []*vpcv1.RouteEntry{route(7)}, creation{})
		if e, ok := rpcerr.From(err); !ok || e.Code != codes.Aborted || e.Reason != rpcerr.ResourceBusy {
			t.Errorf("got %v, want RESOURCE_BUSY", err)
		}
		<-first
		if n := len(f.writes); n != 1 {
			t.Errorf("%d writes, want 1: the second caller's deadline ended in the queue", n)
		}
	})
}

func TestNextHopOfAnEntry(t *testing.T) {
	hop := func(id, kind string) hopAnswer { return hopAnswer{NextHopID: id, NextHopType: kind, Weight: 7} }
	one, two, none := entryAnswer{InstanceID: "i-old", NextHopType: "Instance"}, entryAnswer{}, entryAnswer{InstanceID: "i-old", NextHopType: "HaVip"}
	one.NextHops.NextHop = append(one.NextHops.NextHop, hop("eni-1", "NetworkInterface"))
	two.NextHops.NextHop = append(two.NextHops.NextHop, hop("i-1", "Instance"), hop("i-2", "Instance"))
	for _, tt := range []struct {
		answer   entryAnswer
		id, kind string
		several  bool
	}{{one, "eni-1", "NetworkInterface", false}, {two, "", "", true}, {none, "i-old", "HaVip", false}} {
		got := tt.answer.decode("vtb-1")
		if got.GetNextHopId() != tt.id || got.GetNextHopType() != tt.kind || got.GetMultipleNextHops() != tt.several || got.GetRouteTableId() != "vtb-1" {
			t.Errorf("got %v, want next hop %q %q, several: %t", got, tt.id, tt.kind, tt.several)
		}
		if want := `"i-1" (weight 7) and "i-2" (weight 7)`; tt.several && hops(got) != want {
			t.Errorf("next hops %s, want %s", hops(got), want)
		}
	}
}
