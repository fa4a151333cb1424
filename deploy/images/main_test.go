package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"alicloud-controllers.dev/deploy/chart"
	"alicloud-controllers.dev/deploy/local/binaries"
)

// Every process that gets an image has its command where the build looks for it.
func TestModules(t *testing.T) {
	t.Parallel()
	root, err := binaries.Root()
	if err != nil {
		t.Fatal(err)
	}
	for _, process := range slices.Concat(chart.Components(), []string{simulator}) {
		for _, file := range []string{"go.mod", filepath.Join("cmd", process, "main.go")} {
			if _, err := os.Stat(filepath.Join(root, module(process), file)); err != nil {
				t.Error(err)
			}
		}
	}
}
