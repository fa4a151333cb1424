package dataplane

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func idle(targetID) int { return 0 }

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
		chosen, _ := s.pick(scheduler, among, 0, idle)
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
		{"wlc", []int{100, 100}, "000"}, // nobody ever has a connection
		{"wlc", []int{1, 100}, "111"},
	}
	for _, tt := range tests {
		if got := names(&schedule{}, tt.scheduler, targets(tt.weights...), len(tt.want)); got != tt.want {
			t.Errorf("%s %v: %s, want %s", tt.scheduler, tt.weights, got, tt.want)
		}
	}
	if _, ok := (&schedule{}).pick("wrr", nil, 0, idle); ok {
		t.Error("one of no servers was chosen")
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
			chosen, _ := s.pick("wrr", among, 0, idle)
			got[chosen.id]++
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("choices (-want +got):\n%s", diff)
		}
	})
}

// Nobody has so many connections that another one would still be less loaded with one more.
func TestLeastLoadedFollowsWeights(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		among, s, active := targets(weights(t)...), &schedule{}, map[targetID]int{}
		for range rapid.IntRange(1, 500).Draw(t, "connections") {
			chosen, _ := s.pick("wlc", among, 0, func(id targetID) int { return active[id] })
			active[chosen.id]++
		}
		for _, a := range among {
			for _, b := range among {
				if active[a.id]*b.weight > (active[b.id]+1)*a.weight {
					t.Errorf("%d connections at weight %d, but %d at weight %d", active[a.id], a.weight, active[b.id], b.weight)
				}
			}
		}
	})
}

// A key moves only if its server goes, or to a server that comes.
func TestHashingMovesFewKeys(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := targets(weights(t)...)
		gone := rapid.IntRange(0, len(all)-1).Draw(t, "gone")
		rest := slices.Delete(slices.Clone(all), gone, gone+1)
		for range 50 {
			key := rapid.Uint64().Draw(t, "key")
			before, _ := (&schedule{}).pick("sch", all, key, idle)
			after, ok := (&schedule{}).pick("sch", rest, key, idle)
			if ok && before.id != all[gone].id && after.id != before.id {
				t.Fatalf("key %d moved from %v to %v", key, before.id, after.id)
			}
		}
	})
}

func TestHashingFollowsWeights(t *testing.T) {
	t.Parallel()
	among, got := targets(10, 30), map[string]int{}
	for key := range uint64(10_000) {
		chosen, _ := (&schedule{}).pick("tch", among, mix(key), idle)
		got[chosen.id.server]++
	}
	if n := got["i-1"]; n < 7_200 || n > 7_800 {
		t.Errorf("the server with three quarters of the weight has %d of 10000 keys", n)
	}
}

func TestHashKeys(t *testing.T) {
	t.Parallel()
	at := netip.MustParseAddrPort
	listener := at("127.47.0.1:443")
	quic := func(first byte, id string) []byte {
		if first&0x80 != 0 {
			return []byte(string(first) + "\x00\x00\x00\x01\x08" + id + "rest")
		}
		return append([]byte{first}, id+"rest"...)
	}
	tests := []struct {
		name, scheduler string
		a, b            netip.AddrPort
		payloadA        []byte
		payloadB        []byte
		same            bool
	}{
		{"source address only", "sch", at("127.0.0.1:1"), at("127.0.0.1:2"), nil, nil, true},
		{"other source address", "sch", at("127.0.0.1:1"), at("127.0.0.2:1"), nil, nil, false},
		{"ports too", "tch", at("127.0.0.1:1"), at("127.0.0.1:2"), nil, nil, false},
		{"same four", "tch", at("127.0.0.1:1"), at("127.0.0.1:1"), nil, nil, true},
		{"same connection", "qch", at("127.0.0.1:1"), at("127.0.0.2:2"), quic(0x40, "12345678"), quic(0x41, "12345678"), true},
		{"other connection", "qch", at("127.0.0.1:1"), at("127.0.0.1:1"), quic(0x40, "12345678"), quic(0x40, "87654321"), false},
		{"no connection", "qch", at("127.0.0.1:1"), at("127.0.0.1:2"), []byte("x"), []byte("y"), true},
	}
	for _, tt := range tests {
		got := hashKey(tt.scheduler, tt.a, listener, tt.payloadA) == hashKey(tt.scheduler, tt.b, listener, tt.payloadB)
		if got != tt.same {
			t.Errorf("%s: same is %t", tt.name, got)
		}
	}
}

func FuzzQUICConnection(f *testing.F) {
	f.Add([]byte("\xc0\x00\x00\x00\x01\x0812345678"))
	f.Add([]byte("\x4012345678"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, packet []byte) {
		if _, ok := quicConnection(packet); ok && len(packet) < 9 {
			t.Errorf("an id of eight bytes in %q", packet)
		}
	})
}
