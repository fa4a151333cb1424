//go:build !race

package kubetest

// raceCost is what the race detector makes of processor time.
const raceCost = 1
