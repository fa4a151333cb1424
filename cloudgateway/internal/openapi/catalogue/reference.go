package catalogue

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

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
		products := strings.Fields(r.products)
		if len(products) == 0 {
			products = []string{""}
		}
		for _, product := range products {
			for code := range strings.FieldsSeq(r.codes) {
				rows = append(rows, Row{Product: product, Code: code, Message: r.message, Note: r.note, Meaning: r.meaning()})
			}
		}
	}
	slices.SortStableFunc(rows, func(a, b Row) int {
		return cmp.Or(
			cmp.Compare(slices.Index(classes(), a.Meaning.Class), slices.Index(classes(), b.Meaning.Class)),
			cmp.Compare(a.Product, b.Product), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Message, b.Message))
	})
	return rows
}

func classes() []Class {
	return []Class{Throttle, Conflict, NotFound, Exists, Quota, Dependency, Invalid, Permission, Authentication, Money, Server}
}

// about explains a class to the reader of the reference page.
func (c Class) about() string {
	switch c {
	case Throttle:
		return "A rate limit of the cloud. Nothing was done. The gateway stops the action, learns from how many calls were granted, and tells when to come back."
	case Conflict:
		return "The resource works on another change. Nothing was done. The gateway repeats inside the deadline."
	case NotFound:
		return "The resource, or one that it refers to, does not exist. For a deletion this is success."
	case Exists:
		return "What was to be created is there already."
	case Quota:
		return "A quota of the account, a limit of the resource, or no capacity. Raise the quota or use less."
	case Dependency:
		return "In use, protected, or in a state that does not allow the call. Codes that the table does not have, and that look like nothing else, count here."
	case Invalid:
		return "The request is wrong. Repeating it as it is does not help."
	case Permission:
		return "RAM does not let the gateway make the call. Extend the RAM policy of the gateway's identity."
	case Authentication:
		return "The gateway's credentials, signature or clock are not accepted. Where newer credentials may help, the gateway gets them and repeats the call once."
	case Money:
		return "The account's balance, an unpaid order, or the charge type."
	case Server:
		return "The cloud failed. Reads, and writes with a ClientToken, are repeated inside the deadline. Other writes end as OUTCOME_UNKNOWN: " +
			"they may have been executed. Answers without a code, such as a proxy's error page, count here."
	}
	return ""
}

// Markdown renders docs/reference/errors.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString("# Errors of the cloud\n\n" +
		"<!-- Generated from cloudgateway/internal/openapi/catalogue; do not edit. -->\n\n" +
		"What the gateway makes of the error codes of Alibaba Cloud: the gRPC code, the reason in ErrorInfo (domain `cloudgateway`), and how long\n" +
		"RetryInfo tells to wait when the cloud itself told nothing. A trailing `*` stands for any ending.\n")
	class := Class("")
	for _, row := range Rows() {
		m := row.Meaning
		if m.Class != class {
			class = m.Class
			fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| code | product | gRPC code | reason | retry after | remarks |\n|---|---|---|---|---|---|\n", class, class.about())
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | `%s` | %s | %s |\n", row.Code, cmp.Or(row.Product, "all"), m.Code, m.Reason, row.retry(), row.remarks())
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
