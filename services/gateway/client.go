package gateway

import (
	"context"
	"regexp"

	"google.golang.org/grpc"

	"alicloud-controllers.dev/proto/client"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/reconcile"
)

// Client calls every service of the gateway.
type Client struct{ *client.Client }

// NewClient makes a Client on a connection. The errors of its calls are *rpcerr.Error.
func NewClient(cc grpc.ClientConnInterface) *Client { return &Client{client.New(calls{cc})} }

// calls counts them. A call waits for the cloud, and holds no worker of a reconcile.Runner meanwhile.
type calls struct{ grpc.ClientConnInterface }

// Invoke implements grpc.ClientConnInterface.
func (c calls) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	count(ctx)
	var err error
	reconcile.Waiting(ctx, func() { err = c.ClientConnInterface.Invoke(ctx, method, args, reply, opts...) })
	if e, ok := rpcerr.From(err); ok {
		e.Message = ownPort.ReplaceAllString(e.Message, "->")
		return e
	}
	return err
}

// ownPort is that of this side of a broken connection, as in "read tcp 10.0.0.1:41234->10.0.0.2:7443". It is another one each time, and
// equal failures would look like different ones in events.
var ownPort = regexp.MustCompile(`:[0-9]+->`)

// Priority ranks a call's use of the cloud's rate limits.
type Priority = client.Priority

// The priorities, lowest first.
const (
	Background = client.Background
	Deletion   = client.Deletion
	User       = client.User
	Backend    = client.Backend
)

// PriorityKey is the key of the call metadata that carries a Priority.
const PriorityKey = client.PriorityKey

// WithPriority returns a context whose calls carry the priority. It replaces the priority of ctx.
func WithPriority(ctx context.Context, p Priority) context.Context {
	return client.WithPriority(ctx, p)
}
