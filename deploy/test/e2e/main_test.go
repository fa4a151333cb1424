package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"

	"alicloud-controllers.dev/deploy/tools/local/binaries"
)

// built is what all worlds of this run use.
var built struct {
	root, bin  string
	kubernetes binaries.Kubernetes
}

// raced builds our programs once more if the tests have the race detector, for the worlds in which most happens at
// once. In all worlds they took twice the processor time with it. The simulated cloud has it in tests of its own; here
// it took half of the processor time of TestKilledGateway.
var raced = sync.OnceValues(func() (dir string, err error) {
	if !raceEnabled {
		return built.bin, nil
	}
	dir = filepath.Join(built.bin, "race")
	const cloud = "openapisim"
	ours := slices.DeleteFunc(binaries.Processes(), func(name string) bool { return name == cloud })
	if err := binaries.BuildProcesses(context.Background(), built.root, dir, true, ours...); err != nil {
		return "", err
	}
	return dir, os.Symlink(filepath.Join(built.bin, cloud), filepath.Join(dir, cloud))
})

// worlds is how many tests run at the same time unless -parallel says otherwise. A world waits for most of its time: 20
// s take it 5 s of one processor, of which the API server needs half.
const worlds = 4

// TestMain builds what is missing. With -short there is nothing to run: a world takes seconds.
func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		os.Exit(0)
	}
	if err := beside(worlds); err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		os.Exit(1)
	}
	code, err := run(context.Background(), m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		code = 1
	}
	os.Exit(code)
}

// beside lets n tests run at the same time if nobody has asked for another number.
func beside(n int) error {
	const name = "test.parallel"
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == name })
	if asked {
		return nil
	}
	return flag.Set(name, strconv.Itoa(n))
}

func run(ctx context.Context, m *testing.M) (code int, err error) {
	if built.root, err = binaries.Root(); err != nil {
		return 0, err
	}
	oldest, err := binaries.OldestAsked()
	if err != nil {
		return 0, err
	}
	built.kubernetes, err = binaries.EnsureKubernetes(ctx, binaries.Config{
		Root: built.root, Assets: os.Getenv("KUBEBUILDER_ASSETS"), Oldest: oldest, Out: os.Stderr,
	})
	if err != nil {
		return 0, err
	}
	if built.bin, err = os.MkdirTemp("", "e2e-bin-"); err != nil {
		return 0, fmt.Errorf("make directory for our programs: %w", err)
	}
	defer os.RemoveAll(built.bin)
	if err := binaries.BuildProcesses(ctx, built.root, built.bin, false); err != nil {
		return 0, err
	}
	migrate := exec.CommandContext(ctx, "go", "build", "-o", built.bin+"/", "./deploy/tools/migrate/cmd/migrate")
	migrate.Dir = built.root
	if out, err := migrate.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("build migrate: %w\n%s", err, out)
	}
	return m.Run(), nil
}
