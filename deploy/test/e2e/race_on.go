//go:build race

package e2e

// raceEnabled reports whether the tests have the race detector.
const raceEnabled = true
