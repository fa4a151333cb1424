//go:build !race

package raced

// Enabled reports whether the race detector is there.
const Enabled = false
