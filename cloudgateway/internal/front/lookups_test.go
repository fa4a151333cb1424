package front

import "testing"

// TestPlacesOfNobody: of a caller that looks nothing up any more, nothing is kept.
func TestPlacesOfNobody(t *testing.T) {
	t.Parallel()
	l := &lookups{}
	for range 2 * mostLookups {
		leave, err := l.enter(t.Context(), "tool")
		if err != nil {
			t.Fatal(err)
		}
		if len(l.of) != 1 {
			t.Errorf("%d callers have places, want 1", len(l.of))
		}
		leave()
		if len(l.of) != 0 {
			t.Errorf("%d callers have places, want none", len(l.of))
		}
	}
}
