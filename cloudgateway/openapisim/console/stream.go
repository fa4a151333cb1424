package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

const (
	// idleTime is how long a stream is silent at most, so that a reader who is gone is noticed.
	idleTime = 15 * time.Second
	// writeTime is how long a reader may take for an event.
	writeTime = 10 * time.Second
)

// serveStream sends the parts of the page, and then each again whenever it changes, until the reader goes.
func (c *Console) serveStream(w http.ResponseWriter, r *http.Request) {
	select {
	case c.readers <- struct{}{}:
		defer func() { <-c.readers }()
	default:
		http.Error(w, fmt.Sprintf("%d pages are live already; close one", maxReaders), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	s := stream{to: w, control: http.NewResponseController(w), sent: map[string]string{}}
	q := parseQuery(r.URL.Query())
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-c.closed:
			return
		case <-timer.C:
		}
		began := time.Now()
		parts, err := c.parts(c.look(q))
		if err != nil {
			return // the page says what is wrong, once it is loaded again
		}
		took := time.Since(began)
		if s.send(parts) != nil {
			return // the reader is gone
		}
		timer.Reset(max(c.interval, maxShare*took))
	}
}

// stream is what one reader has got so far.
type stream struct {
	to      http.ResponseWriter
	control *http.ResponseController
	sent    map[string]string // the HTML of parts by id
	last    time.Time         // when something was sent
}

// send sends the parts that changed.
func (s *stream) send(parts []part) error {
	var message bytes.Buffer
	if s.last.IsZero() {
		message.WriteString("retry: 1000\n\n")
	}
	data := json.NewEncoder(&message) // writes a single line, whatever the HTML is
	data.SetEscapeHTML(false)         // nobody takes a stream of events for HTML
	for _, p := range parts {
		if html, has := s.sent[p.ID]; has && html == p.HTML {
			continue
		}
		message.WriteString("event: part\ndata: ")
		if err := data.Encode(p); err != nil {
			return fmt.Errorf("encode %s: %w", p.ID, err)
		}
		message.WriteByte('\n')
		s.sent[p.ID] = p.HTML
	}
	now := time.Now()
	if message.Len() == 0 {
		if now.Sub(s.last) < idleTime {
			return nil
		}
		message.WriteString(":\n\n") // a comment
	}
	s.last = now
	_ = s.control.SetWriteDeadline(now.Add(writeTime)) // in vain only where nothing blocks
	if _, err := message.WriteTo(s.to); err != nil {
		return fmt.Errorf("send: %w", err)
	}
	return s.control.Flush()
}
