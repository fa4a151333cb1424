package rpc

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"alicloud-controllers.dev/proto/rpcerr"
)

// headersFirst makes of unary methods streams of one message each way, which look the same on the wire. gRPC reads the message
// of a unary method before it calls any code of ours, from every client; the handler of a stream begins with the headers. Refusing calls
// in grpc.InTapHandle would do so too, but holds up the connection while a caller is looked up, and gRPC then keeps the timer of
// a refused call until the call's deadline, which is the stranger's choice.
func (s *Server) headersFirst(desc *grpc.ServiceDesc) *grpc.ServiceDesc {
	streams := *desc
	streams.Methods, streams.Streams = nil, nil
	for _, m := range desc.Methods {
		info := &grpc.UnaryServerInfo{FullMethod: "/" + desc.ServiceName + "/" + m.MethodName}
		streams.Streams = append(streams.Streams, grpc.StreamDesc{
			StreamName: m.MethodName,
			Handler: func(srv any, ss grpc.ServerStream) error {
				return handled(ss, func() error { return s.unary(srv, ss, info, m) })
			},
		})
	}
	streams.Streams = append(streams.Streams, desc.Streams...)
	return &streams
}

// unary handles a call of a unary method.
func (s *Server) unary(srv any, ss grpc.ServerStream, info *grpc.UnaryServerInfo, method grpc.MethodDesc) error {
	_, err := s.outer(ss.Context(), nil, info, func(ctx context.Context, _ any) (any, error) {
		ctx, call, err := s.admit(ctx, info.FullMethod)
		if err != nil {
			return nil, err
		}
		defer call.end()
		place, err := call.reading(ctx)
		if err != nil {
			return nil, err
		}
		place = sync.OnceFunc(place)
		defer place()
		reply, err := method.Handler(srv, ctx, func(request any) error { //nolint:contextcheck // The stream has its own context.
			defer place()
			//nolint:forcetypeassert // By protoc-gen-go-grpc.
			in := &decoding{message: request.(proto.Message), most: s.limits.Items, hold: call.hold}
			if err := s.receive(ss, in); err != nil {
				return err
			}
			return in.refusal
		}, s.inner)
		if err != nil {
			return nil, err
		}
		return nil, s.send(ctx, ss, call, reply)
	})
	return err
}

// underWay is a call that was admitted.
type underWay interface {
	reading(ctx context.Context) (done func(), err error)
	place(ctx context.Context) (done func(), err error)
	hold(bytes int) error
	answer(bytes int) error
	end()
}

// admit decides by the headers whether a call may go on. Its context knows the policy and the caller.
func (s *Server) admit(ctx context.Context, method string) (context.Context, underWay, error) {
	a := arrivalOf(ctx)
	defer a.admitted()
	from := a.from
	from.called()
	if exempt(method) {
		call, err := from.enter(s.limits.ExemptPerConnection, s.account)
		return ctx, call, err
	}
	ctx, caller, err := s.identify(ctx, method)
	if err != nil {
		from.refuse()
		return nil, nil, err
	}
	if err := from.prove(caller.Name); err != nil {
		from.refuse()
		s.metrics.refused.WithLabelValues("busy").Inc()
		return nil, nil, err
	}
	call, err := s.account.enter(caller.Name, callRoom+headersOf(ctx))
	if err != nil {
		s.metrics.refused.WithLabelValues("busy").Inc()
		return nil, nil, err
	}
	return ctx, call, nil
}

// headersOf is what the headers of a call take in memory until its end, beyond those of an honest one.
func headersOf(ctx context.Context) (bytes int) {
	const usual = 4 << 10 // with a token
	headers, _ := metadata.FromIncomingContext(ctx)
	for name, values := range headers {
		for _, value := range values {
			bytes += len(name) + len(value)
		}
	}
	return max(0, bytes-usual)
}

// exemptCall is a call that needs no token. Its connection bounds its size.
type exemptCall struct {
	from    *connection
	account *Account
}

// enter begins one.
func (n *connection) enter(most int, account *Account) (exemptCall, error) {
	if n != nil && n.exempt.Add(1) > int64(most) {
		n.exempt.Add(-1)
		return exemptCall{}, tooMuch("too many calls without a token on this connection")
	}
	return exemptCall{n, account}, nil
}

// reading waits for a place to read the request, of which a caller has few on all of its connections. gRPC takes as
// large a message for a health check as for any other call.
func (c exemptCall) reading(ctx context.Context) (done func(), err error) {
	if c.from == nil {
		return func() {}, nil
	}
	of := c.from.of.Load()
	if of == &c.from.strange {
		return placeIn(ctx, of.reading) // StrangerBytes bound what is read.
	}
	return c.account.reading(ctx, of.reading, &of.reads)
}

func (exemptCall) place(context.Context) (func(), error) { return func() {}, nil }

func (exemptCall) hold(int) error { return nil }

func (exemptCall) answer(int) error { return nil }

func (c exemptCall) end() {
	if c.from != nil {
		c.from.exempt.Add(-1)
	}
}

// errSlow cuts a call whose message does not come to its end.
var errSlow = errors.New("the message was not complete in time")

// receive reads a message, within the time that there is for it.
func (s *Server) receive(ss grpc.ServerStream, message any) error {
	ctx := ss.Context()
	late := time.AfterFunc(s.limits.Receive, func() { arrivalOf(ctx).sever(errSlow) })
	defer late.Stop()
	err := ss.RecvMsg(message)
	if errors.Is(context.Cause(ctx), errSlow) {
		return &rpcerr.Error{Code: codes.DeadlineExceeded, Message: fmt.Sprintf("the request was not complete within %s", s.limits.Receive)}
	}
	return err
}

// send gives a caller an answer, and returns when the last byte of it is gone: until then the call is under way. gRPC itself keeps what a
// client does not read, and lets the handler go. A client that takes too long loses its connection, for which gRPC has no milder means.
func (s *Server) send(ctx context.Context, ss grpc.ServerStream, call underWay, reply any) error {
	out, err := s.encode(ctx, ss, call, reply)
	if err != nil {
		return err
	}
	from := arrivedBy(ctx)
	if from == nil {
		return nil // The connection is gone, and all that it held.
	}
	late := time.NewTimer(s.limits.Send)
	defer late.Stop()
	select {
	case <-out.gone:
	case <-from.over: // gRPC leaves what it held to the garbage.
	case <-late.C:
		if ctx.Err() == nil { // Otherwise the call was given up just when gRPC took the answer, and dropped it.
			from.end(notRead)
		}
	}
	return nil
}

// encode hands an answer to gRPC, if there is room for it.
func (s *Server) encode(ctx context.Context, ss grpc.ServerStream, call underWay, reply any) (*encoding, error) {
	place, err := call.place(ctx)
	if err != nil {
		return nil, err
	}
	defer place()
	message := reply.(proto.Message) //nolint:forcetypeassert // By protoc-gen-go-grpc.
	out := &encoding{message: message, size: proto.Size(message), gone: make(chan struct{})}
	if err := call.answer(out.size); err != nil {
		s.metrics.refused.WithLabelValues("busy").Inc()
		if policy, _ := PolicyFrom(ctx); policy.Mutating {
			return nil, rpcerr.Errorf(rpcerr.OutcomeUnknown, "the change was made, and its answer has no room: %s", err)
		}
		return nil, err
	}
	return out, ss.SendMsg(out)
}

// handled calls the handler of a call.
func handled(ss grpc.ServerStream, handler func() error) error {
	a := arrivalOf(ss.Context())
	if !a.handle() {
		return errClosed
	}
	defer a.end()
	return handler()
}

// errClosed ends the calls of a connection that was closed before they began.
var errClosed = &rpcerr.Error{Code: codes.Unavailable, Message: "the connection is closed"}

// stream handles what is no unary method: health checks, reflection, and methods that this version does not have. It ends these when
// the server stops: a client that watches our health would otherwise keep a graceful stop waiting.
//
//nolint:contextcheck,nolintlint // The stream has its own context. The linter of directives takes this for unused.
func (s *Server) stream(stopping <-chan struct{}) grpc.StreamServerInterceptor {
	return func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
		return handled(ss, func() error {
			if !exempt(info.FullMethod) && !reflects(info.FullMethod) {
				return unknown(ss.Context(), info.FullMethod)
			}
			begun := time.Now()
			err := s.exempted(srv, ss, info, next, stopping)
			s.metrics.ended(info.FullMethod, begun, err)
			return err
		})
	}
}

// unknown refuses a method that this version does not have, like a call of an unknown caller. There is no metric of it: its name is the
// client's choice.
func unknown(ctx context.Context, method string) error {
	from := arrivedBy(ctx)
	from.called()
	from.refuse()
	return &rpcerr.Error{Code: codes.Unimplemented, Message: method + " is no method of this version of the gateway"}
}

// exempted handles a stream of health checks or reflection.
//
//nolint:contextcheck,nolintlint // The stream has its own context. The linter of directives takes this for unused.
func (s *Server) exempted(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler,
	stopping <-chan struct{}) error {
	_, call, err := s.admit(ss.Context(), info.FullMethod)
	if err != nil {
		return err
	}
	defer call.end()
	ctx, cancel := context.WithCancel(ss.Context())
	defer cancel()
	ended := make(chan struct{})
	defer close(ended)
	go func() {
		select {
		case <-stopping:
			cancel()
		case <-ended:
		}
	}()
	return next(srv, boundedStream{ServerStream: ss, ctx: ctx, request: func(message any) error {
		place, err := call.reading(ctx)
		if err != nil {
			return err
		}
		defer place()
		return s.receive(ss, message)
	}, answer: func(message any) error {
		return s.send(ctx, ss, call, message)
	}})
}

// boundedStream is a stream with a context of ours, whose messages have to come, and to be read, in time.
type boundedStream struct {
	grpc.ServerStream

	ctx             context.Context // The stream's own, as gRPC has it.
	request, answer func(message any) error
}

// Context implements grpc.ServerStream.
func (s boundedStream) Context() context.Context { return s.ctx }

// RecvMsg implements grpc.ServerStream.
func (s boundedStream) RecvMsg(message any) error { return s.request(message) }

// SendMsg implements grpc.ServerStream.
func (s boundedStream) SendMsg(message any) error { return s.answer(message) }
