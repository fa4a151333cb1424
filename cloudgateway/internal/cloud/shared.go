package cloud

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
)

// Shared is what the resources of all products work with.
type Shared struct {
	// Locks orders the writes to one resource, which the cloud refuses to take at the same time.
	Locks      Locker
	Registerer prometheus.Registerer
	// Room is for what reads remember; see batch.Config.
	Room *batch.Room
	// Logger gets the stacks of panics in reads. It is required.
	Logger *slog.Logger
}

// NewCache makes a reader of what is not gathered.
func NewCache[V any](s Shared, name string) *batch.Reader[string, V] {
	return batch.New(batch.Config[string, V]{Name: name, Room: s.Room, Registerer: s.Registerer, Logger: s.Logger})
}

// NewReader makes a reader of single items. Reads that come while others are under way share calls of at most perCall items. A read that
// comes alone hardly waits.
func NewReader[V any](
	s Shared, name string, perCall, parallel int, load func(context.Context, []string) (map[string]V, error),
) *batch.Reader[string, V] {
	return batch.New(batch.Config[string, V]{
		Name: name, Load: load, MaxItems: perCall, Idle: 200 * time.Microsecond, Max: 100 * time.Millisecond, Parallel: parallel,
		Blames: BlamesItem, Room: s.Room, Registerer: s.Registerer, Logger: s.Logger,
	})
}
