package front

import (
	"crypto/sha256"
	"net/http"
	"sync"
	"time"
)

const (
	// oldest is how old a request may be, as the cloud has it. earliest is how far the clock of a tool may be ahead: after
	// a failover, a request that a tool has signed ahead of time could be repeated for so long.
	oldest   = 15 * time.Minute
	earliest = time.Minute
	// mostNonces is how many are remembered, at 48 bytes each, before a key pair may have an equal part of what those with fewer leave. What
	// others have already is kept, so that 256 hostile pairs, one after the other, come to six times as many.
	mostNonces = 100_000
)

// nonces are those of the requests that were accepted, as long as such a request would be accepted once more.
type nonces struct {
	mu   sync.Mutex
	keys map[string]*seen
	all  int
}

// seen are the nonces of one key pair, in two halves: those that came lately, and those before. What is in the older half is older than any
// request that would be accepted.
type seen struct {
	now, before map[[16]byte]struct{}
	turned      time.Time
}

// use notes a nonce. It refuses one that was used before. While all key pairs together have used too many, it refuses those of the pairs
// that have used the most, so that no pair keeps others out.
func (n *nonces) use(key, nonce string, now time.Time) error {
	sum := sha256.Sum256([]byte(nonce))
	digest := [16]byte(sum[:16])
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.keys == nil {
		n.keys = map[string]*seen{}
	}
	n.turn(now)
	of := n.keys[key]
	if of == nil {
		of = &seen{now: map[[16]byte]struct{}{}, turned: now}
		n.keys[key] = of
	}
	_, lately := of.now[digest]
	_, earlier := of.before[digest]
	switch {
	case lately || earlier:
		return refuse(http.StatusBadRequest, "SignatureNonceUsed", "Specified signature nonce was used already.")
	case n.all >= mostNonces && n.upTo(of.count()) >= mostNonces:
		return because(reasonNonces, throttled(time.Minute, "too many requests of the key pair have to be remembered"))
	}
	of.now[digest] = struct{}{}
	n.all++
	return nil
}

func (s *seen) count() int { return len(s.now) + len(s.before) }

// upTo is how many all key pairs together have, of each so many at most.
func (n *nonces) upTo(most int) (all int) {
	for _, of := range n.keys {
		all += min(most, of.count())
	}
	return all
}

// turn forgets the older half of each key pair once all of it is too old.
func (n *nonces) turn(now time.Time) {
	for key, of := range n.keys {
		if now.Sub(of.turned) < oldest+earliest {
			continue
		}
		n.all -= len(of.before)
		of.before, of.now, of.turned = of.now, map[[16]byte]struct{}{}, now
		if len(of.before) == 0 {
			delete(n.keys, key)
		}
	}
}

// timely refuses a request that is too old. One of before this replica was the active one it refuses, too, for it does
// not know the nonces of those. That is the replica's fault and not the tool's: of the tools that repeat at all, each
// repeats what has a status of 500 or more, signed anew, and none a 400.
func timely(at, now, began time.Time) error {
	if at.Before(now.Add(-oldest)) || at.After(now.Add(earliest)) {
		return refuse(http.StatusBadRequest, "InvalidTimeStamp.Expired", "Specified time stamp or date value is expired.")
	}
	if at.Before(began.Truncate(time.Second)) {
		r := refuse(http.StatusServiceUnavailable, "ServiceUnavailable",
			"the request was signed before this replica of the gateway was the active one; sign it anew, and set the clock if it is behind")
		r.after = time.Second
		return r
	}
	return nil
}
