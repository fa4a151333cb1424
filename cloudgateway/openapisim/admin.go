package openapisim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/openapisim/journal"
	"alicloud-controllers.dev/cloudgateway/openapisim/limit"
)

// maxDocument bounds what the admin API reads; a state with thousands of load balancers fits.
const maxDocument = 256 << 20

// CallsDocument is the answer of GET /admin/calls?since=SEQ: the calls with a number above SEQ, and the SEQ to ask with
// next time. DELETE empties the journal; numbers go on.
type CallsDocument struct {
	Calls []journal.Call `json:"calls"`
	Next  int64          `json:"next"`
}

// FaultsDocument is read and written at /admin/faults. PUT replaces all rules, POST adds some, DELETE removes all.
type FaultsDocument struct {
	Faults []fault.Rule `json:"faults"`
}

// LimitsDocument is read and written at /admin/limits. PUT changes what it names and leaves the rest:
//
//	{"enabled": true, "actions": {"slb/CreateVServerGroup": {"calls": 90, "window": "60s"}},
//	 "settings": {"serversPerCall": 40, "routePending": "0s", "quotas": {"loadBalancers": 200}}}
//
// An action with no calls has no limit. What was used of a changed limit is forgotten.
type LimitsDocument struct {
	Enabled          *bool         `json:"enabled,omitempty"`
	RetryAfterHeader *bool         `json:"retryAfterHeader,omitempty"` // answer throttled calls with x-acs-retry-after; default false
	RateLimitHeader  *bool         `json:"rateLimitHeader,omitempty"`  // say in each answer what is left of its action's limit; default false
	Actions          limit.Table   `json:"actions,omitempty"`
	Settings         *api.Settings `json:"settings,omitempty"` // windows, limits of one call, quotas
}

// ClockDocument is the answer of /admin/clock.
type ClockDocument struct {
	Now    time.Time `json:"now"`
	Frozen bool      `json:"frozen"`
}

// ClockChange is what PUT /admin/clock reads: exactly one of its members.
type ClockChange struct {
	Set     *time.Time    `json:"set,omitempty"`     // stops the clock at a time
	Advance *api.Duration `json:"advance,omitempty"` // moves the clock, whether it runs or stands
	Real    bool          `json:"real,omitempty"`    // lets it run with the real time again
}

// adminHandler serves the admin API, and for people the console. State and seed are a [state.Cloud] each; see
// [Simulator.Restore] and [Simulator.Seed].
func (s *Simulator) adminHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /admin/healthz", func(w http.ResponseWriter, _ *http.Request) {
		writeDocument(w, map[string]string{"status": "ok"})
	})
	mux.HandleFunc("GET /admin/calls", s.getCalls)
	mux.HandleFunc("DELETE /admin/calls", func(w http.ResponseWriter, _ *http.Request) {
		s.ClearCalls()
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /admin/state", s.getState)
	mux.HandleFunc("PUT /admin/state", s.putState)
	mux.HandleFunc("PUT /admin/seed", s.putSeed)
	mux.HandleFunc("GET /admin/faults", func(w http.ResponseWriter, _ *http.Request) {
		writeDocument(w, FaultsDocument{Faults: s.Faults()})
	})
	mux.HandleFunc("PUT /admin/faults", s.changeFaults(s.faults.Replace))
	mux.HandleFunc("POST /admin/faults", s.changeFaults(s.faults.Add))
	mux.HandleFunc("DELETE /admin/faults", func(w http.ResponseWriter, _ *http.Request) {
		_ = s.SetFaults() // nothing to be wrong about
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /admin/limits", func(w http.ResponseWriter, _ *http.Request) { s.writeLimits(w) })
	mux.HandleFunc("PUT /admin/limits", s.putLimits)
	mux.HandleFunc("GET /admin/clock", func(w http.ResponseWriter, _ *http.Request) { s.writeClock(w) })
	mux.HandleFunc("PUT /admin/clock", s.putClock)
	mux.HandleFunc("GET /admin/ca", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-pem-file")
		_, _ = w.Write(s.CA()) // an error is that the client is gone
	})
	mux.HandleFunc("GET /admin/dataplane", s.getTraffic)
	mux.HandleFunc("POST /admin/reset", func(w http.ResponseWriter, _ *http.Request) {
		if err := s.Reset(); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("/at/", s.serveAt)
	mux.Handle("/console", s.console)
	mux.Handle("/console/", s.console)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "console") // whatever is before it
		w.WriteHeader(http.StatusFound)
	})
	return mux
}

func (s *Simulator) getCalls(w http.ResponseWriter, r *http.Request) {
	since, err := strconv.ParseInt(r.URL.Query().Get("since"), 10, 64)
	if err != nil && r.URL.Query().Has("since") {
		refuseDocument(w, fmt.Errorf("since: %q is no number", r.URL.Query().Get("since")))
		return
	}
	calls, next := s.journal.Since(since)
	writeDocument(w, CallsDocument{Calls: calls, Next: next})
}

func (s *Simulator) getState(w http.ResponseWriter, _ *http.Request) {
	snapshot, err := s.Snapshot()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(snapshot) // an error is that the client is gone
}

func (s *Simulator) putState(w http.ResponseWriter, r *http.Request) {
	snapshot, err := readBody(w, r)
	if err == nil {
		err = s.Restore(snapshot)
	}
	if err != nil {
		refuseDocument(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *Simulator) putSeed(w http.ResponseWriter, r *http.Request) {
	document, err := readBody(w, r)
	if err == nil {
		err = s.seedFrom(document)
	}
	if err != nil {
		refuseDocument(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *Simulator) seedFrom(document []byte) error {
	resources, err := ReadSeed(document)
	if err != nil {
		return err
	}
	return s.Seed(resources)
}

func (s *Simulator) changeFaults(change func([]fault.Rule, time.Time) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var document FaultsDocument
		err := readDocument(w, r, &document)
		if err == nil {
			err = change(document.Faults, s.clock.Now())
		}
		if err != nil {
			refuseDocument(w, err)
			return
		}
		writeDocument(w, FaultsDocument{Faults: s.Faults()})
	}
}

func (s *Simulator) putLimits(w http.ResponseWriter, r *http.Request) {
	body, err := readBody(w, r)
	if err == nil {
		err = s.changeLimits(body)
	}
	if err != nil {
		refuseDocument(w, err)
		return
	}
	s.writeLimits(w)
}

// changeLimits changes what a document names.
func (s *Simulator) changeLimits(body []byte) error {
	s.partial.Lock()
	defer s.partial.Unlock()
	settings := s.Settings()
	document := LimitsDocument{Settings: &settings}
	if err := strictJSON(body, &document); err != nil {
		return err
	}
	return s.applyLimits(document)
}

// applyLimits puts in force what a document has.
func (s *Simulator) applyLimits(document LimitsDocument) error {
	if err := s.SetLimits(document.Actions); err != nil {
		return err
	}
	if document.Settings != nil {
		s.SetSettings(*document.Settings)
	}
	if document.Enabled != nil {
		s.EnableLimits(*document.Enabled)
	}
	if document.RetryAfterHeader != nil {
		s.retryAfter.Store(*document.RetryAfterHeader)
	}
	if document.RateLimitHeader != nil {
		s.rateLimit.Store(*document.RateLimitHeader)
	}
	return nil
}

func (s *Simulator) writeLimits(w http.ResponseWriter) {
	settings, retryAfter, rateLimit := s.Settings(), s.retryAfter.Load(), s.rateLimit.Load()
	enabled, table := s.limiter.Get()
	writeDocument(w, LimitsDocument{
		Enabled: &enabled, RetryAfterHeader: &retryAfter, RateLimitHeader: &rateLimit, Actions: table, Settings: &settings,
	})
}

func (s *Simulator) putClock(w http.ResponseWriter, r *http.Request) {
	var change ClockChange
	if err := readDocument(w, r, &change); err != nil {
		refuseDocument(w, err)
		return
	}
	switch {
	case change.Set != nil && change.Advance == nil && !change.Real:
		s.SetTime(*change.Set)
	case change.Set == nil && change.Advance != nil && !change.Real:
		s.Advance(time.Duration(*change.Advance))
	case change.Set == nil && change.Advance == nil && change.Real:
		s.RealTime()
	default:
		refuseDocument(w, errors.New("exactly one of set, advance and real is required"))
		return
	}
	s.writeClock(w)
}

func (s *Simulator) writeClock(w http.ResponseWriter) {
	writeDocument(w, ClockDocument{Now: s.clock.Now(), Frozen: s.clock.Frozen()})
}

func readDocument(w http.ResponseWriter, r *http.Request, into any) error {
	body, err := readBody(w, r)
	if err != nil {
		return err
	}
	return strictJSON(body, into)
}

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxDocument))
	if err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	return body, nil
}

// strictJSON refuses what it doesn't know: a misspelt name must not go unnoticed.
func strictJSON(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("decode the document: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("decode the document: there is more behind its end")
	}
	return nil
}

func refuseDocument(w http.ResponseWriter, err error) {
	http.Error(w, err.Error(), http.StatusBadRequest)
}

func writeDocument(w http.ResponseWriter, document any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(document) // plain values; the client may be gone
}
