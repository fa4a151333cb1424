package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"

	"alicloud-controllers.dev/deploy/local/binaries"
)

// built is what all worlds of this run use.
var built struct {
	bin        string
	kubernetes binaries.Kubernetes
}

// TestMain builds what is missing. With -short there is nothing to run: a world takes seconds.
func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		os.Exit(0)
	}
	code, err := run(context.Background(), m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	os.Exit(code)
}

func run(ctx context.Context, m *testing.M) (code int, err error) {
	root, err := binaries.Root()
	if err != nil {
		return 0, err
	}
	built.kubernetes, err = binaries.EnsureKubernetes(ctx, binaries.Config{
		Root: root, Assets: os.Getenv("KUBEBUILDER_ASSETS"), Out: os.Stderr,
	})
	if err != nil {
		return 0, err
	}
	if built.bin, err = os.MkdirTemp("", "e2e-bin-"); err != nil {
		return 0, fmt.Errorf("make directory for our programs: %w", err)
	}
	defer os.RemoveAll(built.bin)
	if err := binaries.BuildProcesses(ctx, root, built.bin, raceEnabled); err != nil {
		return 0, err
	}
	return m.Run(), nil
}
