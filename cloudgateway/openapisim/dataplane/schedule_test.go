package dataplane

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func targets(weights ...int) []target {
	out := make([]target, 0, len(weights))
	for i, weight := range weights {
		addr := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 1, byte(i)}), 80)
		out = append(out, target{id: targetID{server: fmt.Sprintf("i-%d", i), addr: addr}, weight: weight})
	}
	return out
}

// names picks n times and returns the numbers of the servers.
func names(s *schedule, scheduler string, among []target, n int) string {
	out := ""
	for range n {
		chosen, _ := s.pick(&pool{scheduler: scheduler}, among, demand{})
		out += chosen.id.server[2:]
	}
	return out
}

func TestSchedulersTakeTurns(t *testing.T) {
	t.Parallel()
	tests := []struct {
		scheduler string
		weights   []int
		want      string
	}{
		{"rr", []int{100, 1}, "010101"},
		{"wrr", []int{5, 1, 1}, "0010200" + "0010200"},
		{"wrr", []int{100, 100}, "0101"},
		{"", []int{2, 1}, "010"},
	}
	for _, tt := range tests {
		if got := names(&schedule{}, tt.scheduler, targets(tt.weights...), len(tt.want)); got != tt.want {
			t.Errorf("%s %v: %s, want %s", tt.scheduler, tt.weights, got, tt.want)
		}
	}
	if _, ok := (&schedule{}).pick(&pool{}, nil, demand{}); ok {
		t.Error("one of no servers was chosen")
	}
}

func from(client string) demand { return demand{client: netip.MustParseAddrPort(client)} }

// A client keeps its server as long as it comes again in time, and as long as the server can be used.
func TestPersistence(t *testing.T) {
	t.Parallel()
	p, s, now := &pool{scheduler: "rr", persistence: time.Minute}, &schedule{}, time.Unix(1e9, 0)
	among := targets(1, 1)
	pick := func(client string, after time.Duration) string {
		now = now.Add(after)
		chosen, _ := s.pick(p, among, demand{client: netip.MustParseAddrPort(client), now: now})
		return chosen.id.server
	}
	steps := []struct {
		client string
		after  time.Duration
		want   string
	}{
		{"127.0.0.1:1", 0, "i-0"},
		{"127.0.0.2:1", 0, "i-1"},
		{"127.0.0.1:2", 59 * time.Second, "i-0"},
		{"127.0.0.1:3", 59 * time.Second, "i-0"}, // counted from the last connection
		{"127.0.0.2:2", time.Second, "i-0"},      // too late: the next one in turn
		{"127.0.0.1:4", 61 * time.Second, "i-1"}, // too late
		{"127.0.0.1:5", 30 * time.Second, "i-1"},
	}
	for i, step := range steps {
		if got := pick(step.client, step.after); got != step.want {
			t.Errorf("step %d: %s, want %s", i, got, step.want)
		}
	}
	among = among[:1]
	if got := pick("127.0.0.1:6", 0); got != "i-0" {
		t.Errorf("without its server a client gets %s", got)
	}
	p.persistence = 0
	among = targets(1, 1)
	if one, two := pick("127.0.0.1:7", 0), pick("127.0.0.1:8", 0); one == two {
		t.Errorf("without persistence both connections go to %s", one)
	}
}

// What is remembered of clients is bounded.
func TestPersistenceIsBounded(t *testing.T) {
	t.Parallel()
	s, now := &schedule{}, time.Unix(1e9, 0)
	address := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}) }
	for i := range maxKept + 1000 {
		until := now.Add(time.Minute)
		if i < 500 {
			until = now // over already
		}
		s.keep(address(i), assignment{until: until}, now)
	}
	_, last := s.kept[address(maxKept+999)]
	if len(s.kept) > maxKept || !last {
		t.Errorf("%d clients are remembered, the last one: %t", len(s.kept), last)
	}
}

// By hash, a client's address (sch) or connection (tch) has its server, each server as many as its weight says, and a server that
// goes changes the others' clients not at all.
func TestSchedulersByHash(t *testing.T) {
	t.Parallel()
	among := targets(3, 1)
	for _, scheduler := range []string{"sch", "qch", "tch"} {
		s, got := &schedule{}, map[string]int{}
		for i := range 4000 {
			client := fmt.Sprintf("10.0.%d.%d:%d", i>>8, i&255, 1000+i)
			chosen, _ := s.pick(&pool{scheduler: scheduler}, among, from(client))
			got[chosen.id.server]++
			again, _ := (&schedule{}).pick(&pool{scheduler: scheduler}, among, from(client))
			if alone, _ := s.pick(&pool{scheduler: scheduler}, among[:1], from(client)); again.id != chosen.id ||
				chosen.id == among[0].id && alone.id != chosen.id {
				t.Fatalf("%s: %s has %s, then %s, then %s", scheduler, client, chosen.id.server, again.id.server, alone.id.server)
			}
		}
		if n := got["i-0"]; n < 2800 || n > 3200 {
			t.Errorf("%s: the server of weight 3 of 4 has %d of 4000", scheduler, n)
		}
	}
	different := map[string]bool{}
	for port := 1000; port < 1100; port++ {
		client := fmt.Sprintf("10.0.0.1:%d", port)
		one, _ := (&schedule{}).pick(&pool{scheduler: "sch"}, among, from(client))
		other, _ := (&schedule{}).pick(&pool{scheduler: "tch"}, among, from(client))
		different["sch "+one.id.server], different["tch "+other.id.server] = true, true
	}
	if len(different) != 3 {
		t.Errorf("the connections of one client go to %v", different)
	}
}

func TestLeastConnections(t *testing.T) {
	t.Parallel()
	among := targets(100, 50)
	for _, tt := range []struct{ first, second, want int }{{0, 0, 0}, {1, 0, 1}, {2, 1, 0}, {3, 1, 1}, {3, 2, 0}} {
		active := map[targetID]int{among[0].id: tt.first, among[1].id: tt.second}
		chosen, _ := (&schedule{}).pick(&pool{scheduler: "wlc"}, among, demand{active: func(id targetID) int { return active[id] }})
		if chosen.id != among[tt.want].id {
			t.Errorf("%d and %d connections: %s", tt.first, tt.second, chosen.id.server)
		}
	}
}

func weights(t *rapid.T) []int {
	return rapid.SliceOfN(rapid.IntRange(1, 100), 1, 12).Draw(t, "weights")
}

// In a round of the sum of weights every server comes as often as its weight says.
func TestWeightedIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		among := targets(weights(t)...)
		s, got, want, total := &schedule{}, map[targetID]int{}, map[targetID]int{}, 0
		for _, target := range among {
			want[target.id] = target.weight
			total += target.weight
		}
		for range total {
			chosen, _ := s.pick(&pool{scheduler: "wrr"}, among, demand{})
			got[chosen.id]++
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("choices (-want +got):\n%s", diff)
		}
	})
}
