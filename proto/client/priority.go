package client

import (
	"context"

	"google.golang.org/grpc/metadata"
)

// Priority ranks a call's use of the cloud's rate limits. Each method has a highest priority, and the gateway's configuration one for each
// caller. The lower of them is the default. A call can ask for less; asking for more has no effect.
type Priority string

// The priorities, lowest first.
const (
	// Background is for periodic reads: drift checks, and the reading of all resources after a restart. Background calls never take
	// more than the gateway's share of a limit.
	Background Priority = "background"
	// Deletion is for the removal of resources, which may wait for other work.
	Deletion Priority = "deletion"
	// User is for what a user has asked for and waits for.
	User Priority = "user"
	// Backend is for changes of who gets traffic.
	Backend Priority = "backend"
)

// PriorityKey is the key of the call metadata that carries a Priority.
const PriorityKey = "cloudgateway-priority"

// WithPriority returns a context whose calls carry the priority. It replaces the priority of ctx.
func WithPriority(ctx context.Context, p Priority) context.Context {
	md, ok := metadata.FromOutgoingContext(ctx) // is a copy
	if !ok {
		md = metadata.MD{}
	}
	md.Set(PriorityKey, string(p))
	return metadata.NewOutgoingContext(ctx, md)
}
