// Package seen holds, by key, the one struct in which all that is remembered of a Service lives. It is made when the
// Service is first seen, and dropped with it.
package seen

import (
	"maps"
	"sync"
)

// Services are those that were seen. The zero value is empty.
type Services[T any] struct {
	mu    sync.Mutex
	byKey map[string]*T
}

// Of returns the struct of a Service.
func (s *Services[T]) Of(key string) *T {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.byKey[key]
	if one == nil {
		if s.byKey == nil {
			s.byKey = map[string]*T{}
		}
		one = new(T)
		s.byKey[key] = one
	}
	return one
}

// All returns the structs of all Services.
func (s *Services[T]) All() map[string]*T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.byKey)
}

// Forget forgets a Service.
func (s *Services[T]) Forget(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.byKey, key)
}
