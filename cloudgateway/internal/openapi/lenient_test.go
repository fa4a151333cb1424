package openapi

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type common struct {
	Embedded int
}

type document struct {
	common
	Text  string `json:"text,omitempty"`
	Count int64
	Ratio float64
	Flag  bool
	List  struct {
		Item []struct{ Port int }
	}
	Tags   map[string]string
	Ptr    *int
	Raw    json.RawMessage
	Ignore string `json:"-"`
}

func TestDecode(t *testing.T) {
	number := 7
	tests := []struct {
		name, body string
		want       document
		wantErr    bool
	}{
		{name: "exact", body: `{"text":"a","Count":1,"Ratio":0.5,"Flag":true,"Ptr":7}`, want: document{Text: "a", Count: 1,
			Ratio: 0.5, Flag: true, Ptr: &number}},
		{name: "numbers as strings", body: `{"Count":"12345678901234567","Ratio":"0.5","Ptr":"7","Embedded":"3"}`,
			want: document{Count: 12345678901234567, Ratio: 0.5, Ptr: &number, common: common{3}}},
		{name: "other fields keep their digits", body: `{"Count":12345678901234567,"Flag":"true"}`,
			want: document{Count: 12345678901234567, Flag: true}},
		{name: "strings as numbers", body: `{"Text":5}`, want: document{Text: "5"}},
		{name: "strings as booleans", body: `{"text":true}`, want: document{Text: "true"}},
		{name: "booleans as strings", body: `{"Flag":"on"}`, want: document{Flag: true}},
		{name: "booleans as numbers", body: `{"Flag":0,"Count":true}`, want: document{Count: 1}},
		{name: "empty strings", body: `{"Count":"","Flag":"","Tags":"","List":""}`},
		{name: "empty string for a list", body: `{"List":{"Item":""}}`},
		{name: "inside lists and maps", body: `{"List":{"Item":[{"Port":"80"},{"Port":443}]},"Tags":{"a":1}}`,
			want: document{List: struct{ Item []struct{ Port int } }{[]struct{ Port int }{{80}, {443}}}, Tags: map[string]string{"a": "1"}}},
		{name: "raw stays raw", body: `{"Raw":"5","Count":"1"}`, want: document{Count: 1, Raw: json.RawMessage(`"5"`)}},
		{name: "null", body: `{"Count":null,"Flag":"false"}`},
		{name: "no number", body: `{"Count":"many"}`, wantErr: true},
		{name: "no object", body: `{"List":[1]}`, wantErr: true},
		{name: "no list", body: `{"List":{"Item":{}}}`, wantErr: true},
		{name: "no JSON", body: `hello`, wantErr: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got document
			err := Decode([]byte(tt.body), &got)
			if (err != nil) != tt.wantErr {
				t.Fatalf("error %v, want one: %t", err, tt.wantErr)
			}
			if tt.wantErr {
				return
			}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(document{})); diff != "" {
				t.Errorf("document (-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzDecode checks that whatever decodes strictly decodes the same, and that nothing panics.
func FuzzDecode(f *testing.F) {
	f.Add(`{"Count":"1","List":{"Item":[{"Port":"80"}]}}`)
	f.Add(`{"Flag":"on","Tags":{"a":1},"Raw":[]}`)
	f.Fuzz(func(t *testing.T, body string) {
		var strict, lenient document
		strictErr := json.Unmarshal([]byte(body), &strict)
		err := Decode([]byte(body), &lenient)
		if strictErr != nil {
			return
		}
		if diff := cmp.Diff(strict, lenient, cmp.AllowUnexported(document{})); err != nil || diff != "" {
			t.Errorf("error %v (-strict +lenient):\n%s", err, diff)
		}
	})
}
