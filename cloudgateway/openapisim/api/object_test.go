package api

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestObject(t *testing.T) {
	t.Parallel()
	o := Object{
		"Text", "a<b", "Number", 1, "Long", int64(2), "Yes", true, "Float", 1.5, "None", nil, "Left", NonZero(""), "Kept", NonZero(3),
		"List", []string(nil), "Objects", []Object(nil), "Names", []string{"a", "b"}, "Numbers", []int{1, 2},
		"Each", Objects([]int{4, 5}, func(n int) Object { return Object{"N", n} }), "Inner", Object{}, "Raw", json.RawMessage(`{"x":1}`),
	}
	want := `{"Text":"a\u003cb","Number":1,"Long":2,"Yes":true,"Float":1.5,"None":null,"Kept":3,"List":[],"Objects":[],"Names":["a","b"],` +
		`"Numbers":[1,2],"Each":[{"N":4},{"N":5}],"Inner":{},"Raw":{"x":1}}`
	if diff := cmp.Diff(want, string(o.AppendJSON(nil))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if encoded, err := json.Marshal(map[string]any{"o": Object{"NotFirst", 1}}); err != nil || string(encoded) != `{"o":{"NotFirst":1}}` {
		t.Errorf("%s, %v", encoded, err)
	}
}
