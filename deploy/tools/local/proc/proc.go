// Package proc runs the processes of a local world: each with its own log file, killed and started again at will, and
// started again where it ends by itself, as a kubelet does.
package proc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// Spec describes a process.
type Spec struct {
	Name string
	Path string
	Args []string
	Env  []string // added to the own environment
	// LogFile gets what the process writes; a restart appends.
	LogFile string
	// Ready reports nil when the process does its work. It is asked again and again until it does.
	Ready func(ctx context.Context) error
	// ReadyTimeout limits the asking; zero: 3 minutes, for an API server takes seconds of a processor that may have other work.
	ReadyTimeout time.Duration
	// StopTimeout is the time that the process has to stop by itself; zero: 30 s, as long as pods have.
	StopTimeout time.Duration
	// Restart starts the process again when it ends by itself after it was ready.
	Restart bool
}

// restartDelay is the time between the end of a process and its next start.
const restartDelay = time.Second

// Process is a child process that can be started more than once.
type Process struct {
	spec Spec

	mu   sync.Mutex
	cmd  *exec.Cmd
	done chan struct{} // closed when the current run has ended
	err  error         // of the last run
	// expected says that the current run is not to be followed by another one: it was never ready, or is asked to end.
	expected bool
	ends     int         // of runs that ended by themselves
	again    *time.Timer // starts the next run
}

// New prepares a process.
func New(spec Spec) *Process { return &Process{spec: spec} }

// Name is the process's name.
func (p *Process) Name() string { return p.spec.Name }

// LogFile is where its output goes.
func (p *Process) LogFile() string { return p.spec.LogFile }

// Start starts the process and returns at once.
func (p *Process) Start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running() {
		return fmt.Errorf("start %s: it runs already", p.spec.Name)
	}
	p.cancelRestart()
	p.expected = true
	return p.start()
}

// start is called with the lock held.
func (p *Process) start() error {
	log, err := os.OpenFile(p.spec.LogFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("start %s: %w", p.spec.Name, err)
	}
	defer log.Close() // The child has its own descriptor.
	// The context must not end the process: Stop does, and in order.
	cmd := exec.Command(p.spec.Path, p.spec.Args...) //nolint:gosec // The arguments are ours.
	cmd.Env = append(os.Environ(), p.spec.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = attributes()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.spec.Name, err)
	}
	done := make(chan struct{})
	p.cmd, p.done = cmd, done
	go func() {
		err := cmd.Wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.err = err
		close(done)
		p.ended()
	}()
	return nil
}

// ended is called with the lock held.
func (p *Process) ended() {
	if p.expected {
		return
	}
	p.ends++
	if !p.spec.Restart {
		return
	}
	p.again = time.AfterFunc(restartDelay, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.again == nil {
			return // Start or the end came first.
		}
		p.again = nil
		p.err = p.start()
	})
}

// cancelRestart is called with the lock held.
func (p *Process) cancelRestart() {
	if p.again != nil {
		p.again.Stop()
		p.again = nil
	}
}

// Ends counts how often the process has ended by itself after it was ready.
func (p *Process) Ends() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ends
}

// running is called with the lock held.
func (p *Process) running() bool {
	if p.done == nil {
		return false
	}
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Pid is the id of the process that was started last, 0 before the first start.
func (p *Process) Pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return 0
	}
	return p.cmd.Process.Pid
}

// Running reports whether the process runs.
func (p *Process) Running() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running()
}

// readyInterval is short, since every process waits for the one before.
const readyInterval = 50 * time.Millisecond

// WaitReady returns when the process is ready, or with the reason why it is not.
func (p *Process) WaitReady(ctx context.Context) error {
	if p.spec.Ready == nil {
		p.wasReady()
		return nil
	}
	timeout := p.spec.ReadyTimeout
	if timeout == 0 {
		timeout = 3 * time.Minute
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	p.mu.Lock()
	done := p.done
	p.mu.Unlock()
	ticker := time.NewTicker(readyInterval)
	defer ticker.Stop()
	var last error
	for {
		err := p.spec.Ready(ctx)
		if err == nil {
			p.wasReady()
			return nil
		}
		if ctx.Err() == nil || last == nil {
			last = err
		}
		select {
		case <-done:
			return fmt.Errorf("%s ended before it was ready: %w\n%s", p.spec.Name, p.exit(), Tail(p.spec.LogFile))
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready (log: %s): %w", p.spec.Name, p.spec.LogFile, last)
		case <-ticker.C:
		}
	}
}

func (p *Process) wasReady() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.expected = !p.running() // It may have ended since, and then it is not restarted.
}

func (p *Process) exit() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		return errors.New("exit status 0")
	}
	return p.err
}

// Kill ends the process at once, as a crash does, and waits until it is gone.
func (p *Process) Kill() error { return p.end(syscall.SIGKILL, 0) }

// stopTimeout is the time that most processes have to stop by themselves.
const stopTimeout = 30 * time.Second

// Stop asks the process to stop and waits; after its StopTimeout it is killed and an error says so. A process that does
// not run is no error.
func (p *Process) Stop() error {
	return p.end(syscall.SIGTERM, cmp.Or(p.spec.StopTimeout, stopTimeout))
}

func (p *Process) end(sig syscall.Signal, timeout time.Duration) error {
	p.mu.Lock()
	p.expected = true
	p.cancelRestart()
	if !p.running() {
		p.mu.Unlock()
		return nil
	}
	cmd, done := p.cmd, p.done
	p.mu.Unlock()
	if err := cmd.Process.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal %s: %w", p.spec.Name, err)
	}
	if sig == syscall.SIGKILL {
		<-done
		return nil
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-done:
		return nil
	case <-timer.C:
		_ = cmd.Process.Kill()
		<-done
		return fmt.Errorf("stop %s: killed, it did not stop within %s", p.spec.Name, timeout)
	}
}

// Tail returns the last lines of a log file, for error messages.
func Tail(path string) string {
	const size = 4 << 10
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(data[max(0, len(data)-size):])
}
