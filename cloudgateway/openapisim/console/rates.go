package console

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/journal"
	"alicloud-controllers.dev/cloudgateway/openapisim/limit"
)

const (
	minutes    = 15 // that the plots go back
	ratesShown = 6
)

// A plot is as wide as its bars and this high, in units of its view box.
const (
	barWidth, barGap = 8, 2
	plotHeight       = 22
)

// minute is the number of calls in one minute of the clock.
type minute struct{ Taken, Throttled int }

func (m minute) all() int { return m.Taken + m.Throttled }

// counts are the calls per minute of every action.
type counts struct {
	first  time.Time // the start of the oldest minute
	end    time.Time
	action map[actionKey]*[minutes]minute
	failed int // calls of the current minute that failed
}

type actionKey struct{ product, action string }

func newCounts(now time.Time) counts {
	current := now.Truncate(time.Minute)
	return counts{
		first: current.Add(-(minutes - 1) * time.Minute), end: current.Add(time.Minute), action: map[actionKey]*[minutes]minute{},
	}
}

func (c *counts) add(call *journal.Call) {
	if call.Time.Before(c.first) || !call.Time.Before(c.end) { // the clock can be set back
		return
	}
	key := actionKey{call.Product, call.Action}
	of := c.action[key]
	if of == nil {
		if len(c.action) >= maxRemembered {
			return
		}
		of = new([minutes]minute)
		c.action[key] = of
	}
	at := int(call.Time.Sub(c.first) / time.Minute)
	if throttled(call) {
		of[at].Throttled++
	} else {
		of[at].Taken++
	}
	if at == minutes-1 && failed(call) {
		c.failed++
	}
}

// current returns the number of calls of the current minute.
func (c *counts) current() (n int) {
	for _, of := range c.action {
		n += of[minutes-1].all()
	}
	return n
}

// ratesView is the actions that come closest to their limit.
type ratesView struct {
	Items         []rate
	More          int
	LimitsOff     bool
	Width, Height int // of a plot
}

// rate is how often an action is called.
type rate struct {
	Product, Action string
	Now, Peak       int // calls of the current minute, and of the busiest
	Throttled       int // calls of all minutes
	PerMinute       int // that are allowed; 0: no limit
	Limit           string
	LimitY          int // of the line
	Bars            []bar
}

// bar is one minute in a plot: the calls that were let through, and on top those that were not.
type bar struct {
	X, Width            int
	TakenY, Taken       int // top and height
	ThrottledY, Refused int
}

// viewRates returns the actions that pass the filter, those first that were throttled or come closest to their limit.
func viewRates(c counts, enabled bool, table limit.Table, q query) ratesView {
	v := ratesView{LimitsOff: !enabled, Width: minutes*(barWidth+barGap) - barGap, Height: plotHeight}
	keys := slices.SortedFunc(maps.Keys(c.action), func(a, b actionKey) int {
		return cmp.Or(cmp.Compare(a.product, b.product), cmp.Compare(a.action, b.action))
	})
	for _, key := range keys {
		if contains(key.product, q.Product) && contains(key.action, q.Action) {
			v.Items = append(v.Items, viewRate(key, c.action[key], table[key.product+"/"+key.action]))
		}
	}
	slices.SortStableFunc(v.Items, func(a, b rate) int {
		return cmp.Or(cmp.Compare(b.Throttled, a.Throttled), cmp.Compare(b.share(), a.share()), cmp.Compare(b.Peak, a.Peak))
	})
	if more := len(v.Items) - ratesShown; more > 0 {
		v.Items, v.More = v.Items[:ratesShown], more
	}
	return v
}

// share is how much of its limit an action used in its busiest minute.
func (r rate) share() float64 {
	if r.PerMinute == 0 {
		return 0
	}
	return float64(r.Peak) / float64(r.PerMinute)
}

func viewRate(key actionKey, calls *[minutes]minute, allowed limit.Limit) rate {
	r := rate{Product: key.product, Action: key.action, Now: calls[minutes-1].all()}
	for _, m := range calls {
		r.Peak = max(r.Peak, m.all())
		r.Throttled += m.Throttled
	}
	if window := time.Duration(allowed.Window); allowed.Calls > 0 && window > 0 {
		r.PerMinute = int(float64(allowed.Calls) * float64(time.Minute) / float64(window))
		r.Limit = limitText(allowed.Calls, window)
	}
	top := max(r.Peak, r.PerMinute)
	r.LimitY = plotHeight - height(r.PerMinute, top)
	for i, m := range calls {
		b := bar{X: i * (barWidth + barGap), Width: barWidth, Taken: height(m.Taken, top), Refused: height(m.Throttled, top)}
		b.TakenY = plotHeight - b.Taken
		b.ThrottledY = max(0, b.TakenY-b.Refused)
		if m.all() > 0 {
			r.Bars = append(r.Bars, b)
		}
	}
	return r
}

func limitText(calls int, window time.Duration) string {
	unit := window.String()
	if short := map[time.Duration]string{time.Minute: "min", time.Second: "s"}[window]; short != "" {
		unit = short
	}
	return count(calls) + "/" + unit
}

// height scales a number of calls. Even a single one can be seen.
func height(n, top int) int {
	if n == 0 || top == 0 {
		return 0
	}
	return max(2, n*plotHeight/top)
}
