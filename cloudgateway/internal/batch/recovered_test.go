package batch

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
)

// TestPanicIsLogged: a panic in a batch is an error for its callers, and the log says where it came from.
func TestPanicIsLogged(t *testing.T) {
	var log bytes.Buffer
	r := New(Config[string, int]{
		Name: "instances", MaxItems: 1, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Load: func(context.Context, []string) (map[string]int, error) { return decodeBadly(nil), nil },
	})
	if _, err := r.Get(t.Context(), "i-1", 0); err == nil || !strings.Contains(err.Error(), "panic") {
		t.Errorf("got %v", err)
	}
	for _, want := range []string{"panic in a batch", "batch=instances", "decodeBadly"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, log.String())
		}
	}
}

func decodeBadly(m map[string]int) map[string]int {
	m["i-1"] = 1 // There is no map.
	return m
}
