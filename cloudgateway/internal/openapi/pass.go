package openapi

import (
	"context"
	"errors"
	"io"
	"net/http"

	"alicloud-controllers.dev/cloudgateway/internal/openapi/catalogue"
	"alicloud-controllers.dev/cloudgateway/internal/rpc"
)

// Answer is one of the cloud, as it came.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Pass sends a call of another program, which understands the cloud's answers itself: it gets them as they come, errors
// included. The context needs a deadline. A call that the cloud refuses for its rate waits for room and is sent again
// as long as the deadline leaves time for that, and so is one for which the gateway's credentials were too old; neither
// was carried out. Nothing else is repeated: the program knows best what it may repeat. Hold is asked before more of an
// answer is kept than a few kilobytes.
//
// An error is an *rpcerr.Error: OUTCOME_UNKNOWN if a change may have been made although no answer came. It is a
// *Withheld if there was an answer that no other program must see.
//
// Changed reports whether something may have been changed: it was sent, and not refused for what comes before the
// action itself.
func (c *Client) Pass(ctx context.Context, call Call, hold func(bytes int) error) (got *Answer, changed bool, err error) {
	x := &exchange{client: c, call: call, needed: true, hold: hold}
	answer, err := x.run(ctx)
	changed = call.Mutating && (x.unclear || x.answer != nil && !x.carriedOutNothing())
	if call.Mutating && x.reached {
		rpc.NoteCloudChange(ctx)
	}
	if err != nil {
		return nil, changed, err
	}
	rpc.NoteCloudRequest(ctx, answer.requestID())
	if err := x.withheld(answer); err != nil {
		return nil, changed, err
	}
	return &Answer{Status: answer.status, Header: answer.header, Body: answer.body}, changed, nil
}

// carriedOutNothing reports whether the cloud has refused the call before it looked at what it is about.
func (x *exchange) carriedOutNothing() bool {
	if x.succeeded() {
		return false
	}
	class := x.meaning.Class
	return class == catalogue.Throttle || class == catalogue.Authentication || class == catalogue.Permission ||
		x.refusal.Code != "" && !catalogue.KnowsAction(x.refusal) && class != catalogue.Server
}

// passes reports whether it is a call of another program.
func (x *exchange) passes() bool { return x.hold != nil }

// passAgain reports whether the call of another program is to be sent again. The next attempt waits for the budget.
func (x *exchange) passAgain() bool {
	switch {
	case x.answer == nil || x.succeeded():
		return false
	case x.meaning.Class == catalogue.Throttle:
		x.throttled()
		return true
	default:
		return x.meaning.Renew && !x.renewed
	}
}

// freely is how much of an answer is kept without asking.
const freely = 16 << 10

var errTooLong = errors.New("the answer is longer than the gateway can hold at present")

// held reads an answer that another program gets as it is: cut off, it would be wrong.
type held struct {
	io.Reader

	hold  func(int) error
	bytes int
	asked int
}

// Read implements io.Reader.
func (h *held) Read(p []byte) (int, error) {
	n, err := h.Reader.Read(p)
	h.bytes += n
	if over := h.bytes - freely - h.asked; over > 0 {
		if h.bytes > maxAnswer || h.hold(over) != nil {
			return 0, errTooLong
		}
		h.asked += over
	}
	return n, err
}
