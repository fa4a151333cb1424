package annotation

import "testing"

// TestParseAllocates little for the keys of the table that aren't set: each Service is parsed several times in each event of a node.
func TestParseAllocates(t *testing.T) {
	parser, annotations := NewParser(CLB), map[string]string{Applied: "", LegacyPrefix + Scheduler: "wrr"}
	allocations := testing.AllocsPerRun(100, func() {
		values, _ := parser.Parse(annotations)
		_ = values.Kept()
		parser.AppliedNote(annotations)
	})
	t.Logf("%.0f allocations", allocations)
	if allocations > float64(len(parser.specs))/2 {
		t.Errorf("%.0f allocations for a table of %d keys of which one is set", allocations, len(parser.specs))
	}
	if made := testing.AllocsPerRun(10, func() { TableFor(NLB) }); made > 0 {
		t.Errorf("%.0f allocations for the table of a kind, which a pass over a Service looks at several times", made)
	}
}
