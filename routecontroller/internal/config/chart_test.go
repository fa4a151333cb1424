package config

import (
	"path/filepath"
	"testing"
)

// TestChartsFiles: routecontroller takes what the chart writes for it.
func TestChartsFiles(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "deploy", "chart", "testdata", "routecontroller", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			if _, _, err := Load(file, ""); err != nil {
				t.Error(err)
			}
		})
	}
}
