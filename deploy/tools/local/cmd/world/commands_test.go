package main

import (
	"strings"
	"testing"

	"alicloud-controllers.dev/deploy/tools/local/binaries"
)

// TestDownloadVariable: releases are taken unless DOWNLOAD refuses them.
func TestDownloadVariable(t *testing.T) {
	for choice, want := range map[string]binaries.Downloads{"": binaries.Releases(), "auto": binaries.Releases(), "never": {}} {
		t.Setenv("DOWNLOAD", choice)
		if cfg, err := building(); err != nil || cfg.Downloads != want {
			t.Errorf("%q: %+v, %v", choice, cfg.Downloads, err)
		}
	}
	t.Setenv("DOWNLOAD", "no")
	if _, err := building(); err == nil || !strings.Contains(err.Error(), `DOWNLOAD is "no"; use auto or never`) {
		t.Errorf("an unknown choice: %v", err)
	}
}
