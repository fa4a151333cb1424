package lb

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"alicloud-controllers.dev/services/gateway"

	"alicloud-controllers.dev/lbcontroller/internal/certificate"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
)

const (
	// certificateNotice is how long before the end of a certificate its Services are warned.
	certificateNotice = 30 * 24 * time.Hour
	// certificateGather collects the first uses of certificates, so that many new Services cost one read.
	certificateGather = time.Minute
)

// certificates knows the ends of the server certificates that Services name. One read from time to time answers for all
// Services; none waits for it.
type certificates struct {
	product  Product
	interval time.Duration
	logger   *slog.Logger
	end      *prometheus.GaugeVec
	kind     string
	wake     chan struct{}

	mu sync.Mutex
	// used says how many Services name a certificate, by its id.
	used map[string]int
	// ends are the ends of the certificates that there are; the zero time where the cloud doesn't say. Ids that aren't there are in missing.
	ends    map[string]time.Time
	missing map[string]bool
}

// certificatesOf lists the certificates that listeners name.
func certificatesOf(product Product, listeners []model.Listener) []string {
	var ids []string
	for _, l := range listeners {
		if id := product.Certificate(l); id != "" {
			ids = append(ids, id)
		}
		for _, e := range l.Further {
			ids = append(ids, e.Certificates...)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// Use notes which certificates a Service names, and which it named before.
func (c *certificates) Use(ids, before []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range before {
		if c.used[id]--; c.used[id] == 0 {
			delete(c.used, id)
		}
	}
	for _, id := range ids {
		c.used[id]++
		if _, known := c.ends[id]; !known && !c.missing[id] && !certificate.IsPlaceholder(id) {
			select {
			case c.wake <- struct{}{}:
			default:
			}
		}
	}
}

// uses reports whether a Service needs a certificate.
func (c *certificates) uses(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used[id] > 0
}

// usesContent reports whether a Service needs a certificate of which no id is known yet, and whose fingerprint begins so.
func (c *certificates) usesContent(fingerprint string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for id := range c.used {
		if strings.HasPrefix(id, certificate.Placeholder(fingerprint)) {
			return true
		}
	}
	return false
}

// Run reads the certificates until ctx ends. Without an interval it does nothing.
func (c *certificates) Run(ctx context.Context) error {
	if c.interval <= 0 {
		return nil
	}
	pause := c.interval
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.wake:
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(certificateGather):
			}
		case <-time.After(pause):
		}
		if err := c.read(ctx); err != nil && ctx.Err() == nil {
			c.logger.Warn("the ends of certificates can't be read; they are read again in an hour at the latest", "error", err)
		}
		pause = min(c.interval, time.Hour)
	}
}

func (c *certificates) read(ctx context.Context) error {
	c.mu.Lock()
	ids := slices.DeleteFunc(slices.Sorted(maps.Keys(c.used)), certificate.IsPlaceholder)
	c.mu.Unlock()
	found := map[string]time.Time{}
	if len(ids) > 0 {
		var err error
		if found, err = c.product.CertificateEnds(gateway.WithPriority(ctx, gateway.Background), ids); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ends, c.missing = found, map[string]bool{}
	c.end.DeletePartialMatch(prometheus.Labels{"kind": c.kind})
	for _, id := range ids {
		end, ok := found[id]
		switch {
		case !ok:
			c.missing[id] = true
		case !end.IsZero():
			c.end.WithLabelValues(c.kind, id).Set(float64(end.Unix()))
		}
	}
	return nil
}

// Warnings are what the users of a Service should know about its certificates at a time.
func (c *certificates) Warnings(ids []string, now time.Time) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var warnings []string
	for _, id := range ids {
		end := c.ends[id]
		switch day := end.UTC().Format(time.DateOnly); {
		case c.missing[id]:
			warnings = append(warnings, fmt.Sprintf("certificate %s is not in the region; upload it, or name another one", id))
		case end.IsZero():
		case !now.Before(end):
			warnings = append(warnings, fmt.Sprintf("certificate %s has ended on %s; clients refuse it, name a new one", id, day))
		case end.Sub(now) < certificateNotice:
			warnings = append(warnings, fmt.Sprintf("certificate %s ends on %s; upload a new one and name it before", id, day))
		}
	}
	return warnings
}
