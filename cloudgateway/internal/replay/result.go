package replay

import (
	"errors"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protopath"
	"google.golang.org/protobuf/reflect/protorange"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/anypb"

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

// newResult gives an answer as it goes over the wire: that is small, and nobody can change it. It gives nil for one that is not to be
// remembered: one that can't be sent, and one with errors of items, which are for the caller to try again.
func newResult(m proto.Message) *anypb.Any {
	if !complete(m) {
		return nil
	}
	result, err := anypb.New(m)
	if err != nil {
		return nil
	}
	return result
}

// complete reports whether an answer has no error of an item.
func complete(m proto.Message) bool {
	failed := errors.New("has failed")
	return protorange.Range(m.ProtoReflect(), func(at protopath.Values) error {
		if within, ok := at.Index(-1).Value.Interface().(protoreflect.Message); ok {
			if _, bad := within.Interface().(*commonv1.ItemError); bad {
				return failed
			}
		}
		return nil
	}) == nil
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
	e := entry{key: k, expires: time.Now().Add(life), size: overhead + len(k.caller) + len(k.requestID) + len(a.result.GetValue())}
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
