package console

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// reader reads a stream as it is written.
type reader struct {
	*httptest.ResponseRecorder
	fail error

	mu   sync.Mutex
	text strings.Builder
}

func newReader() *reader { return &reader{ResponseRecorder: httptest.NewRecorder()} }

func (r *reader) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fail != nil {
		return 0, r.fail
	}
	return r.text.Write(p)
}

// got returns what came since it was last asked: the ids of parts, and other lines as they are.
func (r *reader) got(t *testing.T) []string {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for event := range strings.SplitSeq(strings.TrimSuffix(r.text.String(), "\n\n"), "\n\n") {
		data, isPart := strings.CutPrefix(event, "event: part\ndata: ")
		if !isPart {
			out = append(out, event)
			continue
		}
		var p part
		if err := json.Unmarshal([]byte(data), &p); err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		out = append(out, p.ID)
	}
	r.text.Reset()
	return out
}

func open(ctx context.Context, c *Console, w http.ResponseWriter) (done chan struct{}) {
	done = make(chan struct{})
	go func() {
		defer close(done)
		c.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/console/stream", nil))
	}()
	return done
}

// A reader gets all parts at first, then those that change, and a sign of life when nothing does.
func TestStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := small()
		c := newConsole(t, f)
		r := newReader()
		ctx, leave := context.WithCancel(t.Context())
		done := open(ctx, c, r)
		expect := func(after time.Duration, want ...string) {
			t.Helper()
			<-time.After(after)
			synctest.Wait()
			if diff := cmp.Diff(want, r.got(t)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
		expect(0, "retry: 1000", "part-summary", "part-balancers", "part-rates", "part-calls", "part-routes", "part-instances")
		expect(5*time.Second, "")
		f.View(func(c *state.Cloud, _ Health) { c.LoadBalancers["lb-3"] = &state.LoadBalancer{ID: "lb-3"} })
		expect(500*time.Millisecond, "part-summary", "part-balancers")
		f.View(func(c *state.Cloud, _ Health) { c.Instances["i-2"].HostName = "not shown" })
		expect(14*time.Second, "")
		expect(time.Second, ":")
		if got := r.Header().Get("Content-Type"); got != "text/event-stream" {
			t.Errorf("content type %q", got)
		}
		leave()
		<-done
	})
}

func TestStreamEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newConsole(t, small())
		gone := newReader()
		gone.fail = errors.New("broken pipe")
		<-open(t.Context(), c, gone)
		staying := open(t.Context(), c, newReader())
		synctest.Wait()
		c.Close()
		c.Close()
		<-staying
	})
}

func TestStreamsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newConsole(t, small())
		ctx, leave := context.WithCancel(t.Context())
		var readers []chan struct{}
		for range maxReaders {
			readers = append(readers, open(ctx, c, newReader()))
		}
		synctest.Wait()
		if w := get(t, c, http.MethodGet, "/console/stream"); w.Code != http.StatusServiceUnavailable {
			t.Errorf("one reader too many: %d", w.Code)
		}
		leave()
		for _, done := range readers {
			<-done
		}
		after := open(t.Context(), c, newReader())
		synctest.Wait()
		c.Close()
		<-after
	})
}
