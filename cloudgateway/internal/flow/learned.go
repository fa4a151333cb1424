package flow

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

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
		if _, known := b.limits[name]; !ok || !known {
			continue
		}
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
