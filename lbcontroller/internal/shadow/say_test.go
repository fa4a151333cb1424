package shadow

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestSettle: conditions of other types stay, and what says something else than before is said.
func TestSettle(t *testing.T) {
	t.Parallel()
	of := func(kind, reason, message string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: message}
	}
	for name, c := range map[string]struct {
		have, put []metav1.Condition
		said      string
		types     string
	}{
		"new":             {nil, []metav1.Condition{of("A", "x", "1"), of("B", "y", "2")}, "A B", "A B"},
		"the same":        {[]metav1.Condition{of("A", "x", "1")}, []metav1.Condition{of("A", "x", "1")}, "", "A"},
		"another reason":  {[]metav1.Condition{of("A", "x", "1")}, []metav1.Condition{of("A", "y", "1")}, "A", "A"},
		"another message": {[]metav1.Condition{of("A", "x", "1")}, []metav1.Condition{of("A", "x", "2")}, "A", "A"},
		"one of others":   {[]metav1.Condition{of("Theirs", "x", "1")}, []metav1.Condition{of("A", "x", "2")}, "A", "Theirs A"},
	} {
		var said, types []string
		Settle(&c.have, c.put, func(p metav1.Condition) { said = append(said, p.Type) })
		for _, have := range c.have {
			types = append(types, have.Type)
		}
		if strings.Join(said, " ") != c.said || strings.Join(types, " ") != c.types {
			t.Errorf("%s: said of %q, and there are %q", name, said, types)
		}
	}
}
