package clb

import "testing"

// TestIsDomain: 253 characters are the most that a name may have.
func TestIsDomain(t *testing.T) {
	t.Parallel()
	label := "abcdefghijklmnopqrstuvwxyz-0123456789."
	long := ""
	for len(long) < 253 {
		long += label
	}
	for text, want := range map[string]bool{
		"www.example.com": true, "*.example.com": true, "": false, "a_b.example.com": false, "a b": false, "WWW.example.com": false,
		long[:253]: true, long[:254]: false,
	} {
		if got := isDomain(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}
