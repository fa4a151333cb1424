package keys

import (
	"sync"
	"time"
)

// Nonces remembers which nonces were used, by AccessKey.
type Nonces struct {
	remember time.Duration

	mu      sync.Mutex
	current map[nonce]struct{}
	former  map[nonce]struct{}
	rotated time.Time
}

type nonce struct{ accessKeyID, value string }

// NewNonces returns a memory that keeps a nonce for at least the given time.
func NewNonces(remember time.Duration) *Nonces {
	return &Nonces{remember: remember, current: map[nonce]struct{}{}}
}

// Use reports whether a nonce is new, and remembers it.
func (n *Nonces) Use(accessKeyID, value string, now time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if now.Sub(n.rotated) > n.remember {
		n.former, n.current, n.rotated = n.current, map[nonce]struct{}{}, now
	}
	key := nonce{accessKeyID, value}
	if _, used := n.current[key]; used {
		return false
	}
	if _, used := n.former[key]; used {
		return false
	}
	n.current[key] = struct{}{}
	return true
}
