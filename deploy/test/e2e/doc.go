// Package e2e tests the whole: the real processes, each with the identity and the permissions that the chart gives it, against
// a real API server and a simulated cloud. What the cloud was asked is counted from its journal.
package e2e
