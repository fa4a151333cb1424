package flow

import (
	"encoding/csv"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/limit"
)

// TestWhereLimitsAreFrom: each limit says where its number is from, and the page where it is published, with the month, stands
// at the top of the table. The simulator's table was written by itself: where a page has the number, both have the same.
func TestWhereLimitsAreFrom(t *testing.T) {
	t.Parallel()
	head, table, _ := strings.Cut(limitsCSV, "product,action,")
	used := map[string]int{}
	for _, source := range regexp.MustCompile(`(?m)^# ([a-z]+): `).FindAllStringSubmatch(head, -1) {
		used[source[1]] = 0
	}
	unpublished := map[string]bool{"kind": true, "terway": true}
	month := regexp.MustCompile(`(January|February|March|April|May|June|July|August|September|October|November|December) 20\d\d`)
	for source := range used {
		line := regexp.MustCompile(`(?m)^# ` + source + `: .*$`).FindString(head)
		if !unpublished[source] && (!month.MatchString(line) || !strings.Contains(line, ".com, ")) {
			t.Errorf("%q names no page with its month", line)
		}
	}
	theirs, err := limit.Default()
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader("product,action," + table)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, row := range rows[1:] {
		name, source := row[0]+"/"+row[1], row[4]
		if _, known := used[source]; !known {
			t.Errorf("%s is from %q, of which the table says nothing", name, source)
			continue
		}
		used[source]++
		other, there := theirs[name]
		if unpublished[source] || !there {
			continue
		}
		compared++
		window := strconv.Itoa(int(time.Duration(other.Window).Seconds()))
		if strconv.Itoa(other.Calls) != row[2] || window != row[3] {
			t.Errorf("%s: %s calls in %s s by %s, and the simulator has %d in %s s", name, row[2], row[3], source, other.Calls, window)
		}
	}
	for source, rows := range used {
		if rows == 0 {
			t.Errorf("no limit is from %s", source)
		}
	}
	if compared < 90 {
		t.Errorf("only %d published limits were compared", compared)
	}
}
