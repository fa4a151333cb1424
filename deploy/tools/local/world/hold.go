package world

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Hold is a lock on a world's directory. The kernel releases it with the process and knows which process that is, so that the
// lock is right even after a crash.
type Hold struct {
	dir  string
	file *os.File
}

// LockPath is the file that is locked.
func LockPath(dir string) string { return filepath.Join(dir, "lock") }

// lockOf is the lock on a whole file, as fcntl wants it.
func lockOf() *syscall.Flock_t {
	return &syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart}
}

// ErrHeld says that a world runs in the directory.
var ErrHeld = errors.New("a world runs there already; stop it with make dev-down, or name another directory in WORLD_DIR")

// Acquire locks the directory of a new world, and removes what is left of an old one that could not do it itself.
func Acquire(dir string) (*Hold, error) {
	for {
		if err := checkOurs(dir); err != nil {
			return nil, err
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("make directory of the world: %w", err)
		}
		f, err := os.OpenFile(LockPath(dir), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, fmt.Errorf("open lock of the world: %w", err)
		}
		h := &Hold{dir: dir, file: f}
		err = syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, lockOf())
		if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
			err = ErrHeld
		}
		if err == nil && !current(f) {
			h.Release() // Its owner has removed it since it was opened.
			continue
		}
		if err == nil {
			err = Clean(dir)
		}
		if err != nil {
			h.Release()
			return nil, fmt.Errorf("use %s: %w", dir, err)
		}
		return h, nil
	}
}

// checkOurs refuses a directory where other things than those of a world would be removed: worlds leave a lock with theirs.
func checkOurs(dir string) error {
	if _, err := os.Stat(LockPath(dir)); err == nil {
		return nil
	}
	if found := Remains(dir); len(found) > 0 {
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

// Release lets go of the directory, and leaves in it what there is to look at until the next world comes.
func (h *Hold) Release() { _ = h.file.Close() }

// Vacate removes the directory of a world that has ended well.
func (h *Hold) Vacate() error {
	defer h.Release()
	if err := errors.Join(Clean(h.dir), os.Remove(LockPath(h.dir))); err != nil {
		return fmt.Errorf("remove the world: %w", err)
	}
	_ = os.Remove(h.dir) // It fails if there are other files in it, which stay.
	return nil
}

var errInterrupted = errors.New("interrupted")

// End gives the directory back after the use of a world, and after its end. It is removed if all went well, and when
// the user has had enough. Otherwise the logs stay until the next world comes.
func (h *Hold) End(ctx context.Context, used, stopped error) error {
	defer h.Release()
	switch interrupted := ctx.Err() != nil; {
	case stopped == nil && used == nil:
		return h.Vacate()
	case stopped == nil && interrupted: // What else the error says comes from that.
		return errors.Join(errInterrupted, h.Vacate())
	default:
		return fmt.Errorf("%w\nlogs are in %s", errors.Join(used, stopped), filepath.Join(h.dir, "logs"))
	}
}

// Holder returns the process that holds the directory, or 0.
func Holder(dir string) (int, error) {
	f, err := os.OpenFile(LockPath(dir), os.O_RDWR, 0)
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
