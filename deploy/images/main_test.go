package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
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

// The simulated cloud, which imports nothing of ours, knows its version all the same.
func TestVersionOfTheSimulator(t *testing.T) {
	t.Parallel()
	root, err := binaries.Root()
	if err != nil {
		t.Fatal(err)
	}
	program, err := build(t.Context(), root, simulator, runtime.GOARCH, "v9.8.7")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(program, []byte("v9.8.7")) {
		t.Error("the version is not in the program")
	}
}
