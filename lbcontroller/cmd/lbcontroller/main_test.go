package main

import (
	"strings"
	"testing"
)

func TestRunNamesTheMissingFlag(t *testing.T) {
	t.Parallel()
	if err := run(nil); err == nil || !strings.Contains(err.Error(), "--config") {
		t.Errorf("got %v", err)
	}
	if err := run([]string{"--config", t.TempDir() + "/none.yaml"}); err == nil || !strings.Contains(err.Error(), "none.yaml") {
		t.Errorf("got %v", err)
	}
	if err := run([]string{"--version"}); err != nil {
		t.Errorf("got %v", err)
	}
}
