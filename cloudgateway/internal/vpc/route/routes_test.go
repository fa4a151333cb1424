package route

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
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

// service makes a Service for a test.
func service(t *testing.T, f cloud.Caller) *Service {
	t.Helper()
	p := vpc.New(f, cloud.Shared{Locks: &flow.Keyed[string]{}, Logger: slog.New(slog.DiscardHandler)})
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
		results, err := service(t, f).change(t.Context(), "vpc-1", routesOf(120), false)
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
				results, err := service(t, f).change(ctx, "vpc-1", tt.entries, tt.remove)
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
		results, err := service(t, f).change(t.Context(), "vpc-1", []*vpcv1.RouteEntry{b, a}, false)
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
		if diff := cmp.Diff([]string{"vtb-2", "vtb-1"}, tables); diff != "" {
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
		results, err := service(t, f).change(ctx, "vpc-1", routesOf(1), false)
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

// as is the context of a caller whose calls don't go together with those of others.
func as(ctx context.Context, caller string) context.Context {
	return batch.WithLane(ctx, caller, caller, 0)
}

func TestOneWriterPerVpc(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := routeWorld(0)
		c := service(t, f)
		first := make(chan struct{})
		go func() {
			defer close(first)
			if _, err := c.change(as(t.Context(), "one"), "vpc-1", routesOf(1), false); err != nil {
				t.Error(err)
			}
		}()
		<-time.After(time.Second)
		ctx, cancel := context.WithTimeout(as(t.Context(), "other"), time.Second)
		defer cancel()
		results, err := c.change(ctx, "vpc-1", []*vpcv1.RouteEntry{route(7)}, false)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"RESOURCE_BUSY"}, reasons(results)); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
		if err := ctx.Err(); err != nil {
			t.Errorf("the answer comes after the deadline: %v", err)
		}
		<-first
		if n := len(f.writes); n != 1 {
			t.Errorf("%d writes, want 1: the second caller's deadline ended in the queue", n)
		}
	})
}

// TestDeletedBetweenTwoCreations: a creation after an answered deletion makes the route again, also while the batch of
// the first creation goes on with changes of another table.
func TestDeletedBetweenTwoCreations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := routeWorld(0)
		f.settle = 2 * time.Second
		s := service(t, f)
		as := func(priority flow.Priority) context.Context {
			return batch.WithLane(flow.WithCaller(t.Context(), flow.Caller{Name: "routecontroller", Priority: priority}),
				"routecontroller", "", int(priority))
		}
		change := func(what string, priority flow.Priority, remove bool, entries ...*vpcv1.RouteEntry) {
			results, err := s.change(as(priority), "vpc-1", entries, remove)
			if err != nil || results[0].GetError() != nil {
				t.Errorf("%s: %v %v", what, err, results)
			}
		}
		var others []*vpcv1.RouteEntry
		for i := range 40 {
			others = append(others, &vpcv1.RouteEntry{RouteTableId: "vtb-2", DestinationCidr: fmt.Sprintf("10.1.%d.0/24", i), NextHopId: "i-1"})
		}
		var all sync.WaitGroup
		all.Go(func() { change("the first creation", flow.Backend, false, route(0)) })
		<-time.After(5 * time.Millisecond)
		all.Go(func() { change("others, in another table", flow.Backend, false, others...) })
		<-time.After(time.Second)
		all.Go(func() {
			change("the deletion", flow.Deletion, true, route(0))
			change("the creation after it", flow.Backend, false, route(0))
		})
		all.Wait()
		if f.entries[route(0).GetDestinationCidr()] == nil {
			t.Errorf("the route is not there after %d writes", len(f.writes))
		}
	})
}

// TestSameEntryTwice: two requests that create or delete the same entry at the same time both succeed, and no call names it twice.
func TestSameEntryTwice(t *testing.T) {
	for _, remove := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := routeWorld(map[bool]int{true: 1}[remove])
			s := service(t, f)
			var all sync.WaitGroup
			for range 2 {
				all.Go(func() {
					results, err := s.change(t.Context(), "vpc-1", routesOf(1), remove)
					if err != nil || results[0].GetError() != nil {
						t.Errorf("remove %t: %v, %v", remove, err, results)
					}
				})
			}
			all.Wait()
			for _, call := range f.writes {
				if call.Params["RouteEntries.2.DstCidrBlock"] != "" {
					t.Errorf("remove %t: %v names the entry twice", remove, call.Params)
				}
			}
			if there := f.entries[route(0).GetDestinationCidr()] != nil; there == remove {
				t.Errorf("remove %t: the entry is there: %t", remove, there)
			}
		})
	}
}

// TestBatchOutlivesItsFirst: a request that leaves does not end the changes of others in the same calls; when all have left, they end.
func TestBatchOutlivesItsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := routeWorld(0)
		s := service(t, f)
		first, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() {
			results, err := s.change(first, "vpc-1", routesOf(1), false)
			if err != nil || results[0].GetError() == nil {
				t.Errorf("the one that left: %v, %v", err, results)
			}
		})
		all.Go(func() {
			results, err := s.change(t.Context(), "vpc-1", []*vpcv1.RouteEntry{route(1)}, false)
			if err != nil || results[0].GetStatus() != "Available" {
				t.Errorf("the other: %v, %v", err, results)
			}
		})
		<-time.After(time.Second)
		leave()
		all.Wait()
		if len(f.writes) != 1 {
			t.Errorf("%d writes, want 1", len(f.writes))
		}
		second, leave := context.WithCancel(t.Context())
		all.Go(func() {
			if _, err := s.change(second, "vpc-1", []*vpcv1.RouteEntry{route(2)}, false); err != nil {
				t.Error(err)
			}
		})
		<-time.After(time.Second)
		leave()
		all.Wait()
		start := time.Now()
		if _, err := s.change(t.Context(), "vpc-1", []*vpcv1.RouteEntry{route(3)}, false); err != nil || time.Since(start) > 6*time.Second {
			t.Errorf("the next change after %s: %v", time.Since(start), err)
		}
	})
}

// TestCallsOfManyRoutes: writes are as few as the cloud allows, and what was written is read back without the rest of the table.
func TestCallsOfManyRoutes(t *testing.T) {
	const thousand = 1000
	split := func(entries []*vpcv1.RouteEntry, size int) [][]*vpcv1.RouteEntry {
		return slices.Collect(slices.Chunk(entries, size))
	}
	tests := []struct {
		name          string
		held          int
		requests      [][]*vpcv1.RouteEntry
		remove        bool
		writes, reads int
		first         int // writes before the first answer, with the one that may begin while the caller looks
		page          int // most entries of an answer
	}{
		{name: "thousand into an empty table", requests: split(routesOf(thousand), thousand), writes: 20, reads: 29, first: 20},
		{name: "thousand in requests of fifty", requests: split(routesOf(thousand), 50), writes: 20, reads: 29, first: 3},
		{name: "thousand in requests of one", requests: split(routesOf(thousand), 1), writes: 20, reads: 29, first: 3},
		{name: "thousand, and pages as small as documented", requests: split(routesOf(thousand), 50), writes: 20, reads: 49, first: 3, page: 100},
		{name: "one more of 5 000", held: 5000, requests: split(routesOf(5001)[5000:], 1), writes: 1, reads: 13, first: 1},
		{name: "300 removed of 5 000", held: 5000, requests: split(routesOf(300), 300), remove: true, writes: 6, reads: 27, first: 6},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := routeWorld(tt.held)
				f.page = tt.page
				s := service(t, f)
				// Who adds routes looks at the table before.
				if _, err := s.ListRouteEntries(t.Context(), &vpcv1.ListRouteEntriesRequest{RouteTableId: "vtb-1"}); err != nil {
					t.Fatal(err)
				}
				var all sync.WaitGroup
				answers := make(chan int, len(tt.requests))
				for _, entries := range tt.requests {
					all.Go(func() {
						ctx, cancel := context.WithTimeout(t.Context(), 150*time.Second)
						defer cancel()
						results, err := s.change(ctx, "vpc-1", entries, tt.remove)
						answers <- f.writesSoFar()
						if err != nil {
							t.Error(err)
						}
						for _, r := range results {
							if r.GetError() != nil {
								t.Errorf("got %v", r.GetError())
								return
							}
						}
					})
				}
				all.Wait()
				if writes, reads, first := len(f.writes), f.reads, <-answers; writes > tt.writes || reads > tt.reads || first > tt.first {
					t.Errorf("%d writes, %d reads, %d writes before the first answer, want at most %d, %d and %d",
						writes, reads, first, tt.writes, tt.reads, tt.first)
				}
				left := tt.held
				for _, entries := range tt.requests {
					if left += len(entries); tt.remove {
						left -= 2 * len(entries)
					}
				}
				if got := len(f.held()); got != left {
					t.Errorf("%d entries in the table, want %d", got, left)
				}
			})
		})
	}
}

// TestDeadlineAmongManyRoutes: what was done by the deadline is reported as such, and of the rest it is said that it was not finished.
func TestDeadlineAmongManyRoutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := routeWorld(0)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		results, err := service(t, f).change(ctx, "vpc-1", routesOf(1000), false)
		if err != nil || ctx.Err() != nil {
			t.Fatal(err, ctx.Err())
		}
		count := map[string]int{}
		for _, r := range reasons(results) {
			count[r]++
		}
		if done := count["Available"]; done != len(f.held())/100*100 || done < 200 || count["RESOURCE_BUSY"] != 1000-done {
			t.Errorf("results %v with %d entries in the table", count, len(f.held()))
		}
	})
}

// TestEntriesKnownByTheirIDs: the request has nothing of an entry but its id. A few are read one by one, many with the table.
func TestEntriesKnownByTheirIDs(t *testing.T) {
	for _, tt := range []struct{ count, reads int }{{1, 4}, {40, 5}} {
		synctest.Test(t, func(t *testing.T) {
			f := routeWorld(100)
			entries := make([]*vpcv1.RouteEntry, tt.count)
			for i := range entries {
				entries[i] = &vpcv1.RouteEntry{RouteTableId: "vtb-1", RouteEntryId: "rte-" + route(i).GetDestinationCidr()}
			}
			results, err := service(t, f).change(t.Context(), "vpc-1", entries, true)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(make([]string, tt.count), reasons(results)); diff != "" {
				t.Errorf("results (-want +got):\n%s", diff)
			}
			if n, left := f.reads, len(f.held()); n > tt.reads || left != 100-tt.count {
				t.Errorf("%d reads and %d entries left, want %d and %d", n, left, tt.reads, 100-tt.count)
			}
		})
	}
}

// TestIDsAndDestinations: an id says which entry is deleted. What the request says beside it has to be true, and an
// entry that is not in the table is not deleted, whatever becomes of answers.
func TestIDsAndDestinations(t *testing.T) {
	id := "rte-" + route(0).GetDestinationCidr()
	for _, tt := range []struct {
		name   string
		entry  *vpcv1.RouteEntry
		after  func(openapi.Call, int) error
		want   string
		writes int
		left   int
	}{
		{name: "the right destination", entry: &vpcv1.RouteEntry{RouteEntryId: id, DestinationCidr: route(0).GetDestinationCidr()}, writes: 1},
		{name: "another destination", entry: &vpcv1.RouteEntry{RouteEntryId: id, DestinationCidr: "10.9.9.0/24"},
			want: "ROUTE_CONFLICT", left: 1},
		{name: "another next hop", entry: &vpcv1.RouteEntry{RouteEntryId: id, NextHopId: "i-other"}, want: "ROUTE_CONFLICT", left: 1},
		{name: "an entry of another table", entry: &vpcv1.RouteEntry{RouteEntryId: "rte-10.9.9.0/24"}, left: 1},
		{
			name: "a lost answer", entry: &vpcv1.RouteEntry{RouteEntryId: id}, writes: 1,
			after: func(_ openapi.Call, nth int) error { return map[int]error{1: lost()}[nth] },
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := routeWorld(1)
				f.after = tt.after
				tt.entry.RouteTableId = "vtb-1"
				results, err := service(t, f).change(t.Context(), "vpc-1", []*vpcv1.RouteEntry{tt.entry}, true)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff([]string{tt.want}, reasons(results)); diff != "" || len(f.writes) != tt.writes || len(f.held()) != tt.left {
					t.Errorf("%d writes, %d left, want %d and %d; results (-want +got):\n%s", len(f.writes), len(f.held()), tt.writes, tt.left, diff)
				}
			})
		})
	}
}

// TestTableOfAnotherVpc: the VPC that a caller names orders its writes, so it has to be the table's.
func TestTableOfAnotherVpc(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := routeWorld(0)
		_, err := service(t, f).change(t.Context(), "vpc-other", routesOf(1), false)
		if e, ok := rpcerr.From(err); !ok || e.Code != codes.InvalidArgument {
			t.Errorf("got %v, want INVALID_ARGUMENT", err)
		}
		if len(f.writes) > 0 {
			t.Errorf("writes: %v", f.writes)
		}
	})
}

func TestNextHopOfAnEntry(t *testing.T) {
	const (
		one = `{"InstanceId":"i-old","NextHopType":"Instance","NextHops":{"NextHop":[{"NextHopId":"eni-1",` +
			`"NextHopType":"NetworkInterface","Weight":7}]}}`
		two = `{"NextHops":{"NextHop":[{"NextHopId":"i-1","NextHopType":"Instance","Weight":7},
			{"NextHopId":"i-2","NextHopType":"Instance","Weight":7}]}}`
		none = `{"InstanceId":"i-old","NextHopType":"HaVip","NextHops":{"NextHop":[]}}`
	)
	for _, tt := range []struct {
		answer, id, kind string
		several          bool
	}{{one, "eni-1", "NetworkInterface", false}, {two, "", "", true}, {none, "i-old", "HaVip", false}} {
		got, err := decode([]byte(tt.answer))
		if err != nil {
			t.Fatal(err)
		}
		if got.GetNextHopId() != tt.id || got.GetNextHopType() != tt.kind || got.GetMultipleNextHops() != tt.several {
			t.Errorf("got %v, want next hop %q %q, several: %t", got, tt.id, tt.kind, tt.several)
		}
		if want := `"i-1" (weight 7) and "i-2" (weight 7)`; tt.several && hops(got) != want {
			t.Errorf("next hops %s, want %s", hops(got), want)
		}
	}
}
