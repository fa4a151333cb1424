// Package api is the contract between the simulator's server, which speaks the wire protocol, and the products, which give
// the actions their meaning. A product knows nothing of HTTP, signatures, throttling or faults.
package api

import (
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// Kind is the form of a parameter's value.
type Kind int

// The kinds of parameters. The server checks the form before it calls the handler.
const (
	String  Kind = iota // any text
	Int                 // a decimal integer
	Bool                // true or false
	JSON                // JSON text; the handler checks it
	Strings             // Name.1, Name.2, …
	Structs             // Name.1.Key, Name.1.Value, …
)

// Param describes one parameter of an action.
type Param struct {
	Name     string
	Kind     Kind
	Required bool
	Enum     []string // allowed values; empty: any. Their case doesn't matter, see [Settings.ExactCase]
	Open     bool     // the handler judges values that are not in Enum, such as ids beside the names of the cloud
	Min, Max int64    // range of an Int, and number of items of Strings and Structs; both zero: any
	Missing  *Error   // the answer if a required one was not sent; nil stands for MissingParameter
	// Limit is the greatest number of items where that is a setting; nil stands for Max.
	Limit func(*Settings) int
	// Members are those of Structs whose form the server checks, as it does that of parameters.
	Members []Param
}

// Most is the upper end of the range, as Max.
func (p *Param) Most(s *Settings) int64 {
	if p.Limit != nil {
		return int64(p.Limit(s))
	}
	return p.Max
}

// Optional is a parameter with any text.
func Optional(name string) Param { return Param{Name: name} }

// Required is a parameter with any text that has to be sent.
func Required(name string) Param { return Param{Name: name, Required: true} }

// Flag is a parameter that is true or false.
func Flag(name string) Param { return Param{Name: name, Kind: Bool} }

// Number is a parameter with a whole number from lo to hi.
func Number(name string, lo, hi int64) Param { return Param{Name: name, Kind: Int, Min: lo, Max: hi} }

// OneOf is a parameter with one of some texts.
func OneOf(name string, values ...string) Param { return Param{Name: name, Enum: values} }

// Action is one operation of a product.
type Action struct {
	Name     string
	Mutating bool
	// Method and Path are those of an action in ROA style, such as GET and /clusters/{ClusterId}: what is in braces is a parameter. Empty:
	// RPC style, in which the request says the name of the action.
	Method, Path string
	// Unsigned actions are also taken from callers without an AccessKey: what they send is the proof.
	Unsigned bool
	Params   []Param
	Codes    []string // error codes the handler can answer, for the generated reference
	// ItemCodes are what the items of a batch can fail with, in an answer that is none of an error.
	ItemCodes []string
	// Handle runs with the state locked. It validates everything before it changes anything. The result is encoded as JSON
	// or XML by its json tags; nil stands for an answer with nothing but the RequestId. In ROA style it is the whole answer, and need not be
	// an object; a string is sent as it is.
	Handle Handler
}

// AllCodes are the codes of the handler and those of the parameters, sorted.
func (a Action) AllCodes() []string {
	codes := slices.Clone(a.Codes)
	for _, p := range a.Params {
		if p.Required && p.Missing != nil {
			codes = append(codes, p.Missing.Code)
		}
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}

// Product is an OpenAPI product such as Slb 2014-05-15.
type Product struct {
	Name    string // lower case, as in the journal: "slb"
	Code    string // as in metadata: "Slb"
	Version string
	Actions []Action

	// Throttled is the answer to a call beyond a rate limit, in the words of the product; clients compare its code exactly.
	Throttled *Error
	// Malformed is the code for a parameter of the wrong form; "": InvalidParameter.
	Malformed string

	// Settle completes the transitions that have ended at c.Now and returns when the next one ends, the zero time if none is
	// under way. The server calls it before the call of any product that comes at that time or after a change of this one, so that
	// handlers never see a transition that is over. Nil: there are none.
	Settle func(c *Context) (next time.Time)
	// Lazy products settle what a call touches by themselves, because they have too much to look at all of it after every change.
	// Settle is then called only for code that looks at the state directly, and End before the call of any product: it completes what
	// others see the end of, such as what is deleted. Nil: nothing.
	Lazy bool
	End  func(c *Context)
	// Complete fills in what the cloud itself adds to resources that a seed has brought; whole is the state with them in it. Nil:
	// nothing. It may run before those of other products.
	Complete func(whole, brought *state.Cloud)
}

// Earlier returns the earlier of two ends of transitions; the zero time stands for none.
func Earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Context is what a handler gets: the request, the state and the time.
type Context struct {
	Params
	State     *state.Cloud
	Now       time.Time // of the virtual clock
	Account   string    // account id of the caller, e.g. "1000000000000001"
	Region    string
	Regions   []string // all of the process, this one among them
	RequestID string
	// AccessKeyID is the key that signed the request.
	AccessKeyID string
	Settings    *Settings // never changed while the handler runs
	Traffic     *Traffic  // nil: load balancers carry none
	// FailItem returns the error that a fault gives an item of a batch, or nil. Names of members are in lower case. It is
	// nil itself if no fault strikes the call.
	FailItem func(item map[string]string) *Error
	// Job is what a fault does to the asynchronous job that the call starts, or nil.
	Job *JobFault
	// Count numbers what a cloud with short ids makes, from 1 on for each kind. Nil: ids are opaque.
	Count func(kind string) int64
	// Held reports whether a write whose answer is not sent yet holds a thing. Nil: nothing is held.
	Held func(thing string) bool

	holds []string
}

// JobFault is what a fault does to an asynchronous job.
type JobFault struct {
	Error *Error        // the job fails so; nil: it succeeds
	Delay time.Duration // the job takes so much longer
}

// Hold reserves a thing that a write changes, such as a vServer group, until the answer of the write is sent. It reports false
// if another write holds it.
func (c *Context) Hold(thing string) bool {
	if c.Held != nil && c.Held(thing) {
		return false
	}
	c.holds = append(c.holds, thing)
	return true
}

// Holds are the things that the call holds.
func (c *Context) Holds() []string { return c.holds }

// ItemFault returns the error that a fault gives an item of a batch, or nil.
func (c *Context) ItemFault(item map[string]string) *Error {
	if c.FailItem == nil {
		return nil
	}
	return c.FailItem(item)
}

// NewID returns an id that was never handed out before: the sequence makes it unique, the hash makes it opaque, so that no
// client comes to rely on its order.
func (c *Context) NewID(prefix string) string {
	for {
		c.State.Sequence++
		if c.Count != nil && prefix != "" {
			short := strings.TrimSuffix(prefix, "bp1")
			return short + strconv.FormatInt(c.Count(short), 10)
		}
		sum := sha256.Sum256([]byte(c.Account + "/" + strconv.FormatInt(c.State.Sequence, 10)))
		id := strings.ToLower(base32.HexEncoding.EncodeToString(sum[:10]))
		if strings.ContainsAny(id, "0123456789") { // so that an id can be told from a word, as those of the cloud can
			return prefix + id
		}
	}
}

// Number is one of which an address or a number of some kind is made that was not handed out before.
func (c *Context) Number(kind string) int64 {
	if c.Count != nil {
		return c.Count(kind)
	}
	return c.State.Sequence
}

// Error is an answer other than success.
type Error struct {
	Status  int
	Code    string
	Message string
}

// Error makes it an error.
func (e *Error) Error() string { return fmt.Sprintf("%d %s: %s", e.Status, e.Code, e.Message) }

// BadRequest is the most frequent error, HTTP 400.
func BadRequest(code, format string, args ...any) *Error {
	return &Error{Status: http.StatusBadRequest, Code: code, Message: fmt.Sprintf(format, args...)}
}

// Missing is the error for a parameter that was not sent, where the action has no code of its own for it.
func Missing(name string) *Error {
	return BadRequest("MissingParameter", "The input parameter %q that is mandatory for processing this request is not supplied.", name)
}

// Invalid is the error for a parameter with a value that can't be, where the action has no code of its own for it.
func Invalid(name string) *Error {
	return BadRequest("InvalidParameter", "The specified parameter %q is not valid.", name)
}

// DryRun is the answer to a request that is valid and asked for nothing more.
func DryRun() *Error {
	return BadRequest("DryRunOperation", "Request validation has been passed with DryRun flag set.")
}

// UserThrottled is the answer of products that name whose calls were too many.
func UserThrottled() *Error {
	return BadRequest("Throttling.User", "Request was denied due to user flow control.")
}

// NotFound is an error with HTTP 404.
func NotFound(code, format string, args ...any) *Error {
	return &Error{Status: http.StatusNotFound, Code: code, Message: fmt.Sprintf(format, args...)}
}

// Handler gives an action its meaning.
type Handler = func(c *Context) (any, *Error)

// Read is an action that changes nothing. Codes are those that its handler can answer.
func Read(name string, handle Handler, codes []string, params ...Param) Action {
	return Action{Name: name, Handle: handle, Codes: codes, Params: params}
}

// Write is an action that changes something.
func Write(name string, handle Handler, codes []string, params ...Param) Action {
	return Action{Name: name, Mutating: true, Handle: handle, Codes: codes, Params: params}
}

// Named returns what a parameter names by its id.
func Named[T any](c *Context, all map[string]*T, param string, missing func() *Error) (*T, *Error) {
	if found := all[c.Get(param)]; found != nil {
		return found, nil
	}
	return nil, missing()
}

// On makes what is done to something that the parameters of a call name out of how that is found.
func On[T, R any](find func(*Context) (T, *Error), do func(*Context, T) (R, *Error)) func(*Context) (R, *Error) {
	return func(c *Context) (result R, err *Error) {
		found, err := find(c)
		if err != nil {
			return result, err
		}
		return do(c, found)
	}
}

// On2 is On for two things.
func On2[A, B, R any](find func(*Context) (A, B, *Error), do func(*Context, A, B) (R, *Error)) func(*Context) (R, *Error) {
	return func(c *Context) (result R, err *Error) {
		a, b, err := find(c)
		if err != nil {
			return result, err
		}
		return do(c, a, b)
	}
}

// Unless is a finder for On2 that a policy can refuse.
func Unless[A, B any](refused func(*Context, A, B) *Error, find func(*Context) (A, B, *Error)) func(*Context) (A, B, *Error) {
	return func(c *Context) (A, B, *Error) {
		a, b, err := find(c)
		if err == nil {
			err = refused(c, a, b)
		}
		return a, b, err
	}
}

// Words are those of a text, such as error codes.
func Words(text string) []string { return strings.Fields(text) }
