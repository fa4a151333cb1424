package controller

import (
	"testing"

	"alicloud-controllers.dev/services/reconcile"
)

// TestTurns: a Service that shares a CLB waits, whatever else the others have, and is returned with its priority when the CLB is free.
func TestTurns(t *testing.T) {
	t.Parallel()
	var turns turns
	take := func(what, key string, want bool, ids ...string) {
		t.Helper()
		_, ok := turns.take(key, ids, reconcile.Node)
		check(t, what, want, ok)
	}
	take("first", "a", true, "lb-1", "lb-2")
	take("another load balancer", "b", true, "lb-3")
	take("none", "c", true)
	for range 2 {
		take("the same", "d", false, "lb-2")
	}
	by, ok := turns.take("d", []string{"lb-2"}, reconcile.User)
	check(t, "who has it", "a", by)
	check(t, "urgently", false, ok)
	take("one free and one not", "e", false, "lb-4", "lb-1")
	take("the free one", "f", true, "lb-4")
	check(t, "waiting", map[string]reconcile.Priority{"d": reconcile.User, "e": reconcile.Node}, turns.pass([]string{"lb-1", "lb-2"}))
	check(t, "waiting for the others", 0, len(turns.pass([]string{"lb-3"}))+len(turns.pass(nil)))
	take("later", "d", true, "lb-2")
}
