package annotation

import (
	"strings"
	"testing"
)

func TestIsID(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"lb-2zeazazAZ09._-": true,
		"":                  false,
		"lb`":               false, // before a
		"lb{":               false, // after z
		"lb@":               false, // before A
		"lb[":               false, // after Z
		"lb/":               false, // before 0
		"lb:":               false, // after 9
		"l\u00e4b":          false,
		"lb 1":              false,
		"lb,1":              false,
		"a":                 true, "z": true, "A": true, "Z": true, "0": true, "9": true,
		strings.Repeat("a", 64): true,
		strings.Repeat("a", 65): false,
	} {
		if got := IsID(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}
