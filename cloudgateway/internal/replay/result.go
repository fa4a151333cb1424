package replay

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
)

const (
	// life is how long a result is remembered, as the protocol says.
	life = time.Hour
	// space bounds what is remembered, in bytes: more than an hour of what the cloud's limits let through.
	space = 32 << 20
	// overhead is about what a result takes besides its texts.
	overhead = 512
)

// result is a successful answer, as it went over the wire: that is small, and nobody can change it.
type result struct {
	kind protoreflect.MessageType
	wire []byte
}

// newResult gives nil for an answer that is not to be remembered: one that can't be sent, and one with errors of items, which are
// for the caller to try again.
func newResult(m proto.Message) *result {
	if !complete(m.ProtoReflect()) {
		return nil
	}
	wire, err := proto.Marshal(m)
	if err != nil {
		return nil
	}
	return &result{kind: m.ProtoReflect().Type(), wire: wire}
}

// message is a copy of the answer.
func (r *result) message() (proto.Message, error) {
	m := r.kind.New().Interface()
	if err := proto.Unmarshal(r.wire, m); err != nil {
		return nil, fmt.Errorf("recall the answer: %w", err)
	}
	return m, nil
}

// complete reports whether an answer has no error of an item.
func complete(m protoreflect.Message) bool {
	if _, failed := m.Interface().(*commonv1.ItemError); failed {
		return false
	}
	good := true
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.Message() == nil || field.IsMap():
		case field.IsList():
			for i := 0; good && i < value.List().Len(); i++ {
				good = complete(value.List().Get(i).Message())
			}
		default:
			good = complete(value.Message())
		}
		return good
	})
	return good
}

// results are the attempts that succeeded, for a while. All live equally long, so the first in is the first to go.
type results struct {
	byKey  map[key]*attempt
	oldest []entry
	bytes  int
}

type entry struct {
	key     key
	expires time.Time
	size    int
}

func (r *results) get(k key) *attempt {
	r.expire()
	return r.byKey[k]
}

func (r *results) put(k key, a *attempt) {
	r.expire()
	if r.byKey == nil {
		r.byKey = map[key]*attempt{}
	}
	e := entry{key: k, expires: time.Now().Add(life), size: overhead + len(k.caller) + len(k.requestID) + len(a.result.wire)}
	r.byKey[k] = a
	r.oldest = append(r.oldest, e)
	r.bytes += e.size
	for r.bytes > space {
		r.forget()
	}
}

// expire forgets what is over.
func (r *results) expire() {
	for now := time.Now(); len(r.oldest) > 0 && !now.Before(r.oldest[0].expires); {
		r.forget()
	}
}

// forget drops the oldest result.
func (r *results) forget() {
	delete(r.byKey, r.oldest[0].key)
	r.bytes -= r.oldest[0].size
	r.oldest = r.oldest[1:]
}
