package batch

import (
	"fmt"
	"log/slog"
	"runtime/debug"
)

// recovered turns a panic into an error. It would end the process, since no caller's own recovery sees our goroutines.
func recovered[T any](log *slog.Logger, name string, read func() (T, error)) (result T, err error) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("panic in a read", "batch", name, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("read %s: panic: %v", name, p)
		}
	}()
	return read()
}
