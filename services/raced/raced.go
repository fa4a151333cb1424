// Package raced is for tests that play many cases one after the other. The race detector makes each of them take six times as long, and
// what it finds, it finds where much happens at once. make test runs the packages whose tests import this one twice: with the race detector
// and a sample of these cases, and without it and with all of them.
package raced

// Plays reports whether the i-th case of a test is played: each without the race detector, and one of n with it.
func Plays(i, n int) bool { return !Enabled || i%n == 0 }
