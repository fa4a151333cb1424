package plan_test

import (
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// TestStepsOfAList: room is made in a list that is full without letting anybody in whom the list keeps out: what drops the rest stays,
// and so does the last entry until others are there.
func TestStepsOfAList(t *testing.T) {
	t.Parallel()
	accepts := func(entry string) bool { return strings.HasPrefix(entry, "accept") }
	for name, test := range map[string]struct {
		change ChangeList
		want   []ChangeList
	}{
		"there is room": {
			ChangeList{Add: []string{"accept c"}, Remove: []string{"accept a", "accept b"}},
			[]ChangeList{{Add: []string{"accept c"}, Remove: []string{"accept a", "accept b"}}},
		},
		"it is full": {
			ChangeList{Add: []string{"accept c"}, Remove: []string{"accept a", "accept b", "drop d"}, RemoveFirst: true},
			[]ChangeList{{Remove: []string{"accept a", "accept b"}, RemoveFirst: true},
				{Add: []string{"accept c"}, Remove: []string{"drop d"}, RemoveFirst: true}},
		},
		"nothing stays": {
			ChangeList{Add: []string{"accept c"}, Remove: []string{"accept a", "accept b"}, RemoveFirst: true},
			[]ChangeList{{Remove: []string{"accept a"}, RemoveFirst: true},
				{Add: []string{"accept c"}, Remove: []string{"accept b"}, RemoveFirst: true}},
		},
		"one for the only one": {
			ChangeList{Add: []string{"accept c"}, Remove: []string{"accept a"}, RemoveFirst: true},
			[]ChangeList{{Add: []string{"accept c"}, Remove: []string{"accept a"}, RemoveFirst: true}},
		},
		"one for one of many": {
			ChangeList{Add: []string{"accept c"}, Remove: []string{"accept a"}, Stays: 299, RemoveFirst: true},
			[]ChangeList{{Remove: []string{"accept a"}, Stays: 299, RemoveFirst: true}, {Add: []string{"accept c"}, Stays: 299, RemoveFirst: true}},
		},
		"nothing comes": {
			ChangeList{Remove: []string{"accept a", "accept b"}, RemoveFirst: true},
			[]ChangeList{{Remove: []string{"accept a", "accept b"}, RemoveFirst: true}},
		},
	} {
		if diff := gocmp.Diff(test.want, test.change.Steps(accepts)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
