package annotation

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestNewAnnotationsAreTold: CHANGELOG.md names each annotation under Unreleased that does not stand in testdata/released.txt. A release
// adds its annotations there. What each does is generated, into docs/reference/annotations.md.
func TestNewAnnotationsAreTold(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	_, unreleased, found := strings.Cut(read("../../../CHANGELOG.md"), "\n## Unreleased\n")
	unreleased, _, _ = strings.Cut(unreleased, "\n## ")
	if !found {
		t.Fatal("CHANGELOG.md has no part Unreleased")
	}
	released := strings.Fields(read("testdata/released.txt"))
	for _, kind := range everyKind() {
		for _, spec := range TableFor(kind) {
			word := regexp.MustCompile("`" + regexp.QuoteMeta(spec.Key) + "[`: ]")
			if !slices.Contains(released, spec.Key) && !word.MatchString(unreleased) {
				t.Errorf("%s: a line for users is missing in CHANGELOG.md, Unreleased", spec.Key)
			}
		}
	}
}
