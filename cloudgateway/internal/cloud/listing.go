package cloud

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/openapi"
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
	return rpcerr.Errorf(reason, "there is no %s in this region, or the gateway may not see it", what).WithAPI(api)
}

// maxPages ends a listing that makes no progress; no account comes near it.
const maxPages = 1000

// Numbered reads all pages of a listing by PageNumber. Fetch makes one call with the parameters and says how many items it
// brought and how many there are in all; 0: the answer does not say, and a page that is not full is the last.
func Numbered(ctx context.Context, params Params, size int, fetch func(Params) (got, total int, err error)) error {
	seen, before := 0, 0
	for page := 1; page <= maxPages; page++ {
		p := Params{}.Merge(params)
		p["PageNumber"], p["PageSize"] = strconv.Itoa(page), strconv.Itoa(size)
		got, total, err := fetch(p)
		if err != nil {
			return err
		}
		if total < before {
			// Something was deleted between two pages: the items behind it moved up, one of them onto a page already read.
			return unsettled("the listing changed while it was read: %d items, then %d", before, total)
		}
		seen, before = seen+got, total
		if seen >= total && (total > 0 || got < size) {
			return nil
		}
		if got == 0 {
			return unsettled("the listing changed while it was read: got %d of %d items", seen, total)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return unsettled("the listing has more than %d pages", maxPages)
}

// Tokened reads all pages of a listing by NextToken. Fetch makes one call and gives the token of the next page.
func Tokened(ctx context.Context, params Params, fetch func(Params) (next string, err error)) error {
	token := ""
	for range maxPages {
		next, err := fetch(Params{}.Merge(params).With("NextToken", token))
		if err != nil {
			return err
		}
		if next == "" {
			return nil
		}
		if next == token {
			return unsettled("the listing does not get on: two pages have the same NextToken")
		}
		token = next
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return unsettled("the listing has more than %d pages", maxPages)
}

// unsettled is the error of a listing that can't be trusted to be complete.
func unsettled(format string, args ...any) error {
	return rpcerr.Errorf(rpcerr.CloudUnavailable, format, args...).WithRetry(time.Second)
}

// Read describes a call that changes nothing.
func Read(product openapi.Product, action string, params Params) openapi.Call {
	return openapi.Call{Product: product, Action: action, Params: params, Idempotent: true}
}

// Write describes a call that changes something. After an answer that was lost it is the product's to find out what happened.
func Write(product openapi.Product, action string, params Params) openapi.Call {
	return openapi.Call{Product: product, Action: action, Params: params, Mutating: true}
}
