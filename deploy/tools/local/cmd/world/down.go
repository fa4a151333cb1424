package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"alicloud-controllers.dev/deploy/tools/local/world"
)

// sweep removes what a world has left in dir that could not do it itself. One that runs is not touched.
func sweep(dir string) error {
	if _, err := os.Stat(world.LockPath(dir)); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	h, err := world.Acquire(dir)
	if errors.Is(err, world.ErrHeld) {
		return nil
	}
	if err != nil {
		return err
	}
	return h.Vacate()
}

// A world that does not stop in downTimeout needs a look at its logs.
const downTimeout, downInterval = time.Minute, 100 * time.Millisecond

// stopHolder stops the world in dir and waits until it is gone.
func stopHolder(ctx context.Context, dir string) error {
	pid, err := world.Holder(dir)
	if err != nil {
		return err
	}
	if pid == 0 {
		fmt.Fprintf(os.Stdout, "no world runs in %s\n", dir)
		return sweep(dir)
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop process %d: %w", pid, err)
	}
	ctx, cancel := context.WithTimeout(ctx, downTimeout)
	defer cancel()
	ticker := time.NewTicker(downInterval)
	defer ticker.Stop()
	for {
		if now, err := world.Holder(dir); err != nil || now != pid {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("process %d still runs after %s, its logs are in %s", pid, downTimeout, filepath.Join(dir, "logs"))
		case <-ticker.C:
		}
	}
}
