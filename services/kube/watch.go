package kube

import (
	"context"
	"fmt"
	"sync/atomic"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// RunInformers keeps the caches of a factory until ctx ends and its goroutines have returned.
func RunInformers(ctx context.Context, factory informers.SharedInformerFactory) error {
	factory.Start(ctx.Done())
	<-ctx.Done()
	factory.Shutdown()
	return nil
}

// Listing is what a controller waits for before it can work: that its informers have listed their objects. A role that
// is missing shows there, and otherwise in the log only.
type Listing struct{ failure atomic.Pointer[error] }

// Watch has the failures of an informer noted. It comes before the informer is started.
func (l *Listing) Watch(informer cache.SharedInformer) error {
	return informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, r *cache.Reflector, err error) {
		l.failure.Store(&err)
		cache.DefaultWatchErrorHandler(ctx, r, err)
	})
}

// Ready says what is not listed yet, and why; nil if all is.
func (l *Listing) Ready(what string, synced bool) error {
	if synced {
		return nil
	}
	err := fmt.Errorf("%s are not listed yet", what)
	if failure := l.failure.Load(); failure != nil {
		err = fmt.Errorf("%w: %w", err, *failure)
	}
	return err
}
