package cloud

import (
	"fmt"
	"sync/atomic"
)

// Epoch makes cache keys that can all be given up at once.
type Epoch struct{ n atomic.Int64 }

// Key names something of this epoch.
func (e *Epoch) Key(what string) string { return fmt.Sprintf("%d %s", e.n.Load(), what) }

// Next makes all keys so far stale.
func (e *Epoch) Next() { e.n.Add(1) }
