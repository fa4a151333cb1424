// Package journal records the calls to the simulated cloud in the order in which they took effect.
package journal

import (
	"iter"
	"slices"
	"sync"
	"time"
)

// Call is one request to the OpenAPI, answered or not.
type Call struct {
	Seq      int64             `json:"seq"`               // counts from 1 and is never used twice
	Time     time.Time         `json:"time"`              // of the virtual clock
	Product  string            `json:"product"`           // slb, vpc, ecs, sts, location, nlb
	Action   string            `json:"action"`            // as sent, also if it does not exist
	Params   map[string]string `json:"params"`            // as sent, without signature, tokens and private keys
	Caller   string            `json:"caller"`            // user agent
	Status   int               `json:"status"`            // HTTP status; 0: the connection was dropped by a fault
	Code     string            `json:"code"`              // error code, empty on success
	Mutating bool              `json:"mutating"`          // whether the action is a write
	Latency  float64           `json:"latency_ms"`        // until the answer was ready
	Effect   bool              `json:"effect,omitempty"`  // the write was carried out, whatever was answered
	Ignored  []string          `json:"ignored,omitempty"` // parameters that the cloud documents and that came to nothing
	Fault    string            `json:"fault,omitempty"`   // id of the fault rule that was applied
}

// chunkSize calls are allocated at once: the price of a call does not depend on how many there are.
const chunkSize = 1024

// Journal keeps the latest calls.
type Journal struct {
	capacity int

	mu     sync.Mutex
	chunks [][]Call // all full but the last
	next   int64    // seq of the next call
	kept   int
}

// New returns a journal that keeps at least capacity calls.
func New(capacity int) *Journal { return &Journal{capacity: capacity, next: 1} }

// Add records a call and gives it its number.
func (j *Journal) Add(c Call) {
	j.mu.Lock()
	defer j.mu.Unlock()
	c.Seq = j.next
	j.next++
	if n := len(j.chunks); n == 0 || len(j.chunks[n-1]) == chunkSize {
		j.chunks = append(j.chunks, make([]Call, 0, chunkSize))
	}
	last := len(j.chunks) - 1
	j.chunks[last] = append(j.chunks[last], c)
	j.kept++
	if j.kept-chunkSize >= j.capacity {
		j.chunks[0] = nil // lets the calls go even while the array of chunks lives on
		j.chunks = j.chunks[1:]
		j.kept -= chunkSize
	}
}

// Since returns the calls with a number above seq, and the number to ask with next time.
func (j *Journal) Since(seq int64) (calls []Call, next int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	first := j.next - int64(j.kept)
	skip := int(min(max(seq+1-first, 0), int64(j.kept)))
	calls = make([]Call, 0, j.kept-skip)
	for _, chunk := range j.chunks {
		if skip >= len(chunk) {
			skip -= len(chunk)
			continue
		}
		calls = append(calls, chunk[skip:]...)
		skip = 0
	}
	return calls, j.next - 1
}

// Backward yields the calls kept at the moment it is called, the latest first. It neither copies them nor keeps others from
// adding more while it is ranged over. A call never changes once it is written; the reader must not change it either.
func (j *Journal) Backward() iter.Seq[*Call] {
	j.mu.Lock()
	chunks := slices.Clone(j.chunks)
	j.mu.Unlock()
	return func(yield func(*Call) bool) {
		for _, chunk := range slices.Backward(chunks) {
			for i := range slices.Backward(chunk) {
				if !yield(&chunk[i]) {
					return
				}
			}
		}
	}
}

// Clear forgets all calls; numbers go on.
func (j *Journal) Clear() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.chunks, j.kept = nil, 0
}
