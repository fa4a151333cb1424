//go:build !linux

package dataplane

import (
	"fmt"
	"net/netip"
	"runtime"
	"syscall"
)

// supported reports whether this system can listen on any address of loopback without configuration.
func supported() error {
	return fmt.Errorf("the data plane needs Linux, where all of 127.0.0.0/8 is loopback; this is %s", runtime.GOOS)
}

func freebind(string, string, syscall.RawConn) error { return nil }

func transparent(string, string, syscall.RawConn) error { return supported() }

func ownIPv6(netip.Prefix) bool { return false }
