package controller

import (
	"fmt"
	"strings"
	"testing"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// TestBounded: a long text loses whole items, from its middle, and no name is cut in two.
func TestBounded(t *testing.T) {
	t.Parallel()
	list := func(n int, separator string) string {
		items := make([]string, n)
		for i := range items {
			items[i] = fmt.Sprintf("annotation %sitem-number-%03d has no effect", annotation.Prefix, i)
		}
		return strings.Join(items, separator)
	}
	for _, separator := range []string{"; ", "\n"} {
		for _, n := range []int{1, 9, 12, 18, 25, 300} {
			text := list(n, separator) + separator + "next: do it"
			got := bounded(text)
			if len(got) > maxEventText || !strings.HasPrefix(got, "annotation "+annotation.Prefix+"item-number-000 ") ||
				!strings.HasSuffix(got, "next: do it") {
				t.Errorf("%d items: %q", n, got)
			}
			short := strings.ReplaceAll(strings.ReplaceAll(got, "…-", ""), annotation.Prefix, "")
			for item := range strings.FieldsFuncSeq(short, func(r rune) bool { return strings.ContainsRune(";…\n", r) }) {
				item = strings.TrimSpace(item)
				if item != "" && item != "next: do it" && (len(item) != len("annotation item-number-000 has no effect") ||
					!strings.HasPrefix(item, "annotation item-number-")) {
					t.Errorf("%d items: one is cut: %q", n, item)
				}
			}
			if n <= 18 && strings.Count(got, "item-number") != n {
				t.Errorf("%d items: %d are named: %q", n, strings.Count(got, "item-number"), got)
			}
		}
	}
	if got := bounded(strings.Repeat("ä", 2*maxEventText)); len(got) > maxEventText || strings.ToValidUTF8(got, "") != got {
		t.Errorf("a text without items: %d bytes", len(got))
	}
	if got := shortened(strings.Repeat("ten bytes; ", maxConditionText/10)); len(got) > maxConditionText+len(" …") ||
		!strings.HasSuffix(got, "ten bytes; …") {
		t.Errorf("a condition ends with %q", got[len(got)-30:])
	}
}
