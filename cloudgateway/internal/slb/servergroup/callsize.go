package servergroup

import (
	"regexp"
	"strconv"
	"sync"

	"alicloud-controllers.dev/services/rpcerr"
)

// Servers in one call (SLB API reference). The documents say 20 since 2021, but the service takes 40, which the existing CCM sends.
const (
	maxServersPerCall        = 40
	documentedServersPerCall = 20
)

// callSizes are how many servers a call may name, by action. It begins with what is configured, and what a refusal teaches holds from
// then on. It is safe for concurrent use.
type callSizes struct {
	configured int

	mu      sync.Mutex
	learned map[string]int
}

func newCallSizes(configured int) *callSizes {
	return &callSizes{configured: max(1, min(configured, maxServersPerCall)), learned: map[string]int{}}
}

func (c *callSizes) of(action string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n, ok := c.learned[action]; ok {
		return n
	}
	return c.configured
}

// learn takes the limit of an action from the refusal of a call with size servers: the one that the cloud's text names, else the
// documented one. It reports whether that allows a smaller call. Another refusal of an action that keeps to its limit teaches nothing.
func (c *callSizes) learn(action string, size int, refusal error) bool {
	limit := documentedServersPerCall
	if e, ok := rpcerr.From(refusal); ok {
		if told := regexp.MustCompile(`max supported number: ([0-9]{1,4})`).FindStringSubmatch(e.Message); told != nil {
			limit, _ = strconv.Atoi(told[1]) // digits, by the pattern
		}
	}
	if limit < 1 || limit >= size {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.learned[action] = limit
	return true
}
