package catalogue

import (
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"alicloud-controllers.dev/proto/rpcerr"
)

func TestGuesses(t *testing.T) {
	tests := []struct {
		name   string
		answer Answer
		class  Class
	}{
		{"no code", Answer{Product: slb, Status: 404}, Server},
		{"status 5xx", Answer{Product: slb, Status: 500, Code: "Whatever"}, Server},
		{"item without a code", Answer{Product: vpc}, Server},
		{"429", Answer{Product: slb, Status: 429, Code: "Whatever"}, Throttle},
		{"throttling of a new kind", Answer{Product: slb, Status: 400, Code: "Throttling.New"}, Throttle},
		{"something not found", Answer{Product: slb, Status: 400, Code: "InvalidThing.NotFound"}, NotFound},
		{"404", Answer{Product: slb, Status: 404, Code: "Whatever"}, NotFound},
		{"forbidden", Answer{Product: slb, Status: 403, Code: "Forbidden.New"}, Permission},
		{"a quota", Answer{Product: slb, Status: 400, Code: "ThingOverLimit"}, Quota},
		{"a duplicate", Answer{Product: slb, Status: 400, Code: "Thing.Duplicated"}, Exists},
		{"busy", Answer{Product: slb, Status: 400, Code: "ThingProcessing"}, Conflict},
		{"409", Answer{Product: slb, Status: 409, Code: "Whatever"}, Conflict},
		{"a conflict for good", Answer{Product: slb, Status: 400, Code: "ThingConflict"}, Dependency},
		{"invalid, for whatever reason", Answer{Product: slb, Status: 400, Code: "InvalidThing"}, Dependency},
		{"malformed", Answer{Product: slb, Status: 400, Code: "InvalidThing.Malformed"}, Invalid},
		{"missing", Answer{Product: slb, Status: 400, Code: "MissingThing"}, Invalid},
		{"nothing known", Answer{Product: slb, Status: 400, Code: "Whatever"}, Dependency},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Lookup(tt.answer).Class; got != tt.class {
				t.Errorf("class %s, want %s", got, tt.class)
			}
		})
	}
}

func TestMessagesDecide(t *testing.T) {
	tests := []struct {
		message string
		reason  rpcerr.Reason
	}{
		{"The specified VServerGroupId does not exist.", rpcerr.ServerGroupNotFound},
		{"The specified resource does not exist.", rpcerr.ListenerNotFound},
		{"The parameter contains a duplicated value of ServerID.", rpcerr.AlreadyExists},
		{"The specified parameter is not valid.", rpcerr.InvalidField},
	}
	for _, tt := range tests {
		if got := Lookup(Answer{Product: slb, Status: 400, Code: "InvalidParameter", Message: tt.message}).Reason; got != tt.reason {
			t.Errorf("InvalidParameter %q: reason %s, want %s", tt.message, got, tt.reason)
		}
	}
	if got := Lookup(Answer{Product: vpc, Status: 400, Code: "InvalidParameter",
		Message: tests[0].message}).Reason; got != rpcerr.InvalidField {
		t.Errorf("of another product: reason %s", got)
	}
}

func TestError(t *testing.T) {
	refusal := Answer{Product: slb, Action: "CreateVServerGroup", Status: 500, Code: "InternalError", Message: "Sorry.",
		RequestID: "R", RetryAfter: time.Minute}
	if e := Error(refusal); e.Code != codes.Unavailable || e.Reason != rpcerr.CloudUnavailable || e.RetryAfter != time.Minute {
		t.Errorf("read: %+v", e)
	}
	refusal.Mutating = true
	if e := Error(refusal); e.Code != codes.Unknown || e.Reason != rpcerr.OutcomeUnknown || e.RetryAfter != 0 {
		t.Errorf("write: %+v", e)
	}
	page := Answer{Product: slb, Status: 502, Message: strings.Repeat("<p>bad\ngateway</p>\xff", 100)}
	if e := Error(page); !strings.HasPrefix(e.Message, "the cloud answered HTTP status 502: <p>bad gateway") || len(e.Message) > 400 {
		t.Errorf("page: %q", e.Message)
	}
	quoting := Answer{Product: slb, Status: 403, Message: "Access to /?Action=A&SecurityToken=sts&Signature=sig%3D was denied."}
	want := "the cloud answered HTTP status 403: Access to /?Action=A&SecurityToken=REDACTED&Signature=REDACTED was denied."
	if e := Error(quoting); e.Message != want {
		t.Errorf("a proxy that quotes the URL: %q", e.Message)
	}
	if e := Error(Answer{Product: slb, Status: 502}); e.Message != "the cloud answered HTTP status 502" {
		t.Errorf("nothing: %q", e.Message)
	}
	if e := Error(Answer{Product: slb, Status: 400, Code: "X"}); e.Message != "the cloud answered X" {
		t.Errorf("code only: %q", e.Message)
	}
}

// TestRetryHints: how long a caller waits where the cloud doesn't say it.
func TestRetryHints(t *testing.T) {
	for code, want := range map[string]time.Duration{
		"Throttling":                           10 * time.Second,
		"InternalError":                        2 * time.Second,
		"SystemBusy":                           time.Second,
		"LX_REQUEST_TOKEN_CONFLICT":            2 * time.Second,
		"LbStatusNotSupport":                   30 * time.Second,
		"OperationFailed.ServerGroupInUse":     time.Second,
		"InvalidLoadBalancerId.NotFound":       0,
		"OperationDenied.DeleteProtectionIsOn": 0,
	} {
		if e := Error(Answer{Product: slb, Status: 400, Code: code}); e.RetryAfter != want {
			t.Errorf("%s: wait %s, want %s", code, e.RetryAfter, want)
		}
	}
}

// TestLongMessages: the cloud's own text comes whole to the caller, but for a page.
func TestLongMessages(t *testing.T) {
	const longest = 300
	whole := strings.Repeat("x", longest)
	for text, want := range map[string]string{whole: whole, whole + "y": whole + "…"} {
		if e := Error(Answer{Product: slb, Status: 400, Code: "X", Message: text}); e.Message != want {
			t.Errorf("%d bytes become %q", len(text), e.Message)
		}
	}
}

// TestLongNames: neither a code nor the id of a request fills errors and the log, whoever has answered. What is cut can
// be sent.
func TestLongNames(t *testing.T) {
	long := strings.Repeat("x", 127) + "ü" + strings.Repeat("x", 1<<20)
	e := Error(Answer{Product: slb, Status: 400, Code: long, RequestID: long})
	if len(e.CloudCode) != 128 || len(e.CloudRequestID) != 128 || len(e.Message) > 200 {
		t.Errorf("the code has %d bytes, the id %d, and the message %d", len(e.CloudCode), len(e.CloudRequestID), len(e.Message))
	}
	if again, ok := rpcerr.From(e.GRPCStatus().Err()); !ok || again.CloudCode != e.CloudCode {
		t.Errorf("on the way it becomes %v", again)
	}
}

// TestServersOfAnotherNetwork: to wait does not bring a server into the load balancer's VPC.
func TestServersOfAnotherNetwork(t *testing.T) {
	e := Error(Answer{Product: slb, Action: "AddVServerGroupBackendServers", Status: 400, Code: "NetworkConflict", Mutating: true})
	if e.Code != codes.FailedPrecondition || e.Reason != rpcerr.NetworkConflict || e.RetryAfter != 0 {
		t.Errorf("got %+v, want NETWORK_CONFLICT, which is for good", e)
	}
}

// TestOrderOfRows: where a row stands says nothing. Two rows that match an answer equally well would make it do so.
func TestOrderOfRows(t *testing.T) {
	reversed := rules()
	slices.Reverse(reversed)
	var answers []Answer
	for _, k := range knownCodes() {
		answers = append(answers, k.answer())
	}
	for _, row := range Rows() {
		for _, product := range []string{slb, vpc, ecs, nlb} {
			answers = append(answers, Answer{Product: product, Status: 400, Code: strings.TrimSuffix(row.Code, "*"), Message: row.Message})
		}
	}
	for _, a := range answers {
		if got, want := lookup(reversed, a), Lookup(a); got != want {
			t.Errorf("%s %s %q: %+v by the last row that matches, %+v by the first", a.Product, a.Code, a.Message, got, want)
		}
	}
}

// TestRowsAreReachable finds rows that another row hides, and codes that stand in two rows of the same product.
func TestRowsAreReachable(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range Rows() {
		key := strings.Join([]string{row.Product, row.Code, row.Message}, " ")
		if seen[key] {
			t.Errorf("%s is in the table twice", key)
		}
		seen[key] = true
		product := row.Product
		if product == "" {
			product = slb
		}
		code := strings.TrimSuffix(row.Code, "*")
		if got := Lookup(Answer{Product: product, Status: 400, Code: code, Message: row.Message}); got != row.Meaning {
			t.Errorf("%s: Lookup gives %+v, the row says %+v", key, got, row.Meaning)
		}
	}
}
