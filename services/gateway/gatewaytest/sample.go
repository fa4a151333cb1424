package gatewaytest

import "testing"

// Every is by how much a test that lets something happen at each call goes on: 1, and n with -short, for the inner loop.
// make test tries each call.
func Every(n int) int {
	if testing.Short() {
		return n
	}
	return 1
}

// From is the call at which such a test begins: 0, and with -short one that depends on which case it is, so that the
// cases try different calls between them.
func From(which, n int) int {
	if testing.Short() {
		return which % n
	}
	return 0
}
