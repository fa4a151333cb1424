//go:build linux

package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// The test binary starts itself again in other roles.
const (
	roleVariable = "E2E_CLUSTER_ROLE"
	roleInit     = "init"  // the first process of the sandbox
	roleTests    = "tests" // what runs the tests, in the network of the VPC
	roleNode     = "node"  // what holds the namespaces of a node

	// asked has the make target say that the tests are wanted.
	asked = "E2E_CLUSTER"
	// workVariable names the directory of a run to the tests.
	workVariable = "E2E_CLUSTER_WORK"
)

// cgroup is that of all pods, in every hierarchy.
const cgroup = "alicloud-cluster"

// skip is why no test runs.
var skip string

// TestMain runs the tests in a process namespace, whose end ends everything in it, with networks and mounts of its own: whatever happens to
// this process, nothing stays but files and empty cgroups, which the next run removes.
func TestMain(m *testing.M) {
	var code int
	var err error
	switch os.Getenv(roleVariable) {
	case roleInit:
		code, err = beFirst()
	case roleNode:
		err = holdNode()
	case roleTests:
		code = m.Run()
	default:
		if os.Getenv(asked) == "" {
			skip = "needs root and a container runtime; run make e2e-cluster"
			code = m.Run()
			break
		}
		if err = able(); err == nil {
			code, err = enter()
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		code = 1
	}
	os.Exit(code)
}

// able says why a cluster can't be made here. Who asks for one is not to take tests that were skipped for tests that passed.
func able() error {
	if os.Geteuid() != 0 {
		return errors.New("needs root: namespaces, cgroups and mounts")
	}
	var missing []string
	tools := []string{"containerd", "ctr", "runc", "iptables", "ip", "conntrack", "nsenter"}
	packages := "containerd runc iptables iproute2 conntrack util-linux containernetworking-plugins"
	if os.Getenv(upstreamAsked) != "" { // Pods of Kubernetes' own tests call them.
		tools, packages = append(tools, "curl", "wget", "nc"), packages+" curl wget netcat-openbsd"
	}
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			missing = append(missing, tool)
		}
	}
	if cniPlugins() == "" {
		missing = append(missing, "CNI plugins")
	}
	if len(missing) > 0 {
		return fmt.Errorf("needs %s (on Debian: %s)", strings.Join(missing, ", "), packages)
	}
	return nil
}

// cniPlugins is where the plugins are, or nothing.
func cniPlugins() string {
	for _, dir := range []string{"/usr/lib/cni", "/opt/cni/bin"} {
		if _, err := os.Stat(filepath.Join(dir, "ptp")); err == nil {
			return dir
		}
	}
	return ""
}

// enter builds what the tests need, while the network is there, and runs them in the sandbox.
func enter() (code int, err error) {
	work := filepath.Join(os.TempDir(), cgroup)
	unlock, err := clean(work)
	if err != nil {
		return 0, err
	}
	defer unlock()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	if err := build(work); err != nil {
		return 0, err
	}
	runtime.LockOSThread() // The sandbox ends with this thread.
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Env = append(os.Environ(), roleVariable+"="+roleInit, workVariable+"="+work)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC,
		Pdeathsig:  syscall.SIGKILL,
	}
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("enter the sandbox: %w", err)
	}
	go func() {
		for range signals {
			_ = cmd.Process.Kill()
		}
	}()
	err = cmd.Wait()
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		return 0, fmt.Errorf("run in the sandbox: %w", err)
	}
	code = cmd.ProcessState.ExitCode()
	if code != 0 {
		fmt.Fprintf(os.Stderr, "cluster: logs stay in %s until the next run\n", work)
		return max(code, 1), removeCgroups()
	}
	return 0, errors.Join(removeCgroups(), os.RemoveAll(work))
}

// clean takes the directory of a run for this one, and removes what the last one left.
func clean(work string) (unlock func(), err error) {
	lock, err := os.OpenFile(work+".lock", os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", work, err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = lock.Close()
		return nil, fmt.Errorf("lock %s: another run is under way: %w", work, err)
	}
	err = errors.Join(removeCgroups(), os.RemoveAll(work), os.Mkdir(work, 0o700))
	return func() { _ = lock.Close() }, err
}

// hierarchies are the directories below which cgroups are made.
func hierarchies() ([]string, error) {
	const root = "/sys/fs/cgroup"
	if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err == nil {
		return []string{root}, nil // version 2
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, fmt.Errorf("find cgroups: %w", err)
	}
	var all []string
	for _, entry := range entries {
		if entry.IsDir() {
			all = append(all, filepath.Join(root, entry.Name()))
		}
	}
	return all, nil
}

// makeCgroups makes the cgroup of a node in every hierarchy.
func makeCgroups(node string) error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	for _, hierarchy := range all {
		for _, dir := range []string{filepath.Join(hierarchy, cgroup), filepath.Join(hierarchy, cgroup, node)} {
			if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
				return fmt.Errorf("make cgroup: %w", err)
			}
			// A cpuset is empty until somebody says what is in it.
			for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
				value, err := os.ReadFile(filepath.Join(filepath.Dir(dir), file))
				if err != nil || filepath.Base(hierarchy) != "cpuset" {
					continue
				}
				if err := os.WriteFile(filepath.Join(dir, file), value, 0); err != nil {
					return fmt.Errorf("make cgroup: %w", err)
				}
			}
		}
	}
	return nil
}

// removeCgroups removes those of all nodes, the deepest first.
func removeCgroups() error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	for _, hierarchy := range all {
		var dirs []string
		err := filepath.WalkDir(filepath.Join(hierarchy, cgroup), func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() {
				dirs = append(dirs, path)
			}
			return nil // What is gone needs no removing.
		})
		if err != nil {
			return fmt.Errorf("find cgroups: %w", err)
		}
		for _, dir := range slices.Backward(dirs) {
			if err := syscall.Rmdir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("remove cgroup %s: %w", dir, err)
			}
		}
	}
	return nil
}

// beFirst is the first process of the sandbox: it starts the tests, and buries whoever has no parent any more.
func beFirst() (code int, err error) {
	if err := errors.Join(
		syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""), syscall.Mount("proc", "/proc", "proc", 0, ""),
	); err != nil {
		return 0, fmt.Errorf("mount: %w", err)
	}
	env := append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, roleVariable+"=") }),
		roleVariable+"="+roleTests)
	tests, err := syscall.ForkExec("/proc/self/exe", os.Args, &syscall.ProcAttr{Env: env, Files: []uintptr{0, 1, 2}})
	if err != nil {
		return 0, fmt.Errorf("start the tests: %w", err)
	}
	for {
		var status syscall.WaitStatus
		switch pid, err := syscall.Wait4(-1, &status, 0, nil); {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return 0, fmt.Errorf("wait for the tests: %w", err)
		case pid != tests:
		case status.Signaled():
			return 0, fmt.Errorf("the tests ended by %s", status.Signal())
		case status.Exited():
			return status.ExitStatus(), nil
		}
	}
}

// holdNode holds the namespaces of a node until it is killed. The directories that programs insist on are the node's own.
func holdNode() error {
	dir := os.Getenv(workVariable)
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	for _, path := range []string{"/run", "/var/lib", "/var/log", "/etc/cni"} {
		own := filepath.Join(dir, "root", path)
		if err := os.MkdirAll(own, 0o755); err != nil { // Containers look into them.
			return fmt.Errorf("make directory: %w", err)
		}
		if _, err := os.Stat(path); err != nil {
			continue // Not on this machine, so nobody insists on it.
		}
		if err := syscall.Mount(own, path, "", syscall.MS_BIND, ""); err != nil {
			return fmt.Errorf("mount %s: %w", path, err)
		}
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_SHARED, ""); err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	if err := syscall.Sethostname([]byte(filepath.Base(dir))); err != nil {
		return fmt.Errorf("set the name of the host: %w", err)
	}
	fmt.Fprintln(os.Stdout, "ready")
	for {
		if err := syscall.Pause(); err != nil && !errors.Is(err, syscall.EINTR) {
			return fmt.Errorf("wait: %w", err)
		}
	}
}
