package proc

import "syscall"

// attributes put a child into a process group of its own, so that Ctrl-C reaches only the world, which stops its children in
// order, and let it die with the world, however that ends.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
