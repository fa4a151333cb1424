package write

import (
	"time"

	"alicloud-controllers.dev/cloudgateway/internal/memo"
)

const (
	// mostPaces bounds the things of which is remembered how long the cloud works on a change.
	mostPaces = 10_000
	// longestPace is the longest time that is waited for: what takes longer is another matter, e.g. a change from the console.
	longestPace = 5 * time.Second
)

// Pace remembers how long the cloud worked on a change of a thing, e.g. of a load balancer, where that was seen. It
// says nothing about other things: one that is slow must not hold the others up.
type Pace struct {
	life time.Duration
	took *memo.Memo[string, pause]
}

// pause is how long a change takes at most, as far as is known.
type pause struct {
	length time.Duration
	exact  bool // less is not enough
}

// NewPace makes a Pace that remembers for life. A thing of which the cloud has become faster is waited for as long as before until then.
func NewPace(life time.Duration) Pace { return Pace{life, memo.New[string, pause](mostPaces)} }

// Of gives how long a change takes at most; 0 if none was seen to take its time.
func (p Pace) Of(key string) time.Duration {
	known, _ := p.took.Get(key)
	return known.length
}

// Took notes how long a change took at most.
func (p Pace) Took(key string, took time.Duration) { p.put(key, pause{length: took}) }

// Sufficed notes that a change was carried out after the time that is known: less may be enough, which the next one finds out.
func (p Pace) Sufficed(key string) {
	if known, _ := p.took.Get(key); !known.exact && known.length > 0 {
		p.put(key, pause{length: known.length * 4 / 5})
	}
}

// TooShort notes that one was not.
func (p Pace) TooShort(key string) {
	if known, ok := p.took.Get(key); ok {
		p.put(key, pause{length: known.length * 5 / 4, exact: true})
	}
}

func (p Pace) put(key string, next pause) {
	next.length = min(next.length, longestPace)
	p.took.Put(key, next, p.life)
}
