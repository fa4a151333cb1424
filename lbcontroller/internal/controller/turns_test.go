package controller

import "testing"

// TestTurns: a Service that shares a CLB waits, whatever else the others have, and is returned when the CLB is free.
func TestTurns(t *testing.T) {
	t.Parallel()
	var turns turns
	check(t, "first", true, turns.take("a", []string{"lb-1", "lb-2"}))
	check(t, "another CLB", true, turns.take("b", []string{"lb-3"}))
	check(t, "none", true, turns.take("c", nil))
	for range 2 {
		check(t, "the same", false, turns.take("d", []string{"lb-2"}))
	}
	check(t, "one free and one not", false, turns.take("e", []string{"lb-4", "lb-1"}))
	check(t, "the free one", true, turns.take("f", []string{"lb-4"}))
	check(t, "waiting", []string{"e", "d"}, turns.pass([]string{"lb-1", "lb-2"}))
	check(t, "waiting for the others", 0, len(turns.pass([]string{"lb-3"}))+len(turns.pass(nil)))
	check(t, "later", true, turns.take("d", []string{"lb-2"}))
}
