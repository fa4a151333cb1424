package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// hold is a lock on a world's directory. The kernel releases it with the process, so that it tells the truth even after a crash.
type hold struct{ file *os.File }

func lockPath(dir string) string { return filepath.Join(dir, "lock") }

// acquire locks the directory and leaves the process id in the lock file.
func acquire(dir string) (*hold, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make directory of the world: %w", err)
	}
	f, err := os.OpenFile(lockPath(dir), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock of the world: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("a world runs in %s already; stop it with make dev-down, or name another directory in WORLD_DIR", dir)
	}
	err = errors.Join(f.Truncate(0), write(f, strconv.Itoa(os.Getpid())))
	return &hold{file: f}, err
}

func write(f *os.File, text string) error {
	_, err := f.WriteAt([]byte(text), 0)
	return err
}

func (h *hold) release() { _ = h.file.Close() }

// held returns the process that holds the directory, or 0.
func held(dir string) (int, error) {
	f, err := os.OpenFile(lockPath(dir), os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("open lock of the world: %w", err)
	}
	defer f.Close()
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
		return 0, nil
	}
	text, err := os.ReadFile(lockPath(dir))
	if err != nil {
		return 0, fmt.Errorf("read lock of the world: %w", err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("read lock of the world: %w", err)
	}
	return pid, nil
}

// A world that does not stop in downTimeout needs a look at its logs.
const downTimeout, downInterval = time.Minute, 100 * time.Millisecond

// stopHolder stops the world in dir and waits until it is gone.
func stopHolder(ctx context.Context, dir string) error {
	pid, err := held(dir)
	if err != nil {
		return err
	}
	if pid == 0 {
		fmt.Fprintf(os.Stdout, "no world runs in %s\n", dir)
		return nil
	}
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		return fmt.Errorf("stop process %d: %w", pid, err)
	}
	ctx, cancel := context.WithTimeout(ctx, downTimeout)
	defer cancel()
	ticker := time.NewTicker(downInterval)
	defer ticker.Stop()
	for {
		if pid, err := held(dir); err != nil || pid == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("process %d still runs after %s, its logs are in %s", pid, downTimeout, filepath.Join(dir, "logs"))
		case <-ticker.C:
		}
	}
}
