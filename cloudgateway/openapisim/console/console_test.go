package console

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim/journal"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func newConsole(t testing.TB, source Source) *Console {
	t.Helper()
	c, err := New(Config{Source: source, Products: []string{"slb", "vpc", "ecs", "sts", "location", "nlb"}})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func get(t testing.TB, c *Console, method, target string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	c.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, target, nil))
	return w
}

func TestNewNeedsASource(t *testing.T) {
	t.Parallel()
	if _, err := New(Config{}); err == nil || !strings.Contains(err.Error(), "Source") {
		t.Errorf("error %v", err)
	}
}

func TestParts(t *testing.T) {
	t.Parallel()
	busy := small()
	busy.frozen, busy.off, busy.faults = true, true, 2
	empty := &fake{cloud: state.New("cn-hangzhou", "1000000000000001")}
	for name, tt := range map[string]struct {
		source *fake
		q      query
	}{
		"small":    {small(), query{}},
		"notices":  {busy, query{Search: "lb-1", Errors: true}},
		"nothing":  {small(), query{Search: "<none>", Action: "fly"}},
		"no-cloud": {empty, query{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newConsole(t, tt.source)
			v := c.look(tt.q)
			var all strings.Builder
			for _, part := range []string{"summary", "balancers", "rates", "calls", "routes", "instances"} {
				all.WriteString("<!-- part-" + part + " -->\n")
				if err := c.pages.ExecuteTemplate(&all, part, v); err != nil {
					t.Fatal(err)
				}
				all.WriteString("\n")
			}
			golden(t, name+".html", all.String())
		})
	}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	c := newConsole(t, small())
	tests := []struct {
		method, target string
		status         int
		want           string
	}{
		{"GET", "/console", 200, "text/html; charset=utf-8"},
		{"HEAD", "/console", 200, "text/html; charset=utf-8"},
		{"GET", "/console?search=web&errors=1&balancers=7", 200, "text/html; charset=utf-8"},
		{"GET", "/console/", 301, ""},
		{"GET", "/console/assets/console.css", 200, "text/css; charset=utf-8"},
		{"GET", "/console/balancer/lb-1", 200, "text/html; charset=utf-8"},
		{"GET", "/console/service/default/web?live=1", 200, "text/html; charset=utf-8"},
		{"GET", "/console/service/default", 404, ""},
		{"GET", "/console/assets/icon.svg", 200, "image/svg+xml"},
		{"GET", "/console/assets/console.go", 404, ""},
		{"GET", "/console/templates/page.html.tmpl", 404, ""},
		{"POST", "/console", 405, ""},
	}
	for _, tt := range tests {
		w := get(t, c, tt.method, tt.target)
		if w.Code != tt.status || tt.want != "" && w.Header().Get("Content-Type") != tt.want {
			t.Errorf("%s %s: %d %s, want %d %s", tt.method, tt.target, w.Code, w.Header().Get("Content-Type"), tt.status, tt.want)
		}
		if got := w.Header().Get("Content-Security-Policy"); got != contentPolicy {
			t.Errorf("%s %s: policy %q", tt.method, tt.target, got)
		}
	}
}

// Readers choose whether the page is loaded again and again, and ids on it are its own.
func TestPage(t *testing.T) {
	t.Parallel()
	const reload = `http-equiv="refresh"`
	c := newConsole(t, small())
	page := get(t, c, http.MethodGet, "/console").Body.String()
	if strings.Contains(page, reload) || !strings.Contains(get(t, c, http.MethodGet, "/console?live=1").Body.String(), reload) {
		t.Error("the page is not loaded again exactly when that is asked for")
	}
	for _, id := range strings.Split(page, ` id="`)[1:] {
		id, _, _ = strings.Cut(id, `"`)
		if strings.Count(page, ` id="`+id+`"`) != 1 {
			t.Errorf("id %q is used more than once", id)
		}
	}
}

// Callers choose names, parameters and user agents, readers what they search for; none of it becomes markup.
func TestEverythingIsEscaped(t *testing.T) {
	t.Parallel()
	const evil = `"'><script>alert(1)</script>`
	f := small()
	lb := f.cloud.LoadBalancers["lb-1"]
	lb.ID, lb.Name, lb.Address, lb.Status, lb.Spec, lb.Tags = evil, evil, evil, evil, evil, []state.Tag{{Key: evil, Value: evil}}
	for _, l := range lb.Listeners {
		l.Protocol, l.Status = evil, evil
		l.Attributes["Scheduler"], l.Attributes["ForwardPort"] = evil, evil
	}
	for _, g := range f.cloud.ServerGroups {
		g.LoadBalancerID, g.Name = evil, evil
		for _, s := range g.Servers {
			s.ServerID, s.ServerIP, s.Description = evil, evil, evil
		}
	}
	for _, e := range f.cloud.RouteTables["vtb-1"].Entries {
		e.Cidr, e.NextHopID, e.NextHopType, e.Type, e.Status, e.Name, e.Description = evil, evil, evil, evil, evil, evil, evil
	}
	f.cloud.Instances["i-1"].Name, f.cloud.Instances["i-1"].ID = evil, evil
	f.cloud.Interfaces["eni-1"].ID, f.cloud.Interfaces["eni-1"].PrimaryIP = evil, evil
	f.calls = append(f.calls, journal.Call{
		Seq: 10, Time: noon(), Product: evil, Action: evil, Caller: evil, Code: evil, Fault: evil, Params: map[string]string{evil: evil},
	})
	page := get(t, newConsole(t, f), http.MethodGet,
		"/console?search=%22%27%3E%3Cscript%3Ealert(1)%3C/script%3E&product=%3Cscript%3E").Body.String()
	whole := get(t, newConsole(t, f), http.MethodGet, "/console").Body.String()
	for _, text := range []string{page, whole} {
		if strings.Contains(text, "<script>") || strings.Contains(text, `"'>`) {
			t.Errorf("markup gets through: %s", text)
		}
	}
	if n := strings.Count(whole, "&lt;script&gt;alert(1)"); n < 30 {
		t.Errorf("the texts appear %d times only", n)
	}
}

// large is a cloud at the limit of what the console is made for.
func large() *fake {
	c := state.New("cn-hangzhou", "1000000000000001")
	for n := range 2000 {
		id := "lb-" + strconv.Itoa(n)
		lb := &state.LoadBalancer{ID: id, Name: id, Address: "47.96.0.1", Status: "active", Created: noon()}
		for port := range 3 {
			group := &state.ServerGroup{ID: id + "-" + strconv.Itoa(port), LoadBalancerID: id, Name: "k8s/30080/web/default/c-1"}
			for s := range 20 {
				group.Servers = append(group.Servers, &state.Server{ServerID: "i-" + strconv.Itoa(s), Port: 30080, Weight: 100})
			}
			c.ServerGroups[group.ID] = group
			lb.Listeners = append(lb.Listeners, &state.Listener{
				Port: 80 + port, Protocol: "tcp", Status: "running", Attributes: map[string]string{"VServerGroupId": group.ID, "Scheduler": "wrr"},
			})
		}
		c.LoadBalancers[id] = lb
	}
	calls := make([]journal.Call, 0, 100_000)
	base := someCalls()
	for n := range cap(calls) {
		call := base[n%len(base)]
		call.Seq = int64(n + 1)
		calls = append(calls, call)
	}
	return &fake{cloud: c, health: words(), calls: calls}
}

// However much there is, the page stays one that a browser renders at once.
func TestPageOfALargeCloud(t *testing.T) {
	t.Parallel()
	c := newConsole(t, large())
	if page := get(t, c, http.MethodGet, "/console"); page.Body.Len() > 300<<10 || !strings.Contains(page.Body.String(),
		"1–10 of 2\u202f000 load balancers") {
		t.Errorf("the page has %d bytes", page.Body.Len())
	}
}

func BenchmarkLook(b *testing.B) {
	c := newConsole(b, large())
	for name, q := range map[string]query{
		"plain": {}, "search": {Search: "lb-1999"}, "filter": {Action: "group", Caller: "gateway", Errors: true},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := c.pages.ExecuteTemplate(io.Discard, "page", c.look(q)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
