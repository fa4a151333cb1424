package authn

import (
	"maps"
	"sync"
	"time"
)

// What one peer may ask about tokens that are not accepted. A caller shows one token, and a new one every hour; the burst is for many
// callers behind one address.
const (
	burst     = 20
	perSecond = 2
	// peersKept bounds the memory. Peers that come when it is full share what is left.
	peersKept = 4096
)

// peers bounds what the peers who are not known cost the API server.
type peers struct {
	mu      sync.Mutex
	buckets map[string]bucket // those that are not full
	swept   time.Time         // when room was last looked for
}

// bucket holds what was left at a time.
type bucket struct {
	left float64
	at   time.Time
}

func (b bucket) now(now time.Time) float64 {
	return min(burst, b.left+now.Sub(b.at).Seconds()*perSecond)
}

// take reports whether the peer may ask about a token. It costs one, which giveBack returns if the token is accepted.
func (p *peers) take(peer string) bool { return p.add(peer, -1) }

func (p *peers) giveBack(peer string) { p.add(peer, 1) }

func (p *peers) add(peer string, change float64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	b, known := p.buckets[peer]
	if !known {
		b = bucket{left: burst, at: now}
		if peer = p.room(peer, now); peer == "" {
			b = p.buckets[peer]
		}
	}
	left := b.now(now) + change
	if left < 0 {
		return false
	}
	if p.buckets == nil {
		p.buckets = make(map[string]bucket)
	}
	p.buckets[peer] = bucket{left: min(burst, left), at: now}
	return true
}

// room gives the peer a bucket of its own if there is room for one, and that of the peers without one, "", otherwise.
func (p *peers) room(peer string, now time.Time) string {
	if len(p.buckets) < peersKept {
		return peer
	}
	if now.Sub(p.swept) < time.Second {
		return "" // Looking at all of them takes a while.
	}
	p.swept = now
	maps.DeleteFunc(p.buckets, func(_ string, b bucket) bool { return b.now(now) >= burst })
	if len(p.buckets) < peersKept {
		return peer
	}
	return ""
}
