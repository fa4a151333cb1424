package console

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// maxTerm bounds what a reader can search for.
const maxTerm = 200

// query is what a reader asked to see. It is the query string of the page, so that a view can be kept and passed on.
type query struct {
	Root     string  // of the place, from where the page is
	Balancer string  // the only load balancer that is shown
	Service  service // whose load balancers are shown alone

	Search string // in load balancers, route tables and instances; lower case

	Product, Action, Caller string // of calls; lower case
	Errors, Writes          bool   // only such calls
	Live                    bool   // the page is loaded again and again

	Pages map[string]int // by list, counting from 1; those that are not named show their first page
}

// The lists that are shown page by page, also the names of the parameters that say which one.
const (
	listBalancers = "balancers"
	listRoutes    = "routes"
	listInstances = "instances"
)

// parseQuery reads a query string. What it doesn't understand it leaves out: a page with fewer filters says more than an error.
func parseQuery(values url.Values) query {
	q := query{
		Search: term(values, "search"), Product: term(values, "product"), Action: term(values, "action"), Caller: term(values, "caller"),
		Errors: values.Has("errors"), Writes: values.Has("writes"), Live: values.Has("live"), Pages: map[string]int{},
	}
	for _, list := range []string{listBalancers, listRoutes, listInstances} {
		if n, err := strconv.Atoi(values.Get(list)); err == nil && n > 1 {
			q.Pages[list] = n
		}
	}
	return q
}

func term(values url.Values, name string) string {
	value := strings.ToValidUTF8(values.Get(name), "")
	if len(value) > maxTerm {
		value = strings.ToValidUTF8(value[:maxTerm], "")
	}
	return strings.ToLower(strings.TrimSpace(value))
}

// String is the query string, without its question mark.
func (q query) String() string {
	values := url.Values{}
	for name, value := range map[string]string{"search": q.Search, "product": q.Product, "action": q.Action, "caller": q.Caller} {
		if value != "" {
			values.Set(name, value)
		}
	}
	for name, on := range map[string]bool{"errors": q.Errors, "writes": q.Writes, "live": q.Live} {
		if on {
			values.Set(name, "1")
		}
	}
	for list, n := range q.Pages {
		if n > 1 {
			values.Set(list, strconv.Itoa(n))
		}
	}
	return values.Encode()
}

// at returns the query for another page of a list.
func (q query) at(list string, page int) query {
	pages := map[string]int{}
	maps.Copy(pages, q.Pages)
	pages[list] = page
	q.Pages = pages
	return q
}

// Find returns a link that searches for something else, from the first page on.
func (q query) Find(text string) string {
	q.Search, q.Pages = strings.ToLower(text), nil
	return q.Root + "/console?" + q.String()
}

// Alone returns the title of a page that is about one thing, or "".
func (q query) Alone() string {
	if q.Service.Name != "" {
		return "Service " + q.Service.Namespace + "/" + q.Service.Name
	}
	return q.Balancer
}

func (q query) findsTag(tags []state.Tag) bool {
	return slices.ContainsFunc(tags, func(t state.Tag) bool { return q.finds(t.Key, t.Value) })
}

// finds reports whether any of the texts contains what is searched for; it doesn't matter in which case.
func (q query) finds(texts ...string) bool {
	if q.Search == "" {
		return true
	}
	for _, text := range texts {
		if contains(text, q.Search) {
			return true
		}
	}
	return false
}

// contains reports whether a text contains a lower-case part, whatever its own case is.
func contains(text, part string) bool { return strings.Contains(strings.ToLower(text), part) }

// pager is the place of a page in a list.
type pager struct {
	List               string
	First, Last, Total int    // numbers of the first and last item shown, counting from 1
	Previous, Next     string // query strings of the pages before and after, with "?"; "" if there is none
}

// paginate returns one page of a list. A page behind the end is the last one: lists shrink while people look at them.
func paginate[T any](q query, list string, items []T, size int) ([]T, pager) {
	last := max(1, (len(items)+size-1)/size)
	page := min(max(q.Pages[list], 1), last)
	from := (page - 1) * size
	to := min(from+size, len(items))
	p := pager{List: list, First: min(from+1, to), Last: to, Total: len(items)}
	if page > 1 {
		p.Previous = "?" + q.at(list, page-1).String()
	}
	if page < last {
		p.Next = "?" + q.at(list, page+1).String()
	}
	return items[from:to], p
}
