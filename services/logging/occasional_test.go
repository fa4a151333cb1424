package logging_test

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"alicloud-controllers.dev/services/logging"
)

func TestOccasional(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var text strings.Builder
		log := slog.New(slog.NewTextHandler(&text, nil))
		var refused logging.Occasional
		for range 1000 {
			refused.Warn(log, "refused", "caller", "x")
		}
		<-time.After(10 * time.Second)
		refused.Warn(log, "refused", "caller", "y")
		lines := strings.Split(strings.TrimSpace(text.String()), "\n")
		if len(lines) != 2 || !strings.Contains(lines[0], "caller=x more=0") || !strings.Contains(lines[1], "caller=y more=999") {
			t.Errorf("the log is\n%s", text.String())
		}
	})
}
