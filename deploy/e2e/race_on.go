//go:build race

package e2e

// raceEnabled: the processes under test are built like the test.
const raceEnabled = true
