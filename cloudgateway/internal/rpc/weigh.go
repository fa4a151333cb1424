package rpc

import (
	grpcencoding "google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // The codec of requests and answers.
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/buffers"
)

// What an item takes in memory, in bytes, besides its texts: a message in a request, and an element of a list that is
// no message. Most of the second is the result that is made of an id, which is in memory before the size of the answer is
// known. A test compares both with the messages that there are.
const (
	perMessage = 256
	perElement = 512
)

// weight is what a request takes in memory once it is decoded.
type weight struct{ items, bytes int }

// weigh looks at a request that is not decoded yet. An empty message takes two bytes on the wire and fifty times as
// much in memory, so that the size on the wire says little. What is malformed ends the count, as it ends the decoding.
// One item more than most ends it too: to count half a million would hold up others.
func weigh(wire []byte, of protoreflect.MessageDescriptor, most int) weight {
	w := weight{bytes: len(wire)}
	w.add(wire, of, most)
	return w
}

func (w *weight) add(wire []byte, of protoreflect.MessageDescriptor, most int) {
	for len(wire) > 0 && w.items <= most {
		number, kind, tag := protowire.ConsumeTag(wire)
		if tag < 0 {
			return
		}
		size := protowire.ConsumeFieldValue(number, kind, wire[tag:])
		if size < 0 {
			return
		}
		value := wire[tag : tag+size]
		wire = wire[tag+size:]
		switch field := of.Fields().ByNumber(number); {
		case field == nil: // It is kept as it is.
		case field.Message() != nil && kind == protowire.BytesType:
			inner, _ := protowire.ConsumeBytes(value)
			w.items++
			w.bytes += perMessage
			w.add(inner, field.Message(), most)
		case field.IsList():
			w.items++
			w.bytes += perElement
			if kind == protowire.BytesType && field.IsPacked() {
				w.bytes += perElement * len(value)
			}
		}
	}
}

// decoding is a request to be decoded, if hold agrees to what it takes in memory.
type decoding struct {
	message proto.Message
	most    int // items
	hold    func(bytes int) error
	refusal error
}

// encoding is an answer to be encoded, whose size the account knows. It is the pool to which its bytes go when they are gone.
type encoding struct {
	message proto.Message
	size    int
	gone    chan struct{}
}

// Get implements mem.BufferPool.
func (*encoding) Get(size int) *[]byte { return buffers.Pool.Get(size) }

// Put implements mem.BufferPool. gRPC calls it when the last byte is written, or when the stream has ended.
func (e *encoding) Put(b *[]byte) {
	buffers.Pool.Put(b)
	close(e.gone)
}

// pooled is the least size of a buffer of which gRPC says when it is gone.
const pooled = 2 << 10

// weighing is the codec of gRPC, which it asks to decode a decoding, and to encode an encoding.
type weighing struct{ grpcencoding.CodecV2 }

func newCodec() weighing { return weighing{grpcencoding.GetCodecV2("proto")} }

// Marshal implements encoding.CodecV2.
func (c weighing) Marshal(v any) (mem.BufferSlice, error) {
	out, ok := v.(*encoding)
	if !ok {
		return c.CodecV2.Marshal(v)
	}
	buffer := buffers.Pool.Get(max(pooled, out.size))
	text, err := proto.MarshalOptions{UseCachedSize: true}.MarshalAppend((*buffer)[:0], out.message)
	if err != nil {
		buffers.Pool.Put(buffer)
		return nil, err
	}
	*buffer = text
	return mem.BufferSlice{mem.NewBuffer(buffer, out)}, nil
}

// Unmarshal implements encoding.CodecV2.
func (c weighing) Unmarshal(data mem.BufferSlice, into any) error {
	in, ok := into.(*decoding)
	if !ok {
		return c.CodecV2.Unmarshal(data, into)
	}
	wire := data.MaterializeToBuffer(buffers.Pool)
	defer wire.Free()
	w := weigh(wire.ReadOnlyData(), in.message.ProtoReflect().Descriptor(), in.most)
	if w.items > in.most {
		in.refusal = rpcerr.Errorf(rpcerr.InvalidField,
			"the request has more than the %d items in all that are allowed; make several requests of it", in.most)
		return nil
	}
	if in.refusal = in.hold(w.bytes); in.refusal != nil {
		return nil
	}
	return proto.Unmarshal(wire.ReadOnlyData(), in.message)
}
