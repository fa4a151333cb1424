package cloud

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"

	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/services/rpcerr"
)

// maxPages ends a listing that makes no progress; no account comes near it.
const maxPages = 1000

// Numbered reads all pages of a listing by PageNumber. Fetch makes one call with the parameters and says how many items it
// brought and how many there are in all; 0: the answer does not tell, and a page that is not full is the last.
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
	return &rpcerr.Error{
		Code: codes.Unavailable, Reason: rpcerr.CloudUnavailable, Message: fmt.Sprintf(format, args...), RetryAfter: time.Second,
	}
}

// Read describes a call that changes nothing.
func Read(product openapi.Product, action string, params Params) openapi.Call {
	return openapi.Call{Product: product, Action: action, Params: params, Idempotent: true}
}

// Write describes a call that changes something. After an answer that was lost it is the product's to find out what happened.
func Write(product openapi.Product, action string, params Params) openapi.Call {
	return openapi.Call{Product: product, Action: action, Params: params, Mutating: true}
}
