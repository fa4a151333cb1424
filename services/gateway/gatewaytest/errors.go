package gatewaytest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	"alicloud-controllers.dev/proto/rpcerr"
)

// maxRequestID is the length of a request_id, as the protocol says.
const maxRequestID = 64

func invalid(field, format string, args ...any) error {
	return rpcerr.Invalid(rpcerr.FieldViolation{Field: field, Description: fmt.Sprintf(format, args...)})
}

func notFound(reason rpcerr.Reason, what, id string) error {
	return &rpcerr.Error{Code: codes.NotFound, Reason: reason, Message: fmt.Sprintf("%s %q does not exist", what, id)}
}

func refused(code codes.Code, reason rpcerr.Reason, format string, args ...any) error {
	return &rpcerr.Error{Code: code, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// required refuses an empty field.
func required(field, value string) error {
	if value == "" {
		return invalid(field, "is required")
	}
	return nil
}

// firstError gives the first error that is one.
func firstError(errs ...error) error { return cmp.Or(errs...) }

// replay gives the answer of an earlier creation with the same request_id, nil if there was none; f is locked.
func (f *Fake) replay(requestID string, req proto.Message) (proto.Message, error) {
	if requestID == "" || len(requestID) > maxRequestID {
		return nil, invalid("request_id", "%q has not 1 to %d characters", requestID, maxRequestID)
	}
	earlier, ok := f.answered[requestID]
	if !ok {
		return nil, nil
	}
	if !proto.Equal(earlier.request, req) {
		return nil, refused(codes.InvalidArgument, rpcerr.IdempotencyMismatch, "request_id %q was used with other content", requestID)
	}
	return earlier.response, nil
}

// remember stores the answer of a creation; f is locked.
func (f *Fake) remember(requestID string, req, response proto.Message) {
	f.answered[requestID] = answer{request: proto.Clone(req), response: proto.Clone(response), at: time.Now()}
}

// sorted gives clones of the values of m that keep accepts, ordered by key.
func sorted[M proto.Message](m map[string]M, keep func(M) bool) []M {
	var kept []M
	for _, id := range slices.SortedFunc(maps.Keys(m), strings.Compare) {
		if keep(m[id]) {
			kept = append(kept, proto.CloneOf(m[id]))
		}
	}
	return kept
}

// cloneAll clones messages.
func cloneAll[M proto.Message](messages []M) []M {
	clones := make([]M, len(messages))
	for i, m := range messages {
		clones[i] = proto.CloneOf(m)
	}
	return clones
}

// tooManyTags refuses more tags than the cloud takes.
func tooManyTags(tags []*commonv1.Tag) error {
	const most = 20
	if len(tags) > most {
		return invalid("tags", "has %d items, at most %d are allowed", len(tags), most)
	}
	return nil
}

// unless is no error if what is to be gone is gone.
func unless(err error, gone ...rpcerr.Reason) error {
	if err != nil && slices.Contains(gone, rpcerr.ReasonOf(err)) {
		return nil
	}
	return err
}

// set changes a value if there is a new one.
func set[V any](value, to *V) {
	if to != nil {
		*value = *to
	}
}
