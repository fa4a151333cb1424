package cloud

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/openapi"
)

// Listing is an action whose answers are the pages of a list.
type Listing[T any] struct {
	Action string
	// Items is where an answer has its items, e.g. "Vpcs.Vpc".
	Items string
	// Decode reads one item.
	Decode func(item []byte) (T, error)
	// ID tells the items apart.
	ID func(T) string
	// PerPage is the size of a page that has a number, MaxResults of one that has a token. With neither, one answer has all items.
	PerPage, MaxResults int
	// Page and Size are what the product calls the number and the size of a page; empty: PageNumber and PageSize.
	Page, Size string
}

// All reads all pages.
func (l Listing[T]) All(ctx context.Context, api API, filter Params) (all []T, err error) {
	switch {
	case l.PerPage > 0:
		return Numbered(ctx, filter, l.PerPage, l.ID, func(p Params) (page []T, total int, err error) {
			if l.Page != "" {
				p[l.Page], p[l.Size] = p["PageNumber"], p["PageSize"]
				delete(p, "PageNumber")
				delete(p, "PageSize")
			}
			page, err = l.page(ctx, api, p, "TotalCount", &total)
			return page, total, err
		})
	case l.MaxResults == 0:
		return l.page(ctx, api, filter, "", nil)
	}
	err = Tokened(ctx, Params{}.Int("MaxResults", l.MaxResults).Merge(filter), func(p Params) (next string, err error) {
		page, err := l.page(ctx, api, p, "NextToken", &next)
		all = append(all, page...)
		return next, err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// page makes one call. The member of the answer says whether there are more pages. An item that can't be understood is
// an error, but one that is about that item: those who share the call with the caller that asked for it can be
// answered.
func (l Listing[T]) page(ctx context.Context, api API, params Params, member string, more any) (page []T, err error) {
	var odd error
	each := Each(&page, func(item []byte) (T, error) {
		t, err := l.Decode(item)
		if err != nil {
			odd = fmt.Errorf("%.80s: %w", item, err)
		}
		return t, nil
	})
	outer, inner, nested := strings.Cut(l.Items, ".")
	answer := Fields{member: more, outer: each}
	if nested {
		answer[outer] = Fields{inner: each}
	}
	if err := api.Read(ctx, l.Action, params, &answer); err != nil {
		return nil, err
	}
	if odd != nil {
		return nil, unreadable{rpcerr.Errorf(rpcerr.CloudUnavailable, "an item of the answer can't be read: %v", odd).
			WithAPI(string(api.Product) + "/" + l.Action)}
	}
	return page, nil
}

// unreadable is the error about an item that can't be understood.
type unreadable struct{ error }

// Unwrap gives what callers get.
func (u unreadable) Unwrap() error { return u.error }

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

// mostPasses is how often the pages of a listing are read in which items go all the time.
const mostPasses = 4

// Numbered reads all pages of a listing by PageNumber, and gives each item once, in the order of the ids. Fetch makes
// one call with the parameters and says how many items there are in all; 0: the answer does not say, and a page that is
// not full is the last.
//
// An item that goes between two calls moves those behind it up, one of them onto a page that was read already. So if
// there was more than one page, they are read again, until all that was on them is there still: then nothing has gone.
// What came meanwhile hides nothing.
func Numbered[T any](
	ctx context.Context, params Params, size int, id func(T) string, fetch func(Params) (page []T, total int, err error),
) ([]T, error) {
	var before []T           // as the pass before read them
	unseen := map[string]T{} // by this pass, of what was not on the last page then
	for pass := range mostPasses {
		found := ByKey(before, id)
		all, last, total, err := readPages(ctx, params, size, fetch, func(page []T, total int) bool {
			for _, item := range page {
				delete(unseen, id(item))
				found[id(item)] = item
			}
			return pass > 0 && len(unseen) == 0 && len(found) >= total
		})
		switch {
		case err != nil:
			return nil, err
		case pass > 0 && len(unseen) == 0 && len(found) >= total:
			return SortedBy(slices.Collect(maps.Values(found)), id), nil
		case len(all) == last: // One page is as it was at one time.
			return Distinct(all, id), nil
		}
		before, unseen = all, ByKey(all[:len(all)-last], id)
	}
	return nil, unsettled("items went each of the %d times that the listing was read", mostPasses)
}

// readPages reads all pages once, or until enough are read, and says how many of the items were on the last, and how many there are in all.
func readPages[T any](
	ctx context.Context, params Params, size int, fetch func(Params) ([]T, int, error), enough func(page []T, total int) bool,
) (all []T, last, total int, err error) {
	for number := 1; number <= maxPages; number++ {
		p := Params{}.Merge(params)
		p["PageNumber"], p["PageSize"] = strconv.Itoa(number), strconv.Itoa(size)
		var page []T
		if page, total, err = fetch(p); err != nil {
			return nil, 0, 0, err
		}
		all = append(all, page...)
		switch {
		case enough(page, total), len(all) >= total && (total > 0 || len(page) < size):
			return all, len(page), total, nil
		case len(page) == 0:
			return nil, 0, 0, unsettled("the listing changed while it was read: got %d of %d items", len(all), total)
		case ctx.Err() != nil:
			return nil, 0, 0, ctx.Err()
		}
	}
	return nil, 0, 0, unsettled("the listing has more than %d pages", maxPages)
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
	return openapi.Call{Product: product, Action: action, Params: params, Idempotent: true}.InForm()
}

// Write describes a call that changes something. After an answer that was lost it is the product's to find out what happened.
func Write(product openapi.Product, action string, params Params) openapi.Call {
	return openapi.Call{Product: product, Action: action, Params: params, Mutating: true}.InForm()
}
