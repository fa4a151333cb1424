package config

import (
	"path/filepath"
	"testing"
)

// TestChartsFiles: the gateway takes what the chart writes for it, for each source of credentials.
func TestChartsFiles(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "deploy", "chart", "testdata", "cloudgateway", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			if _, _, err := Load(file, "", func(string) string { return "" }); err != nil {
				t.Error(err)
			}
		})
	}
}
