package shadow

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"alicloud-controllers.dev/services/reconcile"
)

// TestAwait: what is missing is logged when it changes, looked at once a minute, and nothing is missing in the end.
func TestAwait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		l := &Loop{kind: "Gateway", log: slog.New(slog.NewTextHandler(&log, nil)),
			gather: reconcile.NewGather(gatherQuiet, gatherMax, func(context.Context) {})}
		answers, said, begin := []string{"routes, grants", "routes, grants", "routes", "routes", ""}, []string{}, time.Now()
		if !l.Await(t.Context(), "install them", func() string {
			said = append(said, l.Missing())
			answer := answers[0]
			answers = answers[1:]
			return answer
		}) {
			t.Error("it gave up")
		}
		if n := strings.Count(log.String(), "kind=Gateway missing="); n != 2 {
			t.Errorf("logged %d times:\n%s", n, log.String())
		}
		if got := strings.Join(said, "; "); got != "; routes, grants; routes, grants; routes; routes" || l.Missing() != "" {
			t.Errorf("missing were %q, and now %q", got, l.Missing())
		}
		if took := time.Since(begin); took != 4*lookAgain {
			t.Errorf("it took %s", took)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if l.Await(ctx, "", func() string { return "routes" }) {
			t.Error("it went on after the end")
		}
	})
}
