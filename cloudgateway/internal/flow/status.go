package flow

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
)

// Actions returns the status of all actions that a caller has called, or wants to call, in the order of product and action.
func (b *Budget) Actions() []*commonv1.ActionStatus {
	limiters := b.used()
	slices.SortFunc(limiters, func(x, y *limiter) int { return strings.Compare(x.name, y.name) })
	now := time.Now()
	all := make([]*commonv1.ActionStatus, len(limiters))
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

func (l *limiter) status(now time.Time) *commonv1.ActionStatus {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.advance(now)
	product, action, _ := strings.Cut(l.name, "/")
	period := l.pacer.period()
	inPeriod := func(calls float64) int32 { return int32(calls*period.Seconds()/l.pacer.window.Seconds() + epsilon) }
	s := &commonv1.ActionStatus{
		Product: product, Action: action, Window: durationpb.New(period),
		Limit: inPeriod(l.allowance.limit), Share: inPeriod(float64(l.shared(1))),
		Allowance: inPeriod(float64(l.pacer.calls)), Learned: l.allowance.even(),
		Sent: int32(l.pacer.sent), Throttled: l.refusals, Waiting: l.queue.status(now),
	}
	if l.pacer.pausedUntil.After(now) {
		s.PausedUntil = timestamppb.New(l.pacer.pausedUntil)
	}
	for caller, calls := range l.sentBy {
		s.SentByCaller = append(s.SentByCaller, &commonv1.CallerCalls{Caller: caller, Calls: calls})
	}
	slices.SortFunc(s.GetSentByCaller(), func(x, y *commonv1.CallerCalls) int {
		return cmp.Or(cmp.Compare(y.GetCalls(), x.GetCalls()), strings.Compare(x.GetCaller(), y.GetCaller()))
	})
	return s
}

// status counts the calls that wait, the most important first.
func (q *queue) status(now time.Time) []*commonv1.WaitingCalls {
	var all []*commonv1.WaitingCalls
	for priority := Backend; priority >= Background; priority-- {
		for _, l := range q.classes[priority].lanes {
			longest := time.Duration(0)
			for _, w := range l.waiters {
				longest = max(longest, now.Sub(w.since))
			}
			all = append(all, &commonv1.WaitingCalls{
				Caller: l.caller, Priority: priority, Calls: int32(len(l.waiters)), Longest: durationpb.New(longest),
			})
		}
	}
	return all
}

// Callers returns those that have called since the start, by name and with the highest priority first. Callers share a
// name where they share series in the metrics.
func (b *Budget) Callers() []*commonv1.CallerStatus {
	callers := b.metrics.callers
	callers.mu.Lock()
	defer callers.mu.Unlock()
	all := make([]*commonv1.CallerStatus, 0, len(callers.calls))
	for _, calls := range callers.calls {
		all = append(all, proto.CloneOf(calls))
	}
	slices.SortFunc(all, func(x, y *commonv1.CallerStatus) int {
		return cmp.Or(strings.Compare(x.GetCaller(), y.GetCaller()), cmp.Compare(y.GetPriority(), x.GetPriority()))
	})
	return all
}

const (
	// learnedVersion is that of the form in which learned limits are kept. What has another one is not understood.
	learnedVersion = 1
	// learnedFor is how long learned limits are worth keeping: about as long as an allowance needs to grow to the whole limit again.
	learnedFor = 10 * time.Minute
)

// keptLimits is what a budget has found out, for the gateway that comes after.
type keptLimits struct {
	Version int                `json:"version"`
	At      time.Time          `json:"at"`
	Calls   map[string]float64 `json:"calls"` // per window, by "product/Action"
}

// Learned returns the allowances that are not the limits themselves as text for Restore, and whether there are any.
func (b *Budget) Learned() (text string, found bool) {
	kept := keptLimits{Version: learnedVersion, At: time.Now().UTC().Truncate(time.Second), Calls: map[string]float64{}}
	for _, l := range b.used() {
		l.mu.Lock()
		if l.allowance.even() {
			kept.Calls[l.name] = l.allowance.calls
		}
		l.mu.Unlock()
	}
	bytes, err := json.Marshal(kept)
	if err != nil {
		return "", false // numbers and names always have a JSON form
	}
	return string(bytes), len(kept.Calls) > 0
}

// Restore goes on with what another budget has learned. What is old or does not fit the limits is left out. Its error says that the text
// is not that of Learned; then nothing has changed.
func (b *Budget) Restore(text string) error {
	var kept keptLimits
	if err := json.Unmarshal([]byte(text), &kept); err != nil {
		return fmt.Errorf("read learned limits: %w", err)
	}
	if kept.Version != learnedVersion {
		return fmt.Errorf("read learned limits: version %d, want %d", kept.Version, learnedVersion)
	}
	if age := time.Since(kept.At); age > learnedFor || age < -learnedFor {
		return nil
	}
	for name, calls := range kept.Calls {
		product, action, ok := strings.Cut(name, "/")
		if _, known := b.limits[product+"/"+OtherReads]; !ok || !known {
			continue
		}
		b.Answered(product, action) // It was, or it would not have been refused for its rate.
		b.limiter(product, action).restore(calls)
	}
	return nil
}

// restore sets an allowance that has been learned before.
func (l *limiter) restore(calls float64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if calls >= 1 && calls <= l.allowance.most {
		l.allowance.calls = calls
		l.adjust()
	}
}
