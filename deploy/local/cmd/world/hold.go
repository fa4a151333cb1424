package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"alicloud-controllers.dev/deploy/local/world"
)

// hold is a lock on a world's directory. The kernel releases it with the process and knows which process that is, so that it tells
// the truth even after a crash.
type hold struct {
	dir  string
	file *os.File
}

func lockPath(dir string) string { return filepath.Join(dir, "lock") }

// lockOf is the lock on a whole file, as fcntl wants it.
func lockOf() *syscall.Flock_t {
	return &syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart}
}

var errHeld = errors.New("a world runs there already; stop it with make dev-down, or name another directory in WORLD_DIR")

// acquire locks the directory of a new world, and removes what is left of an old one that could not do it itself.
func acquire(dir string) (*hold, error) {
	for {
		if err := checkOurs(dir); err != nil {
			return nil, err
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("make directory of the world: %w", err)
		}
		f, err := os.OpenFile(lockPath(dir), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, fmt.Errorf("open lock of the world: %w", err)
		}
		h := &hold{dir: dir, file: f}
		err = syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, lockOf())
		if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
			err = errHeld
		}
		if err == nil && !current(f) {
			h.release() // Its owner has removed it since it was opened.
			continue
		}
		if err == nil {
			err = world.Clean(dir)
		}
		if err != nil {
			h.release()
			return nil, fmt.Errorf("use %s: %w", dir, err)
		}
		return h, nil
	}
}

// checkOurs refuses a directory where other things than those of a world would be removed: worlds leave a lock with theirs.
func checkOurs(dir string) error {
	if _, err := os.Stat(lockPath(dir)); err == nil {
		return nil
	}
	if found := world.Remains(dir); len(found) > 0 {
		return fmt.Errorf("use %s: no world has left %s there; name another directory in WORLD_DIR", dir, strings.Join(found, ", "))
	}
	return nil
}

// current reports whether an open lock file is the one that others will find.
func current(f *os.File) bool {
	ours, err := f.Stat()
	if err != nil {
		return false
	}
	found, err := os.Stat(f.Name())
	return err == nil && os.SameFile(ours, found)
}

// release lets go of the directory, and leaves in it what there is to look at until the next world comes.
func (h *hold) release() { _ = h.file.Close() }

// vacate removes the directory of a world that has ended well.
func (h *hold) vacate() error {
	defer h.release()
	if err := errors.Join(world.Clean(h.dir), os.Remove(lockPath(h.dir))); err != nil {
		return fmt.Errorf("remove the world: %w", err)
	}
	_ = os.Remove(h.dir) // Unless somebody has put something of theirs there.
	return nil
}

// holder returns the process that holds the directory, or 0.
func holder(dir string) (int, error) {
	f, err := os.OpenFile(lockPath(dir), os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("open lock of the world: %w", err)
	}
	defer f.Close()
	lock := lockOf()
	if err := syscall.FcntlFlock(f.Fd(), syscall.F_GETLK, lock); err != nil {
		return 0, fmt.Errorf("read lock of the world: %w", err)
	}
	if lock.Type == syscall.F_UNLCK {
		return 0, nil
	}
	return int(lock.Pid), nil
}

// sweep removes what a world has left in dir that could not do it itself. One that runs is not touched.
func sweep(dir string) error {
	if _, err := os.Stat(lockPath(dir)); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	h, err := acquire(dir)
	if errors.Is(err, errHeld) {
		return nil
	}
	if err != nil {
		return err
	}
	return h.vacate()
}

// A world that does not stop in downTimeout needs a look at its logs.
const downTimeout, downInterval = time.Minute, 100 * time.Millisecond

// stopHolder stops the world in dir and waits until it is gone.
func stopHolder(ctx context.Context, dir string) error {
	pid, err := holder(dir)
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
		if now, err := holder(dir); err != nil || now != pid {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("process %d still runs after %s, its logs are in %s", pid, downTimeout, filepath.Join(dir, "logs"))
		case <-ticker.C:
		}
	}
}
