package cloud

import (
	"cmp"
	"context"
	"slices"
	"strings"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/openapi"
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

// TagList is what answers say about the tags of a resource. The names of the fields differ between products and actions.
type TagList struct {
	Tag []struct{ TagKey, TagValue, Key, Value string }
}

// TagsInto decodes the tags of a resource.
func TagsInto(into *[]*commonv1.Tag) *Decoder { return Via(into, TagList.Decode) }

// Decode gives the tags, ordered by key.
func (l TagList) Decode() []*commonv1.Tag {
	var tags []*commonv1.Tag
	for _, t := range l.Tag {
		tags = append(tags, &commonv1.Tag{Key: cmp.Or(t.TagKey, t.Key), Value: cmp.Or(t.TagValue, t.Value)})
	}
	slices.SortFunc(tags, func(a, b *commonv1.Tag) int { return strings.Compare(a.GetKey(), b.GetKey()) })
	return tags
}

// SameTags reports whether there are exactly the wanted tags. Those that the cloud itself sets don't count.
func SameTags(there, wanted []*commonv1.Tag) bool {
	own := make(map[string]string, len(there))
	for _, t := range there {
		if !strings.HasPrefix(t.GetKey(), "acs:") {
			own[t.GetKey()] = t.GetValue()
		}
	}
	for _, w := range wanted {
		if value, ok := own[w.GetKey()]; !ok || value != w.GetValue() {
			return false
		}
	}
	return len(own) == len(wanted)
}
