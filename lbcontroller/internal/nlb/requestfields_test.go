package nlb_test

import (
	"bytes"
	"encoding/csv"
	"os"
	"slices"
	"strings"
	"testing"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// TestRequestFields: each field of the API that can be set has an annotation, is the controller's, or stands in the list of docs/nlb.md of
// what no annotation sets; and each annotation about a load balancer, a listener or a server group sets one.
func TestRequestFields(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/requestfields.csv")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../../docs/nlb.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(page), "## What no annotation sets\n")
	reader := csv.NewReader(bytes.NewReader(text))
	reader.Comment = '#'
	rows, err := reader.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	table, used := annotation.TableFor(annotation.NLB), map[string]bool{}
	for _, row := range rows {
		field, by := row[0], row[1]
		used[by] = true
		isRow := slices.ContainsFunc(table, func(s annotation.Spec) bool { return s.Key == by })
		name := field[strings.LastIndex(field, ".")+1:]
		if listed := strings.Contains(list, "`"+name+"`"); (by == "none") && !listed || by != "none" && by != "controller" && !isRow {
			t.Errorf("%s: %s: listed in docs/nlb.md %t, an annotation %t", field, by, listed, isRow)
		}
	}
	// These decide what the controller does; IPv6 addresses and Secrets have requests of their own.
	others := []string{annotation.SyncPolicy, annotation.ForceOverride, annotation.PreserveOnDelete, annotation.IPv6AddressType,
		annotation.TLSSecret, annotation.NodeHealthCheck}
	for _, spec := range table {
		if spec.Scope != annotation.Backends && !used[spec.Key] && !slices.Contains(others, spec.Key) {
			t.Errorf("annotation %s sets no field of testdata/requestfields.csv", spec.Key)
		}
	}
}
