package batch

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestRoomClear: what readers with one room remember is forgotten together, and a read that was under way meanwhile is not remembered.
func TestRoomClear(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room, loads := NewRoom(1<<20), 0
		x := New(Config[string, int]{Logger: discard, Name: "x", Room: room})
		y := New(Config[string, int]{Logger: discard, Name: "y", Room: room})
		load := func(context.Context) (int, error) { loads++; return loads, nil }
		read := func(r *Reader[string, int], want int) {
			t.Helper()
			if got, err := r.Do(t.Context(), "k", time.Hour, load); err != nil || got != want {
				t.Errorf("got %d, %v, want %d", got, err, want)
			}
		}
		read(x, 1)
		read(y, 2)
		read(x, 1)
		room.Clear()
		read(y, 3)
		read(x, 4)

		room.Clear()
		began, proceed := make(chan struct{}), make(chan struct{})
		done := make(chan struct{})
		go func() {
			defer close(done)
			if _, err := x.Do(t.Context(), "k", time.Hour, func(context.Context) (int, error) {
				close(began)
				<-proceed
				return -1, nil
			}); err != nil {
				t.Error(err)
			}
		}()
		<-began
		room.Clear()
		close(proceed)
		<-done
		read(x, 5)

		// What is of another product is kept.
		z := New(Config[string, int]{Logger: discard, Name: "z", Room: room.For("slb")})
		read(z, 6)
		room.ClearOf("ecs", "vpc")
		read(z, 6)
		room.ClearOf("ecs", "slb")
		read(z, 7)
		read(x, 5)
		room.For("ecs").Clear()
		read(z, 8)
		read(x, 9)
	})
}
