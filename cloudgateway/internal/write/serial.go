// Package write makes changes of the cloud safe: one at a time for a resource, and each once, whatever becomes of an answer.
package write

import (
	"context"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

// Serial lets the writes to a resource through one at a time. What is remembered of the resource is forgotten after each.
type Serial struct {
	locks  cloud.Locker
	forget []func(key string)
}

// NewSerial makes a Serial.
func NewSerial(locks cloud.Locker) *Serial { return &Serial{locks: locks} }

// OnWrite adds what is to be done after a write to the resource with a key. It must not be called after the first write.
func (s *Serial) OnWrite(forget func(key string)) { s.forget = append(s.forget, forget) }

// Do makes a write.
func (s *Serial) Do(ctx context.Context, key string, write func(ctx context.Context) error) error {
	unlock, err := cloud.Lock(ctx, s.locks, key)
	if err != nil {
		return err
	}
	defer unlock()
	defer s.Forget(key) // Whatever happens, the cloud may hold something new.
	return write(ctx)
}

// Forget drops what is remembered of a resource.
func (s *Serial) Forget(key string) {
	for _, forget := range s.forget {
		forget(key)
	}
}
