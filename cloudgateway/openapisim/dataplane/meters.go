package dataplane

import (
	"sync"
	"time"
)

// limit is how many new connections a second takes.
type limit struct {
	of   metered
	most int
}

// metered is what a limit is of: a listener or a load balancer, in one of its zones.
type metered struct {
	id   string
	zone int
}

// meters count the new connections of the current second. They outlive changes of the cloud, and count over all sockets.
type meters struct {
	now func() time.Time

	mu     sync.Mutex
	second int64
	begun  map[metered]int
}

// admit counts a new connection if none of its limits is reached, and reports whether it is let in.
func (m *meters) admit(limits []limit) bool {
	if len(limits) == 0 {
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if second := m.now().Unix(); second != m.second || m.begun == nil {
		m.second, m.begun = second, map[metered]int{}
	}
	for _, l := range limits {
		if m.begun[l.of] >= l.most {
			return false
		}
	}
	for _, l := range limits {
		m.begun[l.of]++
	}
	return true
}
