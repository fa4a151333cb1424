// Package catalogue says what an error answer of the cloud means: one table from the cloud's codes to the gRPC code, the stable
// reason and the retry hint that callers of the gateway see. Everything that branches on a cloud error branches on this table;
// docs/reference/errors.md is rendered from it.
package catalogue

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/logging"
)

// Class is the family of an error: what it means for the request and what may be done next.
type Class string

// The classes. Only Server leaves the outcome of a write open; every other class is a definite refusal.
const (
	Throttle       Class = "throttled"      // refused by a rate limit, nothing was done
	Conflict       Class = "busy"           // the resource works on another change, try again
	NotFound       Class = "not_found"      // the resource, or one it refers to, does not exist
	Exists         Class = "exists"         // the thing to be created is there already
	Quota          Class = "quota"          // an account quota, a per-resource limit, or capacity
	Dependency     Class = "dependency"     // in use, protected, or in the wrong state
	Permission     Class = "permission"     // RAM refuses the gateway
	Authentication Class = "authentication" // the gateway's credentials or signature are refused
	Invalid        Class = "invalid"        // the request itself is wrong
	Server         Class = "server"         // the cloud failed; a write may have been executed
	Money          Class = "billing"        // balance, order or charge type
)

// Meaning is what the catalogue knows about an answer.
type Meaning struct {
	Class  Class
	Reason rpcerr.Reason
	// RetryAfter is how long to wait before another attempt makes sense when the cloud does not say; zero: waiting does not help.
	RetryAfter time.Duration
	// Renew says that newer credentials may be accepted. The refusal came before anything was done.
	Renew bool
}

// Unclear reports whether a write that was answered like this may nevertheless have been executed.
func (m Meaning) Unclear() bool { return m.Class == Server }

// Answer is an error answer of the cloud, or of one item of a batch, as it came.
type Answer struct {
	Product   string // "slb", "vpc", "ecs"
	Action    string
	Status    int // HTTP status; zero for an item of a batch
	Code      string
	Message   string
	RequestID string
	// RetryAfter is the wait that the cloud named in a header; zero if it named none.
	RetryAfter time.Duration
	// Mutating makes answers of class Server an unknown outcome.
	Mutating bool
}

// Lookup finds the meaning of an answer. It is total: codes that the table does not have are judged by their form and status.
func Lookup(a Answer) Meaning { return lookup(rules(), a) }

func lookup(table []rule, a Answer) Meaning {
	best, found := rule{class: guess(a)}, false
	for _, r := range table {
		if r.matches(a) && (!found || r.moreExact(best, a.Code)) {
			best, found = r, true
		}
	}
	return best.meaning()
}

// Error turns an answer into the error that the gateway's callers get.
func Error(a Answer) *rpcerr.Error {
	a.Code, a.RequestID = Short(a.Code), Short(a.RequestID)
	m := Lookup(a)
	wait := cmp.Or(a.RetryAfter, m.RetryAfter)
	if a.Mutating && m.Unclear() {
		m.Reason, wait = rpcerr.OutcomeUnknown, 0
	}
	e := rpcerr.Errorf(m.Reason, "%s", message(a)).WithRetry(wait).WithAPI(a.Product + "/" + a.Action)
	e.CloudCode, e.CloudRequestID = a.Code, a.RequestID
	return e
}

// Short bounds what the cloud, or who answers in its place, calls a code or the id of a request: they are in errors and in lines of the
// log.
func Short(text string) string {
	const most = 128
	return strings.ToValidUTF8(text[:min(most, len(text))], "?")
}

// Quoting is after what the cloud quotes the request that it has refused.
const Quoting = "server string to sign is:"

// AboutCredentials reports whether a code is about the credentials or the signature of a request, also one that the
// table does not have.
func AboutCredentials(code string) bool {
	return slices.ContainsFunc([]string{"InvalidAccessKey", "MissingAccessKey", "InvalidSecurityToken", "MissingSecurityToken", "Signature",
		"IncompleteSignature", "MissingSignature", "InvalidTimeStamp", "IllegalTimestamp", "Forbidden.AccessKey"},
		func(prefix string) bool { return strings.HasPrefix(code, prefix) })
}

// KnowsAction reports whether an error answer shows that there is the action. What is refused before that says nothing.
func KnowsAction(a Answer) bool {
	before := a.Code == "" || AboutCredentials(a.Code) || a.Status >= http.StatusInternalServerError
	return !before && !slices.ContainsFunc([]string{"InvalidAction", "InvalidApi", "InvalidVersion", "MissingAction"},
		func(prefix string) bool { return strings.HasPrefix(a.Code, prefix) })
}

// message is the cloud's own text; rpcerr adds the action, the code and the request id.
func message(a Answer) string {
	text := Text(a.Message)
	switch {
	case a.Code != "" && text != "":
		return text
	case a.Code != "":
		return "the cloud answered " + a.Code
	case text != "":
		return fmt.Sprintf("the cloud answered HTTP status %d: %s", a.Status, text)
	default:
		return fmt.Sprintf("the cloud answered HTTP status %d", a.Status)
	}
}

// Text is what an error has of a text of the cloud. Proxies answer with pages of HTML, of which the beginning is enough, and may quote
// the URL. The refusal of a wrong signature quotes what should have been signed, and in it the security token.
func Text(said string) string {
	const limit = 300
	text := strings.ToValidUTF8(strings.Join(strings.Fields(said), " "), "?")
	text, _, _ = strings.Cut(text, Quoting)
	text = logging.Redact(strings.TrimSpace(text))
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "") + "…"
	}
	return text
}

// guess classifies a code that the table does not have.
func guess(a Answer) Class {
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(a.Code, p) })
	}
	switch {
	case a.Status >= http.StatusInternalServerError, a.Code == "":
		// Without a code it is not the cloud that answered, but something on the way.
		return Server
	case a.Status == http.StatusTooManyRequests, has("Throttling"):
		return Throttle
	case has("NotFound", "NotExist", "NOT_EXIST"), a.Status == http.StatusNotFound:
		return NotFound
	case has("Forbidden", "NoPermission", "Unauthorized"):
		return Permission
	case has("Quota", "OverLimit", "ExceedLimit", "LimitExceed"):
		return Quota
	case has("Duplicate", "AlreadyExist", "Conflict.Port"):
		return Exists
	case has("Processing", "Configuring", "Busy", "IncorrectStatus", "OperationConflict"), a.Status == http.StatusConflict:
		// "Conflict" alone does not say so: most conflicts are for good, e.g. NetworkConflict.
		return Conflict
	case strings.HasPrefix(a.Code, "Missing"), has("Malformed", "IllegalParam", "Unsupported"):
		return Invalid
	default:
		// Codes that begin with "Invalid" are about the state of things as often as about the request.
		return Dependency
	}
}

// Row is one code of the table, for the reference page and for tests.
type Row struct {
	Product string // empty: all
	Code    string // a trailing * stands for any ending
	Message string // text that the cloud's message must contain
	Note    string
	Meaning Meaning
}

// Rows returns the table code by code, in the order of classes, then of products and codes.
func Rows() []Row {
	var rows []Row
	for _, r := range rules() {
		for product := range strings.SplitSeq(r.products, " ") {
			for code := range strings.FieldsSeq(r.codes) {
				rows = append(rows, Row{Product: product, Code: code, Message: r.message, Note: r.note, Meaning: r.meaning()})
			}
		}
	}
	rank := func(r Row) int {
		return slices.IndexFunc(families(), func(f family) bool { return f.class == r.Meaning.Class })
	}
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Product, b.Product), cmp.Compare(a.Code, b.Code),
			cmp.Compare(a.Message, b.Message))
	})
	return rows
}

// Markdown renders docs/reference/errors.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString("# Errors of the cloud\n\n" +
		"<!-- Generated from cloudgateway/internal/openapi/catalogue; do not edit. -->\n\n" +
		"What the gateway makes of the error codes of Alibaba Cloud: the gRPC code, the reason in ErrorInfo (domain " +
		"`cloudgateway.alibabacloud.com`), and the wait\n" +
		"in RetryInfo when the cloud itself names none. A trailing `*` stands for any ending.\n")
	class := Class("")
	for _, row := range Rows() {
		m := row.Meaning
		if m.Class != class {
			class = m.Class
			fmt.Fprintf(&b,
				"\n## %s\n\n%s\n\n| code | product | gRPC code | reason | retry after | remarks |\n|---|---|---|---|---|---|\n",
				class, class.family().about)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | `%s` | %s | %s |\n", row.Code, cmp.Or(row.Product, "all"), m.Reason.Code(),
			m.Reason, row.retry(), row.remarks())
	}
	return b.String()
}

func (r Row) retry() string {
	if r.Meaning.RetryAfter == 0 {
		return "–"
	}
	return r.Meaning.RetryAfter.String()
}

func (r Row) remarks() string {
	var remarks []string
	if r.Message != "" {
		remarks = append(remarks, fmt.Sprintf("message contains “%s”", r.Message))
	}
	if r.Note != "" {
		remarks = append(remarks, r.Note)
	}
	if r.Meaning.Renew {
		remarks = append(remarks, "repeated once with newer credentials")
	}
	return strings.Join(remarks, "; ")
}
