//go:build !linux

package dataplane

import (
	"fmt"
	"runtime"
)

// supported reports whether this system can listen on any address of loopback without configuration.
func supported() error {
	return fmt.Errorf("the data plane needs Linux, where all of 127.0.0.0/8 is loopback; this is %s", runtime.GOOS)
}
