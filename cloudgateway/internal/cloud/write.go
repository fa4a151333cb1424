package cloud

import (
	"context"
	"slices"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"

	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/services/rpcerr"
)

// Set makes a change that says how something shall be, and not how it shall change: done twice it has the effect of once, so a
// lost answer is no obstacle. So is a creation with a token. It is repeated while the resource is busy. The answer goes to out,
// unless that is nil.
func Set(ctx context.Context, caller Caller, call openapi.Call, out any) error {
	call.Idempotent = true
	return Retry(ctx, Busy, func(ctx context.Context) error {
		_, err := caller.Do(ctx, call, out)
		return err
	})
}

// Unless drops the error if it has the reason.
func Unless(err error, reason rpcerr.Reason) error {
	if rpcerr.ReasonOf(err) == reason {
		return nil
	}
	return err
}

// Create makes something for which the cloud has no token, so that nobody may blindly send again. After an unclear answer look
// says what the creation may have made, nil if nothing, or an error if that can't be told, which is then the end.
func Create[T any](ctx context.Context, send, look func(context.Context) (*T, error)) (*T, error) {
	var made *T
	undecidable := false
	again := func(err error) bool { return !undecidable && (Busy(err) || Unclear(err)) }
	err := Retry(ctx, again, func(ctx context.Context) (err error) {
		if made, err = send(ctx); !Unclear(err) {
			return err
		}
		found, lookErr := look(ctx)
		if lookErr != nil {
			undecidable = true
			return lookErr
		}
		if found == nil {
			return err
		}
		made = found
		return nil
	})
	return made, err
}

// TagList is how answers of SLB tell the tags of a resource.
type TagList struct {
	Tag []struct{ TagKey, TagValue string }
}

// Decode gives the tags.
func (l TagList) Decode() []*commonv1.Tag {
	var tags []*commonv1.Tag
	for _, t := range l.Tag {
		tags = append(tags, &commonv1.Tag{Key: t.TagKey, Value: t.TagValue})
	}
	return tags
}

// HasTags tells whether all wanted tags are among those that there are.
func HasTags(there, wanted []*commonv1.Tag) bool {
	for _, w := range wanted {
		if !slices.ContainsFunc(there, func(t *commonv1.Tag) bool {
			return t.GetKey() == w.GetKey() && t.GetValue() == w.GetValue()
		}) {
			return false
		}
	}
	return true
}
