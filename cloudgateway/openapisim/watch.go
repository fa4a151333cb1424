package openapisim

import (
	"strconv"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// Watcher sees the cloud between any two of its changes: after each call that writes, at the end of what takes time, and after
// changes behind the back of the API. It is called with the state locked, and must neither change nor keep it.
type Watcher struct {
	Changed func(*state.Cloud) // a call has changed the cloud, or the end of what it has begun; both perhaps
	ByHand  func(*state.Cloud) // [Simulator.Update] or [Simulator.Seed] has
}

// Watch lets a watcher see the cloud from now on; nil ends it. It begins with ByHand.
func (s *Simulator) Watch(w *Watcher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watcher = w
	s.show(true)
}

// show lets the watcher see the cloud. The caller holds the lock.
func (s *Simulator) show(byHand bool) {
	switch {
	case s.watcher == nil:
	case byHand:
		s.watcher.ByHand(s.cloud)
	default:
		s.watcher.Changed(s.cloud)
	}
}

// count numbers what is made, if ids are short. The caller holds the lock.
func (s *Simulator) count() func(kind string) int64 {
	if !s.cfg.ShortIDs {
		return nil
	}
	return func(kind string) int64 {
		if s.counts == nil {
			s.counts = map[string]int64{}
		}
		for s.counts[kind]++; s.cloud.Has(kind + strconv.FormatInt(s.counts[kind], 10)); {
			s.counts[kind]++
		}
		return s.counts[kind]
	}
}
