package nlb_test

import (
	"bytes"
	"encoding/csv"
	"maps"
	"os"
	"regexp"
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
		isOfTwo := name == "Cps" || name == "Tag" // An annotation sets it of one thing, and nothing of another.
		if listed := strings.Contains(list, "`"+name+"`"); (by == "none") != listed && !isOfTwo || by != "none" && by != "controller" && !isRow {
			t.Errorf("%s: requestfields.csv says %q, it stands in \"What no annotation sets\" of docs/nlb.md: %t, "+
				"there is such an annotation: %t; one of these is wrong", field, by, listed, isRow)
		}
	}
	compareWithPages(t, rows)
	// These decide what the controller does; IPv6 addresses and Secrets have requests of their own.
	others := []string{annotation.SyncPolicy, annotation.ForceOverride, annotation.PreserveOnDelete, annotation.IPv6AddressType,
		annotation.TLSSecret, annotation.NodeHealthCheck}
	for _, spec := range table {
		if spec.Scope != annotation.Backends && !used[spec.Key] && !slices.Contains(others, spec.Key) {
			t.Errorf("annotation %s sets no field of testdata/requestfields.csv", spec.Key)
		}
	}
}

// compareWithPages compares the rows with the parameters of the API's pages, as the simulator has them, of the requests that make or change
// an NLB, a listener or a server group.
func compareWithPages(t *testing.T, rows [][]string) {
	t.Helper()
	pages, err := os.ReadFile("../../../cloudgateway/openapisim/internal/documented/params.txt")
	if err != nil {
		t.Fatal(err)
	}
	actions := regexp.MustCompile(`^(Create|Update|Enable|Disable|LoadBalancer(Join|Leave)|Attach|Detach|StartShift|Associate|Set)`)
	others := regexp.MustCompile(`SecurityPolicy$|SecurityPolicyAttribute$|ServersAttribute$`) // These are not about one of the three.
	documented := map[string]bool{}
	for line := range strings.Lines(string(pages)) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] != "nlb" || !actions.MatchString(words[1]) || others.MatchString(words[1]) {
			continue
		}
		if words[1] == "SetHdMonitorRegionConfig" {
			documented[words[1]] = true
			continue
		}
		for _, word := range words[2:] {
			name, members, _ := strings.Cut(strings.TrimSuffix(word, "!"), ".N")
			switch {
			case name == "ZoneMappings":
				prefix := name + "."
				if words[1] == "StartShiftLoadBalancerZones" {
					prefix = words[1] + "." + prefix
				}
				for member := range strings.SplitSeq(strings.Trim(members, "{}"), ",") {
					documented[prefix+member] = true
				}
			case strings.HasPrefix(name, "HealthCheckConfig."):
				documented[strings.TrimPrefix(name, "HealthCheckConfig.")] = true
			case name == "ProxyProtocolV2Config": // The list of parameters doesn't have its members.
				for _, member := range []string{"Ppv2PrivateLinkEpIdEnabled", "Ppv2PrivateLinkEpsIdEnabled", "Ppv2VpcIdEnabled"} {
					documented[member] = true
				}
			default:
				documented[strings.TrimSuffix(name, ".PayType")] = true
			}
		}
	}
	listed := map[string]bool{}
	for _, row := range rows {
		listed[row[0]] = true
		if !documented[row[0]] && row[0] != "TrafficAffinityEnabled" { // Tools send it.
			t.Errorf("testdata/requestfields.csv: the pages have no %s", row[0])
		}
	}
	for _, field := range slices.Sorted(maps.Keys(documented)) {
		if !listed[field] {
			t.Errorf("testdata/requestfields.csv: %s of the pages is missing: say what sets it", field)
		}
	}
}
