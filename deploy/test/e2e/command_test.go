package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// command is a run of the command behind make dev, make dev-down and make demo.
type command struct {
	t   *testing.T
	cmd *exec.Cmd

	mu   sync.Mutex
	out  strings.Builder
	done chan struct{} // closed when it has ended
}

// worldCommand builds the command, once for all tests.
var worldCommand = sync.OnceValues(func() (string, error) {
	path := filepath.Join(built.bin, "world")
	if out, err := exec.Command("go", "build", "-o", path, "../../tools/local/cmd/world").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the command: %w\n%s", err, out)
	}
	return path, nil
})

func buildWorld(t *testing.T) string {
	t.Helper()
	path, err := worldCommand()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// start runs the command with temp as its directory for temporary files. What still runs at the end of the test is killed.
func start(t *testing.T, path, temp string, args ...string) *command {
	t.Helper()
	c := &command{t: t, cmd: exec.Command(path, append(args, "-bin", built.bin)...), done: make(chan struct{})}
	c.cmd.Env = append(os.Environ(), "TMPDIR="+temp)
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.cmd.Stdout, c.cmd.Stderr = c, c
	if err := c.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	go func() {
		_ = c.cmd.Wait() // The exit code says how it ended.
		close(c.done)
	}()
	t.Cleanup(func() { c.signal(syscall.SIGKILL); <-c.done })
	return c
}

func (c *command) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.Write(p)
}

func (c *command) output() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.String()
}

// says waits until the output has a text.
func (c *command) says(text string) {
	c.t.Helper()
	eventually(c.t, "the command says "+text, func(context.Context) error {
		ended := c.ended() // Before the look at the output, which is complete then.
		if out := c.output(); !strings.Contains(out, text) {
			err := fmt.Errorf("it says: %s", out)
			if ended {
				c.t.Fatalf("the command has ended and does not say %s: %v", text, err)
			}
			return err
		}
		return nil
	})
}

// signal sends a signal as a terminal does, to the whole process group. The processes of the world have groups of their own.
func (c *command) signal(sig syscall.Signal) { _ = syscall.Kill(-c.cmd.Process.Pid, sig) }

func (c *command) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// ends waits until the command has ended and compares its exit code.
func (c *command) ends(code int) {
	c.t.Helper()
	eventually(c.t, "the command ends", func(context.Context) error {
		if !c.ended() {
			return errors.New("it runs")
		}
		return nil
	})
	if got := c.cmd.ProcessState.ExitCode(); got != code {
		c.t.Errorf("exit code %d, want %d; it says: %s", got, code, c.output())
	}
}

// nobodyIn waits until no process has a directory in its arguments, as all processes of a world have theirs.
func nobodyIn(t *testing.T, dir string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		return // There is no list of processes to read.
	}
	eventually(t, "all processes go", func(context.Context) error {
		lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil || len(lines) == 0 {
			return fmt.Errorf("find processes: %w", err)
		}
		for _, file := range lines {
			if line, err := os.ReadFile(file); err == nil && strings.Contains(string(line), dir) {
				return fmt.Errorf("%s: %s", file, strings.ReplaceAll(string(line), "\x00", " "))
			}
		}
		return nil
	})
}

// empty fails if there is anything in a directory.
func empty(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Open(dir)
	if err != nil {
		t.Fatalf("look for what is left: %v", err)
	}
	defer f.Close()
	if names, err := f.Readdirnames(0); err != nil && !errors.Is(err, io.EOF) || len(names) > 0 {
		t.Errorf("left: %q, %v", names, err)
	}
}

// TestDemo: the demo shows what it promises, also after one that was killed, and leaves nothing.
func TestDemo(t *testing.T) {
	t.Parallel()
	path, temp := buildWorld(t), t.TempDir()
	killed := start(t, path, temp, "demo")
	killed.says("starting cloudgateway")
	killed.signal(syscall.SIGKILL)
	killed.ends(-1)
	nobodyIn(t, temp)
	theirs := filepath.Join(temp, "alicloud-demo-notes") // Not a demo's.
	if err := os.Mkdir(theirs, 0o700); err != nil {
		t.Fatal(err)
	}

	demo := start(t, path, temp, "demo")
	demo.says("Done in ")
	demo.ends(0)
	rest := demo.output()
	for _, text := range []string{
		"all nodes initialised and routed", "EXTERNAL-IP <pending>", ": an address", "listener http:80  running", "listener tcp:9000  running",
		"i-local00003:", "1 x write CreateLoadBalancer\n", "A node joins", "i-local00004:", "The node leaves",
		"A Service of class alibabacloud.com/nlb", ".cn-hangzhou.nlb.aliyuncs.com", "listener tcp:8080  running", "i-local00003:",
		"The Services are deleted", "1 x write DeleteLoadBalancer\n",
		"1 x write nlb DeleteLoadBalancer\n", "nothing but what was there before: 1 VPC, 2 vSwitches, 3 instances, 3 routes",
	} {
		_, after, found := strings.Cut(rest, text)
		if !found {
			t.Fatalf("the output does not have %q, or not in this order: %s", text, demo.output())
		}
		rest = after
	}
	// The cloud takes its time for an NLB, so that others of its calls come between.
	if !strings.Contains(demo.output(), "1 x write nlb CreateListener\n") {
		t.Errorf("no listener of an NLB was made: %s", demo.output())
	}
	nobodyIn(t, temp)
	if err := os.Remove(theirs); err != nil {
		t.Error(err)
	}
	empty(t, temp)
}

// TestInterrupted: Ctrl-C ends worlds at any moment, and leaves neither a process nor a file.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	path := buildWorld(t)
	tests := []struct {
		moment string // what is said before
		args   []string
		code   int
	}{
		{moment: "starting Kubernetes", args: []string{"demo"}, code: 1},
		{moment: "starting cloudgateway", args: []string{"demo"}, code: 1},
		{moment: "EXTERNAL-IP <pending>", args: []string{"demo"}, code: 1},
		{moment: "starting Kubernetes", args: []string{"up"}, code: 1},
		{moment: "The world is up", args: []string{"up"}, code: 0},
	}
	for _, tt := range tests {
		t.Run(tt.args[0]+", "+tt.moment, func(t *testing.T) {
			t.Parallel()
			temp := t.TempDir()
			args := tt.args
			if args[0] == "up" {
				args = append(args, "-dir", filepath.Join(temp, "dev"))
			}
			c := start(t, path, temp, args...)
			c.says(tt.moment)
			c.signal(syscall.SIGINT)
			c.ends(tt.code)
			nobodyIn(t, temp)
			empty(t, temp)
		})
	}
}
