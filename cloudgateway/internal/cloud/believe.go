package cloud

import "context"

type believedKey struct{}

// Believing marks what is done under the context as asked for by a controller of the cluster, which has read what it writes about.
func Believing(ctx context.Context) context.Context {
	return context.WithValue(ctx, believedKey{}, true)
}

// Believed reports whether the context is marked by Believing.
func Believed(ctx context.Context) bool {
	believed, _ := ctx.Value(believedKey{}).(bool)
	return believed
}
