package model_test

import (
	"slices"
	"testing"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
)

// TestLists: a list is empty whatever it was before, has no room that is another's, and belongs to one pass at a time.
func TestLists(t *testing.T) {
	used := model.Server{ServerKey: model.ServerKey{ID: "i-1", IP: "10.0.0.1", Port: 80}, Weight: 100, Description: "of the pass before"}
	var pool model.Pool
	before, pass := pool.Lend(), pool.Lend()
	for range 100 { // The pool keeps none at times.
		for _, n := range []int{1, 3, 1000, 64, 0} {
			list := before.Make(n)
			for i := range list {
				list[i] = used
			}
			list = append(list, used)
			if n > 0 {
				_ = append(list, used)
			}
		}
		before.Return()
		before.Return() // They are not there twice.
		first, second := pass.Make(900), pass.Make(7)
		for _, list := range [][]model.Server{first, second} {
			if len(list) != cap(list) || slices.ContainsFunc(list, func(s model.Server) bool { return s != model.Server{} }) {
				t.Fatalf("a list of length %d has the capacity %d, or servers of the pass before: %v", len(list), cap(list), list[:3])
			}
		}
		for i := range first {
			first[i] = used
		}
		if second[0] != (model.Server{}) {
			t.Fatal("two lists of a pass are one")
		}
		pass.Return()
	}
	var none *model.Lists
	if list := none.Make(5); len(list) != 5 {
		t.Errorf("without Lists a list has the length %d, want 5", len(list))
	}
}
