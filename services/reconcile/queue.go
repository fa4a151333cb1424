package reconcile

import (
	"container/heap"
	"sync"
	"time"
)

// Priority orders the keys that wait; the higher one is taken first. Within a priority, keys are taken in the order they came.
type Priority int

// The priorities, from the least to the most urgent.
const (
	// Periodic is for the initial list and for verification.
	Periodic Priority = iota
	// Node is for changes that touch many keys at once.
	Node
	// Endpoint is for changes of backends.
	Endpoint
	// User is for what a person has changed and waits for.
	User

	priorities = int(User) + 1
)

// String gives the value of the metric label.
func (p Priority) String() string {
	switch p {
	case Periodic:
		return "periodic"
	case Node:
		return "node"
	case Endpoint:
		return "endpoint"
	case User:
		return "user"
	default:
		return "unknown"
	}
}

// item is a key that waits in one of the heaps.
type item struct {
	key      string
	priority Priority
	seq      uint64    // order of arrival
	since    time.Time // when the key became ready, for the age
	due      time.Time // when a delayed key becomes ready
	index    int       // position in its heap, kept by the heap
}

// queue holds keys, each at most once among the ready ones and once among the delayed ones. A key that is being worked on is
// not given out again until done, however often it is added meanwhile.
type queue struct {
	mu      sync.Mutex
	wake    *sync.Cond
	ready   itemHeap // by priority, then arrival
	delayed itemHeap // by time
	// waiting and later find the items of the two heaps; again holds keys added while they were active.
	waiting, later, again map[string]*item
	active                map[string]bool
	began                 map[string]Priority // with which priority active keys were given out
	yields                map[string]func()   // ends what active keys do that gives way to more urgent work
	timer                 *time.Timer         // fires for the head of delayed
	// working counts the attempts that hold a worker, and periodic those of the least priority, which wait for the cloud or not.
	working, periodic int
	// workers and periodicLimit bound them; 0 is no bound.
	workers, periodicLimit int
	seq                    uint64
	// given counts the keys that were given out.
	given  uint64
	closed bool
}

// oldestEvery is how often the key that has waited longest is given out whatever its priority, so that none waits for ever.
const oldestEvery = 16

func newQueue() *queue {
	q := &queue{
		ready:   itemHeap{less: func(a, b *item) bool { return a.priority > b.priority || a.priority == b.priority && a.seq < b.seq }},
		delayed: itemHeap{less: func(a, b *item) bool { return a.due.Before(b.due) }},
		waiting: map[string]*item{},
		later:   map[string]*item{},
		again:   map[string]*item{},
		active:  map[string]bool{},
		began:   map[string]Priority{},
		yields:  map[string]func(){},
	}
	q.wake = sync.NewCond(&q.mu)
	return q
}

// add makes key ready; a key that is ready already keeps its place and the higher priority.
func (q *queue) add(key string, p Priority) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.addLocked(key, p)
}

func (q *queue) addLocked(key string, p Priority) {
	if q.closed {
		return
	}
	home := q.waiting
	if q.active[key] {
		home = q.again
		if p > Periodic {
			q.yieldLocked(key)
		}
	}
	if it, ok := home[key]; ok {
		if p > it.priority {
			it.priority = p
			if !q.active[key] {
				heap.Fix(&q.ready, it.index)
				q.wake.Signal() // As one of the least priority it may have been held back.
			}
		}
		return
	}
	q.seq++
	it := &item{key: key, priority: p, seq: q.seq, since: time.Now()}
	home[key] = it
	if !q.active[key] {
		heap.Push(&q.ready, it)
		q.wake.Signal()
	}
}

// addAfter makes key ready after d. A key waits for one moment only: of two, the earlier counts, with the higher priority.
func (q *queue) addAfter(key string, p Priority, d time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	if d <= 0 {
		q.addLocked(key, p)
		return
	}
	due := time.Now().Add(d)
	if it, ok := q.later[key]; ok {
		it.priority = max(it.priority, p)
		if due.Before(it.due) {
			it.due = due
			heap.Fix(&q.delayed, it.index)
		}
	} else {
		it := &item{key: key, priority: p, due: due}
		q.later[key] = it
		heap.Push(&q.delayed, it)
	}
	q.armLocked()
}

// promote makes key ready now, and no second time when a delay is over that it waits for.
func (q *queue) promote(key string, p Priority) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if it, ok := q.later[key]; ok {
		p = max(p, it.priority)
		heap.Remove(&q.delayed, it.index)
		delete(q.later, key)
		q.armLocked()
	}
	q.addLocked(key, p)
}

// armLocked sets the timer to the head of delayed.
func (q *queue) armLocked() {
	if q.timer != nil {
		q.timer.Stop()
		q.timer = nil
	}
	if len(q.delayed.items) > 0 {
		q.timer = time.AfterFunc(time.Until(q.delayed.items[0].due), q.release)
	}
}

// release moves the delayed keys whose time has come to the ready ones.
func (q *queue) release() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	now := time.Now()
	for len(q.delayed.items) > 0 && !q.delayed.items[0].due.After(now) {
		it := heap.Pop(&q.delayed).(*item) // The heap holds nothing else.
		delete(q.later, it.key)
		q.addLocked(it.key, it.priority)
	}
	q.armLocked()
}

// get waits for the most urgent key and marks it active; false once the queue is closed.
func (q *queue) get() (string, Priority, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.closed && !q.mayBegin() {
		q.wake.Wait()
	}
	if q.closed {
		return "", 0, false
	}
	it := heap.Remove(&q.ready, q.nextLocked()).(*item) // The heap holds nothing else.
	q.given++
	delete(q.waiting, it.key)
	q.active[it.key] = true
	q.working++
	q.began[it.key] = it.priority
	if it.priority == Periodic {
		q.periodic++
	}
	return it.key, it.priority, true
}

// nextLocked is the place of the key to give out: the first one, and now and then the one that has waited longest.
func (q *queue) nextLocked() int {
	if q.given%oldestEvery != oldestEvery-1 {
		return 0
	}
	oldest := 0
	for i, it := range q.ready.items {
		if it.seq < q.ready.items[oldest].seq {
			oldest = i
		}
	}
	if q.ready.items[oldest].priority == Periodic && q.periodicLimit > 0 && q.periodic >= q.periodicLimit {
		return 0
	}
	return oldest
}

// bound sets how many keys may be worked on at once, and how many of the least priority may be under way; 0 is no bound.
func (q *queue) bound(workers, periodic int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.workers, q.periodicLimit = workers, periodic
}

// mayBegin reports whether there is a key to give out and a worker for it.
func (q *queue) mayBegin() bool {
	if len(q.ready.items) == 0 || q.workers > 0 && q.working >= q.workers {
		return false
	}
	return q.periodicLimit == 0 || q.ready.items[0].priority != Periodic || q.periodic < q.periodicLimit
}

// onYield registers what ends the present work on an active key that gives way, nil for none.
func (q *queue) onYield(key string, end func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.yields, key)
	if end == nil {
		return
	}
	q.yields[key] = end
	if it, ok := q.again[key]; ok && it.priority > Periodic {
		q.yieldLocked(key)
	}
}

// yield lets the work on a key give way, if it does.
func (q *queue) yield(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.yieldLocked(key)
}

func (q *queue) yieldLocked(key string) {
	if end := q.yields[key]; end != nil {
		end()
	}
}

// pause gives the worker of an attempt to others while the attempt waits for something.
func (q *queue) pause() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.working--
	q.wake.Signal()
}

// resume takes a worker back. There may be more of them at work than asked for until an attempt ends: no attempt that has begun waits
// for others.
func (q *queue) resume() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.working++
}

// done ends the work on key; if it was added meanwhile, it is ready again.
func (q *queue) done(key string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.active, key)
	q.working--
	if q.began[key] == Periodic {
		q.periodic--
	}
	delete(q.began, key)
	q.wake.Signal()
	it, ok := q.again[key]
	if !ok {
		return
	}
	delete(q.again, key)
	if q.closed {
		return
	}
	q.waiting[key] = it
	heap.Push(&q.ready, it)
	q.wake.Signal()
}

// close lets every get return. What waits is dropped: the next start lists everything again.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	if q.timer != nil {
		q.timer.Stop()
	}
	q.wake.Broadcast()
}

// depth counts the ready keys of a priority.
func (q *queue) depth(p Priority) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := 0
	for _, it := range q.ready.items {
		if it.priority == p {
			n++
		}
	}
	return n
}

// oldest is how long the longest-waiting ready key has waited.
func (q *queue) oldest() time.Duration {
	q.mu.Lock()
	defer q.mu.Unlock()
	var age time.Duration
	for _, it := range q.ready.items {
		age = max(age, time.Since(it.since))
	}
	return age
}

// itemHeap implements heap.Interface.
type itemHeap struct {
	items []*item
	less  func(a, b *item) bool
}

func (h *itemHeap) Len() int           { return len(h.items) }
func (h *itemHeap) Less(i, j int) bool { return h.less(h.items[i], h.items[j]) }

func (h *itemHeap) Swap(i, j int) {
	h.items[i], h.items[j] = h.items[j], h.items[i]
	h.items[i].index, h.items[j].index = i, j
}

func (h *itemHeap) Push(x any) {
	it := x.(*item) // Only this package pushes.
	it.index = len(h.items)
	h.items = append(h.items, it)
}

func (h *itemHeap) Pop() any {
	last := len(h.items) - 1
	it := h.items[last]
	h.items[last] = nil
	h.items = h.items[:last]
	return it
}
