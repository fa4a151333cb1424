package dataplane

import (
	"fmt"
	"net/netip"
	"testing"

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
		chosen, _ := s.pick(scheduler, among)
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
		{"wlc", []int{2, 1}, "010"}, // like all that is not rr
	}
	for _, tt := range tests {
		if got := names(&schedule{}, tt.scheduler, targets(tt.weights...), len(tt.want)); got != tt.want {
			t.Errorf("%s %v: %s, want %s", tt.scheduler, tt.weights, got, tt.want)
		}
	}
	if _, ok := (&schedule{}).pick("wrr", nil); ok {
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
			chosen, _ := s.pick("wrr", among)
			got[chosen.id]++
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("choices (-want +got):\n%s", diff)
		}
	})
}
