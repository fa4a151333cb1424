package world

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEnd: the logs stay if something went wrong and nobody is tired of it; otherwise nothing of a world stays, and all
// that is somebody else's.
func TestEnd(t *testing.T) {
	t.Parallel()
	failed := errors.New("it failed")
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tt := range map[string]struct {
		ctx           context.Context
		used, stopped error
		says          string // empty: no error
		stays         bool
	}{
		"all went well":                {ctx: t.Context()},
		"a failure":                    {ctx: t.Context(), used: failed, says: "it failed\nlogs are in ", stays: true},
		"a world that does not stop":   {ctx: t.Context(), stopped: failed, says: "it failed\nlogs are in ", stays: true},
		"Ctrl-C":                       {ctx: interrupted, used: failed, says: "interrupted"},
		"Ctrl-C, but it does not stop": {ctx: interrupted, used: context.Canceled, stopped: failed, says: "it failed\nlogs are in ", stays: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "world")
			hold, err := Acquire(dir)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(filepath.Join(dir, "logs"), 0o700); err != nil {
				t.Fatal(err)
			}
			err = hold.End(tt.ctx, tt.used, tt.stopped)
			if tt.says == "" && err != nil || tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)) {
				t.Errorf("got %v, want %q", err, tt.says)
			}
			if _, err := os.Stat(dir); (err == nil) != tt.stays {
				t.Errorf("the directory: %v", err)
			}
			again, err := Acquire(dir) // It was released, and what stayed is a world's.
			if err != nil {
				t.Fatal(err)
			}
			again.Release()
			if found := Remains(dir); len(found) > 0 {
				t.Errorf("the next world finds %v", found)
			}
		})
	}
}
