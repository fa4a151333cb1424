package cloud

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"

	"alicloud-controllers.dev/services/rpcerr"
)

// Listing is an action whose answers are the pages of a list.
type Listing[T any] struct {
	Action string
	// Items is where an answer has its items, e.g. "Vpcs.Vpc".
	Items string
	// Decode reads one item.
	Decode func(item []byte) (T, error)
	// PerPage is the size of a page that has a number.
	PerPage int
	// Most is how many items are worth to be read: if there are more, one page is read, and ErrTooMany is the result. 0: any number.
	Most int
}

// ErrTooMany says that there are too many items to read them all.
var ErrTooMany = errors.New("too many items")

// Numbered reads all pages, by PageNumber.
func (l Listing[T]) Numbered(ctx context.Context, api API, filter Params) ([]T, error) {
	var all []T
	err := Numbered(ctx, filter, l.PerPage, func(p Params) (got, total int, err error) {
		var page []T
		err = api.Read(ctx, l.Action, p, l.into("TotalCount", &total, &page))
		if err == nil && l.Most > 0 && total > l.Most {
			err = ErrTooMany
		}
		all = append(all, page...)
		return len(page), total, err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Tokened reads all pages, by NextToken.
func (l Listing[T]) Tokened(ctx context.Context, api API, filter Params) ([]T, error) {
	var all []T
	err := Tokened(ctx, filter, func(p Params) (next string, err error) {
		var page []T
		err = api.Read(ctx, l.Action, p, l.into("NextToken", &next, &page))
		all = append(all, page...)
		return next, err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// into is where an answer goes: its items, and the member that says whether there are more.
func (l Listing[T]) into(member string, more any, page *[]T) *Fields {
	outer, inner, nested := strings.Cut(l.Items, ".")
	answer := Fields{member: more, outer: Each(page, l.Decode)}
	if nested {
		answer[outer] = Fields{inner: answer[outer]}
	}
	return &answer
}

// InChunks reads what a filter of many values selects, of which a call takes some. No values are one call without them.
func InChunks[T any](values []string, perCall int, read func(some []string) ([]T, error)) ([]T, error) {
	if len(values) == 0 {
		return read(nil)
	}
	var all []T
	for some := range slices.Chunk(values, perCall) {
		found, err := read(some)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// First gives the one that was found; nil: there is none.
func First[T any](found []*T, err error) (*T, error) {
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}

// NotFound is the error about something that an API has not found, e.g. "EIP eip-1".
func NotFound(reason rpcerr.Reason, api, what string) error {
	return &rpcerr.Error{
		Code: codes.NotFound, Reason: reason, API: api,
		Message: fmt.Sprintf("there is no %s in this region, or the gateway may not see it", what),
	}
}
