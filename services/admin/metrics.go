package admin

import (
	"bytes"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// mostGathered is how many pages of metrics are made at a time. Others wait.
const mostGathered = 2

// metrics is the page of metrics. It is made in memory: while promhttp writes to a client that does not read, it holds what it has
// gathered, which is many times as much, and every client that reaches the address may ask for it.
func metrics(registry *prometheus.Registry) http.Handler {
	pages := promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	places := make(chan struct{}, mostGathered)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case places <- struct{}{}:
		case <-r.Context().Done():
			return
		}
		made := &written{ResponseWriter: w, code: http.StatusOK}
		func() {
			defer func() { <-places }()
			pages.ServeHTTP(made, r)
		}()
		w.WriteHeader(made.code)
		_, _ = w.Write(made.body.Bytes()) // It fails only if the client has disconnected.
	})
}

// written keeps an answer in memory.
type written struct {
	http.ResponseWriter // for its header

	code int
	body bytes.Buffer
}

// WriteHeader implements http.ResponseWriter.
func (w *written) WriteHeader(code int) { w.code = code }

// Write implements http.ResponseWriter.
func (w *written) Write(p []byte) (int, error) { return w.body.Write(p) }
