package main

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// most is the memory that the tests of a mutant may take: one that appends for ever must not take the machine's.
const most = 2 << 30

// namespaces give a child a network with nothing but loopback, and mounts that it may change.
func namespaces() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Setpgid: true, Pdeathsig: syscall.SIGKILL,
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
}

// isolate runs a program in place of this one, which is the only process of its namespaces: all but one directory is read-only, and the
// system ends it when it has used its processor time.
func isolate(seconds uint64, dir string, command []string) error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("network: %w", err)
	}
	loopback, err := unix.NewIfreq("lo")
	if err != nil {
		return fmt.Errorf("network: %w", err)
	}
	loopback.SetUint16(unix.IFF_UP)
	if err := unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, loopback); err != nil {
		return fmt.Errorf("start loopback: %w", err)
	}
	if err := unix.Mount(dir, dir, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mount %s: %w", dir, err)
	}
	if err := unix.MountSetattr(-1, "/", unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return fmt.Errorf("make all mounts read-only: %w", err)
	}
	if err := unix.MountSetattr(-1, dir, 0, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return fmt.Errorf("make %s writable: %w", dir, err)
	}
	for resource, limit := range map[int]uint64{unix.RLIMIT_DATA: most, unix.RLIMIT_CPU: seconds} {
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			return fmt.Errorf("limit memory and processor time: %w", err)
		}
	}
	return fmt.Errorf("run %s: %w", command[0], unix.Exec(command[0], command, os.Environ()))
}
