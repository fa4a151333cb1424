package batch

import (
	"slices"
	"sync"

	"golang.org/x/sync/semaphore"
)

// Room is what several readers remember together: its size is bounded, and all of it, or what is of a product, can be
// forgotten at once.
type Room struct {
	bytes   *semaphore.Weighted
	product string // of the readers that are added
	all     *readers
}

// readers forget what they remember, by product. They live as long as the room.
type readers struct {
	mu sync.Mutex
	of map[string][]func()
}

// NewRoom makes a Room for so many bytes.
func NewRoom(bytes int64) *Room {
	return &Room{bytes: semaphore.NewWeighted(bytes), all: &readers{of: map[string][]func(){}}}
}

// For is the same room, for readers of a product.
func (r *Room) For(product string) *Room { return &Room{bytes: r.bytes, product: product, all: r.all} }

func (r *Room) add(reader func()) {
	r.all.mu.Lock()
	defer r.all.mu.Unlock()
	r.all.of[r.product] = append(r.all.of[r.product], reader)
}

// Clear makes all readers forget everything, because something was written that may be in any answer. Reads that are under way are not
// remembered, and no caller that comes later shares them.
func (r *Room) Clear() { r.clear(func(string) bool { return true }) }

// ClearOf is Clear for the readers of some products only.
func (r *Room) ClearOf(products ...string) {
	r.clear(func(product string) bool { return slices.Contains(products, product) })
}

func (r *Room) clear(which func(product string) bool) {
	r.all.mu.Lock()
	defer r.all.mu.Unlock()
	for product, of := range r.all.of {
		if !which(product) {
			continue
		}
		for _, forget := range of {
			forget()
		}
	}
}
