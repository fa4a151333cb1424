package fault

import (
	"testing"
	"time"
)

// Every rule of a weather can be put in force, has a name of its own, and strikes a few calls in a hundred.
func TestWeather(t *testing.T) {
	t.Parallel()
	for _, name := range Weathers() {
		rules, seen := Weather(name), map[string]bool{}
		set := NewSet(nil)
		if err := set.Replace(rules, time.Time{}); err != nil || len(rules) == 0 {
			t.Fatalf("%s: %d rules, %v", name, len(rules), err)
		}
		for _, r := range rules {
			if seen[r.ID] {
				t.Errorf("%s has two rules %s", name, r.ID)
			}
			seen[r.ID] = true
		}
		for _, call := range []Call{
			{Product: "vpc", Action: "CreateRouteEntry", Mutating: true}, {Product: "slb", Action: "AddVServerGroupBackendServers",
				Mutating: true},
			{Product: "nlb", Action: "CreateListener", Mutating: true}, {Product: "ecs", Action: "RunInstances", Mutating: true},
			{Product: "nlb", Action: "ListListeners"},
		} {
			codes, struck := map[string]int{}, 0
			for range 2000 {
				if r := set.Strike(call, time.Time{}); r != nil {
					codes[r.Error.Code]++
					struck++
				}
			}
			if struck < 20 || struck > 400 {
				t.Errorf("%s strikes %d of 2000 calls of %s: %v", name, struck, call.Action, codes)
			}
		}
	}
	if Weather("fair") != nil {
		t.Error("there is a weather that nobody knows")
	}
}
