package kube

import (
	"context"

	"k8s.io/client-go/informers"
)

// RunInformers keeps the caches of a factory until ctx ends and its goroutines have returned.
func RunInformers(ctx context.Context, factory informers.SharedInformerFactory) error {
	factory.Start(ctx.Done())
	<-ctx.Done()
	factory.Shutdown()
	return nil
}
