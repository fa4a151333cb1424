//go:build !linux

package main

import (
	"errors"
	"syscall"
)

func namespaces() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func isolate(uint64, string, []string) error {
	return errors.New("the tests of mutants run in namespaces of Linux: run make mutation there, for example in a virtual machine")
}
