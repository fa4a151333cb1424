package strictjson

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type part struct {
	Name  string     `json:"name"`
	Count *int       `json:"count,omitempty"`
	At    *time.Time `json:"at,omitempty"`
}

func (p *part) Validate() error {
	if p.Name == "" {
		return errors.Join(errors.New("name: is required"), errors.New("count: is useless without a name"))
	}
	return nil
}

type document struct {
	Parts []part           `json:"parts"`
	Named map[string]*part `json:"named"`
	Plain []string         `json:"plain"`
	Kept  string           `json:"kept"`
	Not   string           `json:"-"`
}

// All mistakes of a document are reported, each with its place.
func TestEverythingWrongIsReported(t *testing.T) {
	t.Parallel()
	err := Unmarshal([]byte(`{
		"parts": [{"name": "a", "count": "many"}, {"count": 1}, {"name": "b", "colour": "red"}], "named": {"x": {"name": 7}}, "plain": "no list",
		"-": 1, "speed": 9, "kept": null}`), &document{})
	if err == nil {
		t.Fatal("no error")
	}
	want := []string{
		"-: there is no such key; known are kept, named, parts, plain",
		`named["x"].name: is of the wrong form: number instead of string`,
		"parts[0].count: is of the wrong form: string instead of int",
		"parts[1]: name: is required",
		"parts[1]: count: is useless without a name",
		"parts[2].colour: there is no such key; known are at, count, name",
		"plain: is of the wrong form: string instead of []json.RawMessage",
		"speed: there is no such key; known are kept, named, parts, plain",
	}
	if diff := cmp.Diff(want, strings.Split(err.Error(), "\n")); diff != "" {
		t.Errorf("mistakes (-want +got):\n%s", diff)
	}
}

// What a document does not name stays.
func TestUnmarshalKeepsTheRest(t *testing.T) {
	t.Parallel()
	got := document{Kept: "kept"}
	if err := Unmarshal([]byte(`{"parts": [{"name": "a", "at": "2026-01-01T00:00:00Z"}], "named": {"x": null}}`), &got); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	want := document{Kept: "kept", Parts: []part{{Name: "a", At: &at}}, Named: map[string]*part{"x": nil}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}
	for _, broken := range []string{"", "{", "{} {}", "7"} {
		if Unmarshal([]byte(broken), &document{}) == nil {
			t.Errorf("%q is read", broken)
		}
	}
}
