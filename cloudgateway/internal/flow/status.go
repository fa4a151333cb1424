package flow

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// ActionStatus is how the limit of an action is used. Counts of calls are those of one window.
type ActionStatus struct {
	Product, Action string
	Window          time.Duration // in which calls are counted
	Limit           int           // of the account, as documented or configured
	Share           int           // what the gateway keeps to beside others, and in background work
	Allowance       int           // what it sends at most at present
	Learned         bool          // the allowance is another one than the limit
	Sent            int           // in the present window, or so late in the one before that the cloud may count them in this one
	SentBy          []CallerCalls // the caller with most calls first
	Throttled       int64         // since the start
	PausedUntil     time.Time     // zero: calls may go
	Waiting         []WaitingCalls
}

// CallerCalls counts calls of a caller.
type CallerCalls struct {
	Caller string
	Calls  int
}

// WaitingCalls are the calls of a caller that wait with the same priority.
type WaitingCalls struct {
	Caller

	Calls   int
	Longest time.Duration // that one of them has waited
}

// CallerStatus counts the calls of a caller with one priority since the start. Callers share a name where they share series in the metrics.
type CallerStatus struct {
	Caller

	Sent, Refused, GaveUp int64
}

// Actions returns the status of all actions that somebody has called, or wants to call, in the order of product and action.
func (b *Budget) Actions() []ActionStatus {
	limiters := b.used()
	slices.SortFunc(limiters, func(x, y *limiter) int { return strings.Compare(x.name, y.name) })
	now := time.Now()
	all := make([]ActionStatus, len(limiters))
	for i, l := range limiters {
		all[i] = l.status(now)
	}
	return all
}

// used are the limiters that there are.
func (b *Budget) used() []*limiter {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(maps.Values(b.limiters))
}

func (l *limiter) status(now time.Time) ActionStatus {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.advance(now)
	product, action, _ := strings.Cut(l.name, "/")
	period := l.pacer.period()
	inPeriod := func(calls float64) int { return int(calls*period.Seconds()/l.pacer.window.Seconds() + epsilon) }
	s := ActionStatus{
		Product: product, Action: action, Window: period,
		Limit: inPeriod(l.allowance.limit), Share: inPeriod(float64(l.shared(1))), Allowance: inPeriod(float64(l.pacer.calls)), Learned: l.allowance.even(),
		Sent: l.pacer.sent, Throttled: int64(read(l.metrics.throttled).GetCounter().GetValue()), Waiting: l.queue.status(now),
	}
	if l.pacer.pausedUntil.After(now) {
		s.PausedUntil = l.pacer.pausedUntil
	}
	for caller, calls := range l.sentBy {
		s.SentBy = append(s.SentBy, CallerCalls{Caller: caller, Calls: calls})
	}
	slices.SortFunc(s.SentBy, func(x, y CallerCalls) int {
		return cmp.Or(cmp.Compare(y.Calls, x.Calls), strings.Compare(x.Caller, y.Caller))
	})
	return s
}

// status counts the calls that wait, the most important first.
func (q *queue) status(now time.Time) []WaitingCalls {
	var all []WaitingCalls
	for priority := Backend; priority >= Background; priority-- {
		for _, l := range q.classes[priority].lanes {
			w := WaitingCalls{Caller: Caller{Name: l.caller, Priority: priority}, Calls: len(l.waiters)}
			for _, waiter := range l.waiters {
				w.Longest = max(w.Longest, now.Sub(waiter.since))
			}
			all = append(all, w)
		}
	}
	return all
}

// Callers returns who has called since the start, by name and with the highest priority first.
func (b *Budget) Callers() []CallerStatus {
	byCaller := map[Caller]*CallerStatus{}
	series := make(chan prometheus.Metric)
	go func() {
		defer close(series)
		b.metrics.calls.Collect(series)
	}()
	for s := range series {
		m := read(s)
		labels := map[string]string{}
		for _, pair := range m.GetLabel() {
			labels[pair.GetName()] = pair.GetValue()
		}
		priority, _ := ParsePriority(labels["priority"])
		caller := Caller{Name: labels["caller"], Priority: priority}
		status := byCaller[caller]
		if status == nil {
			status = &CallerStatus{Caller: caller}
			byCaller[caller] = status
		}
		switch n := int64(m.GetCounter().GetValue()); labels["result"] {
		case resultSent:
			status.Sent = n
		case resultRefused:
			status.Refused = n
		case resultGaveUp:
			status.GaveUp = n
		}
	}
	all := make([]CallerStatus, 0, len(byCaller))
	for _, status := range byCaller {
		all = append(all, *status)
	}
	slices.SortFunc(all, func(x, y CallerStatus) int {
		return cmp.Or(strings.Compare(x.Name, y.Name), cmp.Compare(y.Priority, x.Priority))
	})
	return all
}

// read gives the present value of a series.
func read(series prometheus.Metric) *dto.Metric {
	m := &dto.Metric{}
	_ = series.Write(m) // Its only error is about labels that are no text.
	return m
}
