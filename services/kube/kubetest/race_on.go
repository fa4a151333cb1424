//go:build race

package kubetest

// raceCost is what the race detector makes of processor time (source: go.dev/doc/articles/race_detector, "by 2-20x").
const raceCost = 20
