package rpc

import (
	"maps"
	"sync"
	"time"
)

// peersKept bounds what is remembered of peers. Those that come when it is full share what is left.
const peersKept = 4096

// Peers bound what the peers of whom nothing good is known may cost. Each may do something Burst times at once, and PerSecond times a
// second after that. What turns out well is given back.
type Peers struct {
	Burst, PerSecond float64

	mu      sync.Mutex
	buckets map[string]bucket // those that are not full
	swept   time.Time         // when room was last looked for
}

// bucket holds what was left at a time.
type bucket struct {
	left float64
	at   time.Time
}

func (p *Peers) now(b bucket, now time.Time) float64 {
	return min(p.Burst, b.left+now.Sub(b.at).Seconds()*p.PerSecond)
}

// Take reports whether the peer may do it once more.
func (p *Peers) Take(peer string) bool { return p.add(peer, -1) }

// GiveBack returns what Take took.
func (p *Peers) GiveBack(peer string) { p.add(peer, 1) }

func (p *Peers) add(peer string, change float64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	b, known := p.buckets[peer]
	if !known {
		b = bucket{left: p.Burst, at: now}
		if peer = p.room(peer, now); peer == "" {
			b = p.buckets[peer]
		}
	}
	left := p.now(b, now) + change
	if left < 0 {
		return false
	}
	if p.buckets == nil {
		p.buckets = make(map[string]bucket)
	}
	p.buckets[peer] = bucket{left: min(p.Burst, left), at: now}
	return true
}

// room gives the peer a bucket of its own if there is room for one, and that of the peers without one, "", otherwise.
func (p *Peers) room(peer string, now time.Time) string {
	if len(p.buckets) < peersKept {
		return peer
	}
	if now.Sub(p.swept) < time.Second {
		return "" // Looking at all of them takes a while.
	}
	p.swept = now
	maps.DeleteFunc(p.buckets, func(_ string, b bucket) bool { return p.now(b, now) >= p.Burst })
	if len(p.buckets) < peersKept {
		return peer
	}
	return ""
}
