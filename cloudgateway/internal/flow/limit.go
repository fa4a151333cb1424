package flow

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"slices"
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

// part is that part of a limit; 0 stands for all of it.
func (l Limit) part(of float64) Limit {
	if of > 0 {
		l.Calls = part(float64(l.Calls), of)
	}
	return l
}

// part is a share of so many calls, at least one.
func part(calls, share float64) int {
	return max(1, int(calls*share+epsilon))
}

//go:embed limits.csv
var limitsCSV string

// Limits returns the cloud's limits by "product/Action".
func Limits() (map[string]Limit, error) { return parse(limitsCSV) }

func parse(table string) (map[string]Limit, error) {
	r := csv.NewReader(strings.NewReader(table))
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
		if _, twice := limits[name]; twice {
			return nil, fmt.Errorf("read limits.csv: %s has two rows", name)
		}
		limits[name] = Limit{Calls: calls, Window: time.Duration(seconds) * time.Second}
	}
	return limits, nil
}

// Reads reports whether an action changes nothing, by its name.
func Reads(action string) bool {
	return slices.ContainsFunc([]string{"Describe", "List", "Get"}, func(word string) bool { return strings.HasPrefix(action, word) })
}

// least is what an action gets of a product that the table does not have: as little as the least of its kind.
func least(action string) Limit {
	if Reads(action) {
		return Limit{Calls: 300, Window: time.Minute}
	}
	return Limit{Calls: 60, Window: time.Minute}
}

const (
	fall        = 0.9       // of the calls that were granted when the cloud refused one: what goes afterwards
	deepestFall = 0.5       // of the allowance, at once: others may have used up the limit for once
	bucketFall  = 0.85      // of the allowance of a bucket, which does not show how many calls it has granted
	nearly      = 0.95      // of the allowance at which the cloud refused a call: what it grows to first
	soon        = 4         // windows later
	firstStep   = 1.0 / 512 // of the limit, by which it grows in a window after that
	nextStep    = 4         // times as much in the next
)

// allowance is how many calls of an action the gateway may send in a window. It is the cloud's limit as long as no other client uses it.
//
// Others show when the cloud refuses a call although the gateway has sent less than the limit. Then the allowance falls to the
// gateway's share at once, and in further windows below what was granted in them. So it does if the limit is lower than documented. While
// calls wait and none is refused, it grows again: in a few windows to a little less than where it was refused, which is
// probably all that there is, and from there on slowly at first and faster each time. So several gateways come to equal
// allowances, and one that was left alone has the whole limit again after some windows.
type allowance struct {
	limit  float64 // as documented, or configured
	most   float64 // that may be found out to be allowed; at least the limit
	share  float64 // of the limit
	bucket bool    // that of the cloud, see Limit.isBucket
	calls  float64 // the allowance
	step   float64 // by which it grows next
	peak   float64 // the allowance when the cloud refused a call last
	quiet  int     // windows since, in which calls waited and none was refused
}

func newAllowance(limit Limit, share, upTo float64) allowance {
	calls := float64(limit.Calls)
	return allowance{limit: calls, most: calls * max(1, upTo), share: share * calls, bucket: limit.isBucket(), calls: calls}
}

// even reports whether calls have to go evenly: others use the limit too, or the gateway tries to send more than the limit.
func (a *allowance) even() bool { return a.calls != a.limit }

// refused learns from a refusal, after so many calls that were granted in the window.
func (a *allowance) refused(granted int) {
	a.peak, a.quiet = a.calls, 0
	switch {
	case a.calls == a.limit:
		a.calls = min(a.share, a.calls*fall)
	case a.bucket:
		a.calls *= bucketFall
	default:
		a.calls = min(max(float64(granted)*fall, a.calls*deepestFall), a.calls*fall)
	}
	a.calls, a.step = max(1, a.calls), 0
}

// waited reports that calls have waited in a window in which none was refused.
func (a *allowance) waited() {
	a.quiet++
	if goal := nearly * a.peak; a.calls < goal && a.quiet <= 1+soon {
		if a.quiet > 1 { // Others may have come to stay.
			a.calls += (goal - a.calls) / float64(2+soon-a.quiet)
		}
		return
	}
	a.calls = min(a.most, a.calls+a.step)
	a.step = max(a.limit*firstStep, a.step*nextStep)
}
