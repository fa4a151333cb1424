package cloud

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// thing is what an answer of the cloud is decoded into.
type thing struct {
	ID     string
	Size   int32
	On     *bool
	Big    bool
	Within string
	Names  []string
	Words  []string
	Places []int32
}

func decodeThing(object []byte) (thing, error) {
	var t thing
	err := Decode(object, Fields{
		"Id": Required(&t.ID), "Size": &t.Size, "On": &t.On, "Kind": Via(&t.Big, func(word string) bool { return word == "big" }),
		"Inner": Fields{"Within": &t.Within, "Names": &t.Names, "Words": Texts(&t.Words, "Word")},
		"Places": Each(&t.Places, func(item []byte) (place int32, err error) {
			err = Decode(item, Fields{"Place": &place})
			return place, err
		}),
	})
	return t, err
}

func TestDecode(t *testing.T) {
	on := true
	tests := []struct {
		name, object string
		want         thing
		wrong        string // in the error
	}{
		{name: "the least", object: `{"Id":"a","Other":[{}]}`, want: thing{ID: "a"}},
		{
			name: "everything",
			object: `{"Id":"a","Size":2,"On":true,"Kind":"big","Inner":{"Within":"b","Names":["c"],"Words":[{"Word":"d"},{"Word":"e"}]},
				"Places":[{"Place":1},{"Place":2}]}`,
			want: thing{ID: "a", Size: 2, On: &on, Big: true, Within: "b", Names: []string{"c"}, Words: []string{"d", "e"}, Places: []int32{1, 2}},
		},
		{
			name:   "other types, and letters of the other size",
			object: `{"id":5,"SIZE":"2","On":"true","Inner":{"Within":1,"Words":[{"Word":2}]},"Places":[{"Place":"3"}]}`,
			want:   thing{ID: "5", Size: 2, On: &on, Within: "1", Words: []string{"2"}, Places: []int32{3}},
		},
		{
			name:   "nothing in the place of something",
			object: `{"Id":"a","Size":"","On":null,"Kind":null,"Inner":"","Places":""}`, want: thing{ID: "a"},
		},
		{name: "null within", object: `{"Id":"a","Inner":{"Within":null,"Names":null,"Words":""},"Places":null}`, want: thing{ID: "a"}},
		{name: "what is required is missing", object: `{"Size":2}`, wrong: "Id is missing"},
		{name: "what is required is null", object: `{"Id":null}`, wrong: "Id is missing"},
		{name: "what is required is empty", object: `{"Id":""}`, wrong: "Id is missing"},
		{name: "null in the place of an object with something required", object: `null`, wrong: "Id is missing"},
		{name: "names with escapes", object: `{"\u0049d":"a","S\u0069ze":2}`, want: thing{ID: "a", Size: 2}},
		{name: "no number", object: `{"Id":"a","Size":"much"}`, wrong: "Size: "},
		{name: "no object within", object: `{"Id":"a","Inner":[1]}`, wrong: "Inner: "},
		{name: "no text in a list", object: `{"Id":"a","Inner":{"Words":[{"Word":{}}]}}`, wrong: "Inner: Words: Word: "},
		{name: "no list", object: `{"Id":"a","Places":{}}`, wrong: "Places: "},
		{name: "no object", object: `[]`, wrong: "cannot unmarshal array"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got thing
			err := json.Unmarshal([]byte(tt.object), One(&got, decodeThing))
			if (err != nil) != (tt.wrong != "") || err != nil && !strings.Contains(err.Error(), tt.wrong) {
				t.Fatalf("got %v, want %q", err, tt.wrong)
			}
			if diff := cmp.Diff(tt.want, got); tt.wrong == "" && diff != "" {
				t.Errorf("thing (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDecodeReadsOnce: an error is one, whatever a second reading of the same answer would find.
func TestDecodeReadsOnce(t *testing.T) {
	var names []string
	total := 0
	err := json.Unmarshal([]byte(`{"Total":"many","Names":[{"Name":"a"}],"Total":2}`),
		&Fields{"Total": &total, "Names": Texts(&names, "Name")})
	if err == nil {
		t.Errorf("got %d of %d names, want an error", len(names), total)
	}
}

// FuzzMembers checks that values are cut where encoding/json cuts them, and that nothing panics.
func FuzzMembers(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"a":1}`, ` {"a" : "b\\" , "c":"\"}" ,"d":[1,{"e":[]}, null ] }`, `{"a":{"b":{}},"c":-1.5e3}`, `{"a":"]"`,
		`[{"a":1}]`, `{"a`, `{"a":"b\`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		document = bytes.TrimSpace(document)
		if len(document) == 0 {
			return
		}
		got := map[string]string{}
		for name, value := range members(document) {
			got[string(name)] = string(value)
		}
		count := 0
		for range items(document) {
			count++
		}
		var object map[string]json.RawMessage
		var list []json.RawMessage
		switch {
		case bytes.Contains(document, []byte("\\u")):
			return // Names of the cloud are not written so.
		case document[0] == '{' && json.Unmarshal(document, &object) == nil:
			for name, value := range object {
				if quoted, _ := json.Marshal(name); string(quoted) == `"`+name+`"` && got[name] != string(value) {
					t.Errorf("%s: got %s, want %s", name, got[name], value)
				}
			}
		case document[0] == '[' && json.Unmarshal(document, &list) == nil && count != len(list):
			t.Errorf("%d items, want %d", count, len(list))
		}
	})
}

// TestForms: the same value in another form; the cloud changes them between regions.
func TestForms(t *testing.T) {
	var (
		text  string
		count int64
		port  int32
		ratio float64
		flag  bool
		list  []string
	)
	fields := Fields{"Text": &text, "Count": &count, "Port": &port, "Ratio": &ratio, "Flag": &flag, "List": &list}
	for object, want := range map[string]any{
		`{"Count":"12345678901234567"}`: int64(12345678901234567), `{"Count":12345678901234567}`: int64(12345678901234567),
		`{"Count":true}`: int64(1), `{"Count":false}`: int64(0), `{"Count":""}`: int64(0), `{"Ratio":"0.5"}`: 0.5, `{"Text":5}`: "5",
		`{"Text":true}`: "true", `{"Flag":"on"}`: true, `{"Flag":"True"}`: true, `{"Flag":1}`: true, `{"Flag":"1"}`: true,
		`{"Flag":0}`: false, `{"Flag":"0"}`: false, `{"Flag":"off"}`: false, `{"Flag":""}`: false, `{"List":""}`: []string(nil),
		`{"List":["a",5,true]}`: []string{"a", "5", "true"},
		`{"Port":-2147483648}`:  int32(math.MinInt32), `{"Port":2147483647}`: int32(math.MaxInt32), `{"Port":-0}`: int32(0),
		`{"Port":"80"}`: int32(80), `{"Port":""}`: int32(0), `{"Port":null}`: int32(0), `{"Port":true}`: int32(1),
	} {
		text, count, port, ratio, flag, list = "", 0, 0, 0, false, nil
		err := Decode([]byte(object), fields)
		got := map[byte]any{'T': text, 'C': count, 'P': port, 'R': ratio, 'F': flag, 'L': list}[object[2]]
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", object, err, diff)
		}
	}
	for _, object := range []string{
		`{"Count":"many"}`, `{"Count":{}}`, `{"Flag":"perhaps"}`, `{"Text":{}}`, `{"Text":[]}`, `{"List":{}}`, `{"List":"a"}`,
		`{"Count":1.5}`, `{"Count":"{}"}`, `{"Ratio":[]}`,
		`{"Port":2147483648}`, `{"Port":1e3}`, `{"Port":"1_000"}`, `{"Port":"x"}`,
	} {
		if err := Decode([]byte(object), fields); err == nil {
			t.Errorf("%s was read", object)
		}
	}
}

// FuzzDecode checks that whatever encoding/json reads is read as the same, and that nothing panics.
func FuzzDecode(f *testing.F) {
	f.Add(`{"Count":"1","List":["80"]}`)
	f.Add(`{"Flag":"on","Text":5,"List":null,"Port":-80}`)
	f.Add(` {"Text" : "b\\" , "Count":-1 , "List":[ "\"}", "]" ] }`)
	type document struct {
		Text  string
		Count int64
		Port  int32
		Flag  bool
		List  []string
	}
	f.Fuzz(func(t *testing.T, body string) {
		var strict, lenient document
		strictErr := json.Unmarshal([]byte(body), &strict)
		err := json.Unmarshal([]byte(body), &Fields{
			"Text": &lenient.Text, "Count": &lenient.Count, "Port": &lenient.Port, "Flag": &lenient.Flag, "List": &lenient.List,
		})
		if strictErr != nil || strings.Count(strings.ToLower(body), "list") > 1 { // A second list is added to the first.
			return
		}
		if diff := cmp.Diff(strict, lenient, cmpopts.EquateEmpty()); err != nil || diff != "" {
			t.Errorf("error %v (-strict +lenient):\n%s", err, diff)
		}
	})
}

// TestPlainValuesMakeNoGarbage: a group can have a thousand servers, with two numbers each.
func TestPlainValuesMakeNoGarbage(t *testing.T) {
	var id string
	var port, weight int32
	fields := Fields{"ServerId": &id, "Port": &port, "Weight": &weight}
	made := testing.AllocsPerRun(100, func() {
		if err := Decode([]byte(`{"ServerId": "i-1", "Port": 30000, "Weight": 100, "Type": "ecs"}`), fields); err != nil {
			t.Error(err)
		}
	})
	if made > 2 {
		t.Errorf("%v allocations, want the text's and one for what is read", made)
	}
	if id != "i-1" || port != 30000 || weight != 100 {
		t.Errorf("got %s %d %d", id, port, weight)
	}
}
