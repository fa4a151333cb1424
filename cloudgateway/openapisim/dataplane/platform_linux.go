package dataplane

// supported reports whether this system can listen on any address of loopback without being told to.
func supported() error { return nil }
