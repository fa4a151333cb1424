package batch

import (
	"log/slog"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pass lets time go by; of a synctest bubble, so that nobody waits.
func pass(d time.Duration) { <-time.After(d) }

var discard = slog.New(slog.DiscardHandler)
