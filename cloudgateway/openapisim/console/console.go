// Package console shows people what a simulated cloud holds and which calls it gets, on one page without a script, and on a page of
// its own each load balancer and what serves a Service.
//
// It is a window, not a tool: nothing can be changed here. Every look goes one way:
//
//	query string → query → view (balancers.go with clb.go and nlb.go, network.go, calls.go, rates.go; pure) → templates → HTML
//
// Nothing comes from anywhere but this server.
package console

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"iter"
	"net/http"
	"strings"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/journal"
	"alicloud-controllers.dev/cloudgateway/openapisim/limit"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// Source is the cloud that is shown.
type Source interface {
	// View calls f with the state, which f neither changes nor keeps.
	View(f func(*state.Cloud, Health))
	// Backward yields the calls, the latest first. They are not changed.
	Backward() iter.Seq[*journal.Call]
	// Limits returns whether rate limits are in force, and which, by "product/action".
	Limits() (enabled bool, table limit.Table)
	// Clock returns the time of the cloud and whether it stands still.
	Clock() (now time.Time, frozen bool)
	// Faults returns the number of fault rules in force.
	Faults() int
	// Places returns the accounts and regions of the process, as ACCOUNT/REGION.
	Places() []string
}

// Config describes a console. Only the source is required.
type Config struct {
	Source   Source
	Products []string // names of all products, to choose from
}

// Console serves the page.
type Console struct {
	source   Source
	products []string
	pages    *template.Template
	mux      *http.ServeMux
}

// New returns a console for the paths from /console on.
func New(cfg Config) (*Console, error) {
	if cfg.Source == nil {
		return nil, errors.New("console: Source is required")
	}
	pages, err := parseTemplates()
	if err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	c := &Console{source: cfg.Source, products: cfg.Products, pages: pages, mux: http.NewServeMux()}
	for path, template := range map[string]string{"": "page", "/balancer/{balancer}": "alone", "/service/{namespace}/{name}": "alone"} {
		c.mux.HandleFunc("GET /console"+path, func(w http.ResponseWriter, r *http.Request) { c.servePage(w, r, template) })
	}
	c.mux.Handle("GET /console/assets/", http.StripPrefix("/console/", http.FileServerFS(assets)))
	c.mux.HandleFunc("GET /console/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "../console") // whatever is before it
		w.WriteHeader(http.StatusMovedPermanently)
	})
	return c, nil
}

// contentPolicy lets the browser load nothing but the assets of the console, and lets no site put the page in a frame.
const contentPolicy = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// ServeHTTP serves the page and its assets.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	c.mux.ServeHTTP(w, r)
}

func (c *Console) servePage(w http.ResponseWriter, r *http.Request, template string) {
	q := parseQuery(r.URL.Query())
	q.Balancer, q.Service = r.PathValue("balancer"), service{r.PathValue("namespace"), r.PathValue("name")}
	q.Root = strings.TrimSuffix(strings.Repeat("../", strings.Count(r.URL.EscapedPath(), "/")-1), "/")
	if q.Root == "" {
		q.Root = "."
	}
	var page bytes.Buffer // complete before the first byte is sent, so that an error can still be reported
	if err := c.pages.ExecuteTemplate(&page, template, c.look(q)); err != nil {
		http.Error(w, fmt.Sprintf("render the console: %v", err), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = page.WriteTo(w) // an error is that the reader is gone
}
