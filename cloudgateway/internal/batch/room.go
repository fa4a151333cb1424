package batch

import (
	"sync"

	"golang.org/x/sync/semaphore"
)

// Room is what several readers remember together: its size is bounded, and all of it can be forgotten at once.
type Room struct {
	bytes *semaphore.Weighted

	mu    sync.Mutex
	clear []func() // one for each reader, which lives as long as the room
}

// NewRoom makes a Room for so many bytes.
func NewRoom(bytes int64) *Room { return &Room{bytes: semaphore.NewWeighted(bytes)} }

func (r *Room) add(reader func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clear = append(r.clear, reader)
}

// Clear makes all readers forget everything, because something was written that may be in any answer. Reads that are under way are not
// remembered, and no caller that comes later shares them.
func (r *Room) Clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, reader := range r.clear {
		reader()
	}
}
