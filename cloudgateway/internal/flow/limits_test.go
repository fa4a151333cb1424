package flow

import "testing"

// TestNoActionHasTwoLimits: the last of two rows would count, and who adds one doesn't see that there was another.
func TestNoActionHasTwoLimits(t *testing.T) {
	const head, row = "product,action,calls,seconds,source\n", "vpc,DescribeVpcs,300,60,kind\n"
	if limits, err := parse(head + row); err != nil || len(limits) != 1 {
		t.Errorf("one row: %v, %v", limits, err)
	}
	if _, err := parse(head + row + row); err == nil {
		t.Error("two rows of one action are taken")
	}
}
