package check

import (
	"fmt"
	"strings"
	"testing"

	"alicloud-controllers.dev/proto/rpcerr"
)

func TestViolationsAreBounded(t *testing.T) {
	var c Request
	for i := range 5000 {
		c.ID(fmt.Sprintf("instance_ids[%d]", i), "no id")
	}
	e, ok := rpcerr.From(c.Err())
	if !ok || len(e.Fields) != maxViolations {
		t.Fatalf("%d violations, want %d", len(e.Fields), maxViolations)
	}
	if last := e.Fields[maxViolations-1].Description; !strings.HasSuffix(last, "; and there are more problems") {
		t.Errorf("the last one says %q, not that others were left out", last)
	}
}

func TestRequestID(t *testing.T) {
	const want = "request_id: must be 1 to 64 printable ASCII characters"
	for _, tc := range []struct {
		value              string
		required, optional string
	}{
		{"", want, ""},
		{"r", "", ""},
		{"3f2c/uid#1~!", "", ""},
		{strings.Repeat("r", 64), "", ""},
		{strings.Repeat("r", 65), want, want},
		{"two words", want, want},
		{"tab\there", want, want},
		{"é", want, want},
	} {
		var required, optional Request
		required.requestID(tc.value, true)
		optional.requestID(tc.value, false)
		if got := said(required); got != tc.required {
			t.Errorf("%q where one is required: %q, want %q", tc.value, got, tc.required)
		}
		if got := said(optional); got != tc.optional {
			t.Errorf("%q where none is required: %q, want %q", tc.value, got, tc.optional)
		}
	}
}

// said is what a check complains of.
func said(c Request) string {
	var all []string
	for _, v := range c.violations {
		all = append(all, v.Field+": "+v.Description)
	}
	return strings.Join(all, "; ")
}
