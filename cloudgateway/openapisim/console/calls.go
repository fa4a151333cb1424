package console

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/journal"
)

const (
	callsShown   = 60
	maxParam     = 80  // characters of a parameter that are shown
	maxParams    = 400 // characters of all parameters of a call that are shown
	hiddenSecret = "(hidden)"
)

// callsView is the latest calls that pass the filter.
type callsView struct {
	Items          []call
	Matching, Kept int
}

// call is a call of the OpenAPI.
type call struct {
	Seq                     int64
	Time                    string
	Product, Action, Caller string
	Params                  string
	Write                   bool
	Answer                  mark
	Note                    string // what the answer doesn't show
	Latency                 string
}

// digest is what one walk through the journal gives.
type digest struct {
	calls  callsView
	counts counts
}

// walk goes through the journal once, from the latest call on, for all that is shown of it.
func walk(calls iter.Seq[*journal.Call], q query, now time.Time) digest {
	d := digest{counts: newCounts(now)}
	passes := filter(q)
	for c := range calls {
		d.calls.Kept++
		d.counts.add(c)
		if !passes(c) {
			continue
		}
		d.calls.Matching++
		if len(d.calls.Items) < callsShown {
			d.calls.Items = append(d.calls.Items, viewCall(c))
		}
	}
	return d
}

// filter returns what reports whether a call is wanted. Actions and callers are few and calls are many, so each is compared
// only once.
func filter(q query) func(*journal.Call) bool {
	product, action, caller := remembered(q.Product), remembered(q.Action), remembered(q.Caller)
	return func(c *journal.Call) bool {
		return (!q.Errors || failed(c)) && (!q.Writes || c.Mutating) && product(c.Product) && action(c.Action) && caller(c.Caller)
	}
}

// maxRemembered bounds how many answers are remembered: clients choose the names of their actions.
const maxRemembered = 10_000

func remembered(part string) func(string) bool {
	if part == "" {
		return func(string) bool { return true }
	}
	known := map[string]bool{}
	return func(text string) bool {
		result, ok := known[text]
		if !ok {
			result = contains(text, part)
			if len(known) < maxRemembered {
				known[text] = result
			}
		}
		return result
	}
}

func failed(c *journal.Call) bool { return c.Code != "" || c.Status >= 400 || c.Status == 0 }

func throttled(c *journal.Call) bool { return strings.HasPrefix(c.Code, "Throttling") }

func viewCall(c *journal.Call) call {
	out := call{
		Seq: c.Seq, Time: c.Time.UTC().Format("15:04:05.000"), Product: c.Product, Action: c.Action, Caller: shortened(c.Caller, maxParam),
		Params: viewParams(c.Params), Write: c.Mutating, Latency: fmt.Sprintf("%.1f ms", c.Latency), Answer: mark{"OK", "good"},
	}
	switch {
	case throttled(c):
		out.Answer = mark{c.Code, "busy"}
	case failed(c):
		out.Answer = mark{strings.TrimSpace(fmt.Sprintf("%s %s", statusText(c.Status), c.Code)), "bad"}
	}
	if c.Fault != "" {
		out.Note = "by fault rule " + c.Fault
	}
	if c.Effect && failed(c) {
		out.Note = strings.TrimSpace("carried out all the same " + out.Note)
	}
	return out
}

func statusText(status int) string {
	if status == 0 {
		return ""
	}
	return fmt.Sprint(status)
}

// viewParams shows what a call is about, without what every signed request has, and without secrets.
func viewParams(params map[string]string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(params)) {
		switch name {
		case "Action", "Version", "Format", "RegionId", "Timestamp", "AccessKeyId", "SignatureMethod", "SignatureVersion",
			"SignatureNonce", "SignatureType":
			continue
		}
		value := shortened(params[name], maxParam)
		if secret(name) {
			value = hiddenSecret
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(name + "=" + value)
		if b.Len() > maxParams {
			b.WriteString(" …")
			break
		}
	}
	return b.String()
}

// secret reports whether a parameter must not be shown.
func secret(name string) bool {
	for _, part := range []string{"privatekey", "secret", "password", "securitytoken", "oidctoken"} {
		if contains(name, part) {
			return true
		}
	}
	return false
}

// shortened cuts a text after a number of characters.
func shortened(text string, characters int) string {
	if len(text) <= characters {
		return text
	}
	for i := range text {
		if characters == 0 {
			return text[:i] + "…"
		}
		characters--
	}
	return text
}
