package flow

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Limit is a rate limit as the cloud states it: so many calls in a window.
type Limit struct {
	Calls  int
	Window time.Duration
}

// isBucket reports that the cloud counts with a bucket that fills all the time, and not in windows that begin with the clock's.
func (l Limit) isBucket() bool { return l.Window <= time.Second }

// part is a share of so many calls, at least one.
func part(calls, share float64) int {
	return max(1, int(calls*share+epsilon))
}

//go:embed limits.csv
var limitsCSV string

// Limits returns the cloud's limits by "product/Action".
func Limits() (map[string]Limit, error) {
	r := csv.NewReader(strings.NewReader(limitsCSV))
	r.Comment = '#'
	rows, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("read limits.csv: %w", err)
	}
	limits := make(map[string]Limit, len(rows))
	for _, row := range rows[1:] {
		calls, callsErr := strconv.Atoi(row[2])
		seconds, secondsErr := strconv.Atoi(row[3])
		name := row[0] + "/" + row[1]
		if callsErr != nil || secondsErr != nil || calls < 1 || seconds < 1 {
			return nil, fmt.Errorf("read limits.csv: %s: bad limit %s/%ss", name, row[2], row[3])
		}
		limits[name] = Limit{Calls: calls, Window: time.Duration(seconds) * time.Second}
	}
	return limits, nil
}

// unlisted is what an action gets that the table does not have: as little as the least of its kind.
func unlisted(action string) Limit {
	for _, read := range []string{"Describe", "List", "Get"} {
		if strings.HasPrefix(action, read) {
			return Limit{Calls: 300, Window: time.Minute}
		}
	}
	return Limit{Calls: 60, Window: time.Minute}
}
