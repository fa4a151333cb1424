package journal

import (
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func seqs(calls []Call) []int64 {
	out := []int64{}
	for _, c := range calls {
		out = append(out, c.Seq)
	}
	return out
}

func TestSince(t *testing.T) {
	t.Parallel()
	j := New(100)
	if calls, next := j.Since(0); len(calls) != 0 || next != 0 {
		t.Fatalf("empty journal: %v, %d", calls, next)
	}
	for range 3 {
		j.Add(Call{})
	}
	tests := []struct {
		since int64
		want  []int64
	}{{-5, []int64{1, 2, 3}}, {0, []int64{1, 2, 3}}, {2, []int64{3}}, {3, []int64{}}, {99, []int64{}}}
	for _, tt := range tests {
		calls, next := j.Since(tt.since)
		if diff := cmp.Diff(tt.want, seqs(calls)); diff != "" || next != 3 {
			t.Errorf("since %d: next %d, calls (-want +got):\n%s", tt.since, next, diff)
		}
	}
	j.Clear()
	j.Add(Call{})
	if calls, next := j.Since(0); next != 4 || !cmp.Equal(seqs(calls), []int64{4}) {
		t.Errorf("after Clear: %v, next %d", seqs(calls), next)
	}
}

func TestCapacity(t *testing.T) {
	t.Parallel()
	const capacity, calls = 2 * chunkSize, 10*chunkSize + 7
	j := New(capacity)
	for i := range calls {
		j.Add(Call{Action: strconv.Itoa(i + 1)})
	}
	kept, next := j.Since(0)
	if len(kept) < capacity || len(kept) >= capacity+2*chunkSize || next != calls {
		t.Fatalf("kept %d of %d, next %d", len(kept), calls, next)
	}
	for i, c := range kept {
		if want := int64(calls - len(kept) + i + 1); c.Seq != want || c.Action != strconv.FormatInt(want, 10) {
			t.Fatalf("call %d is %d %s", i, c.Seq, c.Action)
		}
	}
	if tail, _ := j.Since(calls - 3); len(tail) != 3 {
		t.Errorf("tail has %d calls", len(tail))
	}
}

// A reader sees the calls of the moment it began, whatever happens to the journal meanwhile.
func TestBackward(t *testing.T) {
	t.Parallel()
	j := New(10_000)
	for call := range j.Backward() {
		t.Fatalf("empty journal yields %+v", call)
	}
	for range 2*chunkSize + 3 {
		j.Add(Call{})
	}
	want := int64(2*chunkSize + 3)
	for call := range j.Backward() {
		if call.Seq != want {
			t.Fatalf("call %d, want %d", call.Seq, want)
		}
		want--
		j.Add(Call{})
		if want == chunkSize {
			j.Clear()
		}
	}
	if want != 0 {
		t.Errorf("ended before call %d", want)
	}
}

func TestConcurrentAdd(t *testing.T) {
	t.Parallel()
	j := New(10_000)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 500 {
				j.Add(Call{})
				j.Since(3990)
				for range j.Backward() {
					break
				}
			}
		})
	}
	wg.Wait()
	calls, _ := j.Since(0)
	for i, c := range calls {
		if c.Seq != int64(i+1) {
			t.Fatalf("call %d has number %d", i, c.Seq)
		}
	}
	if len(calls) != 4000 {
		t.Errorf("%d calls", len(calls))
	}
}
