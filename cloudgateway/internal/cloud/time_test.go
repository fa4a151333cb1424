package cloud

import (
	"testing"
	"time"
)

// TestTime: ECS writes times in two ways, and nobody stumbles over a third.
func TestTime(t *testing.T) {
	for text, want := range map[string]string{
		"2026-01-02T03:04Z": "2026-01-02T03:04:00Z", "2026-01-02T03:04:05Z": "2026-01-02T03:04:05Z", "": "", "tomorrow": "",
	} {
		got := ""
		if at := Time(text); at != nil {
			got = at.AsTime().Format(time.RFC3339)
		}
		if got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
