package dataplane

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// namedHTTP answers every request with its name.
func namedHTTP(t *testing.T, name string) int {
	t.Helper()
	return httpServer(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, name) })
}

func newHTTPClient(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{
		Transport: transport, Jar: jar, Timeout: time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// get returns the body of an answer, or its status if that isn't 200.
func get(t *testing.T, c *http.Client, url string) string {
	t.Helper()
	answer, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	if answer.StatusCode != http.StatusOK {
		return answer.Status
	}
	return string(body)
}

func TestHTTPForwardsByRequest(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("g", server(namedHTTP(t, "a"), 75), server(namedHTTP(t, "b"), 25))
	address, client := "http://"+b.listen(protoHTTP), newHTTPClient(t)
	got := map[string]int{}
	for range 20 {
		got[get(t, client, address)]++
	}
	if diff := cmp.Diff(map[string]int{"a": 15, "b": 5}, got); diff != "" {
		t.Errorf("answers (-want +got):\n%s", diff)
	}
}

func TestHTTPHeaders(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("g", server(httpServer(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "Host: "+r.Host, r.RequestURI)
		for _, name := range []string{"X-Forwarded-For", "X-Forwarded-Proto", "Forwarded"} {
			if values := r.Header.Values(name); len(values) > 0 {
				fmt.Fprintf(w, "%s: %s\n", name, strings.Join(values, " and "))
			}
		}
	}), 100))
	address := b.listen(protoHTTP)
	client := connect(t, "127.0.0.9", address)
	reader := bufio.NewReader(client)
	send := func(headers string) string {
		t.Helper()
		fmt.Fprintf(client, "GET /a%%20b?c=d;e HTTP/1.1\r\nHost: web.example\r\n%s\r\n", headers)
		answer, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, _ := io.ReadAll(answer.Body)
		return string(body)
	}
	const host = "Host: web.example /a%20b?c=d;e\n"
	if got, want := send(""), host+"X-Forwarded-For: 127.0.0.9\n"; got != want {
		t.Errorf("by default:\n%s, want\n%s", got, want)
	}
	if got, want := send("X-Forwarded-For: 1.2.3.4\r\n"), host+"X-Forwarded-For: 1.2.3.4, 127.0.0.9\n"; got != want {
		t.Errorf("behind a proxy:\n%s, want\n%s", got, want)
	}
	b.change(func(*state.Cloud) { b.listener(0).Attributes["XForwardedFor"] = "off" })
	given := "X-Forwarded-For: 1.2.3.4\r\nX-Forwarded-Proto: gopher\r\nForwarded: for=1.2.3.4\r\n"
	if got, want := send(given), host+"X-Forwarded-For: 1.2.3.4\nX-Forwarded-Proto: gopher\nForwarded: for=1.2.3.4\n"; got != want {
		t.Errorf("switched off:\n%s, want\n%s", got, want)
	}
	b.change(func(*state.Cloud) {
		b.listener(0).Attributes["XForwardedFor"], b.listener(0).Attributes["XForwardedFor_proto"] = "on", "on"
	})
	if got, want := send("X-Forwarded-Proto: gopher\r\n"), host+"X-Forwarded-For: 127.0.0.9\nX-Forwarded-Proto: http\n"; got != want {
		t.Errorf("all on:\n%s, want\n%s", got, want)
	}
}

func TestHTTPStickyInsert(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	one, two := server(namedHTTP(t, "a"), 50), server(namedHTTP(t, "b"), 50)
	b.group("g", one, two)
	address := "http://" + b.listen(protoHTTP, "Scheduler", "rr", "StickySession", "on", "StickySessionType", "insert", "CookieTimeout", "60")
	first, second := newHTTPClient(t), newHTTPClient(t)
	a, other := get(t, first, address), get(t, second, address)
	if a == other {
		t.Fatalf("two sessions are at %s", a)
	}
	for range 3 {
		if got := get(t, first, address); got != a {
			t.Errorf("the session moved to %s", got)
		}
		if got := get(t, second, address); got != other {
			t.Errorf("the other session moved to %s", got)
		}
	}
	for _, s := range []*state.Server{one, two} { // sessions of a server that is drained go elsewhere
		b.change(func(*state.Cloud) { s.Weight = 0 })
		if x, y := get(t, first, address), get(t, second, address); x != y {
			t.Errorf("one server is left, but %s and %s answer", x, y)
		}
		b.change(func(*state.Cloud) { s.Weight = 50 })
	}
}

func TestStickyCookies(t *testing.T) {
	t.Parallel()
	all, now := targets(1, 1), time.Unix(1_000_000, 0)
	token := all[1].id.token()
	insert := sticky{on: true, idle: time.Minute}
	tests := []struct {
		name   string
		sticky sticky
		cookie string
		found  bool
		since  string // of the cookie that is set
	}{
		{"fresh", insert, token + "|999990|1", true, "1"},
		{"idle for too long", insert, token + "|999900|1", false, "1"},
		{"until the browser ends", sticky{on: true}, token + "|1|1", true, "1"},
		{"unknown server", insert, "abc|999990|1", false, "1000000"},
		{"nonsense", insert, token + "|x|", false, ""},
		{"empty", insert, "", false, "1000000"},
		{"not sticky", sticky{}, token, false, ""},
	}
	for _, tt := range tests {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Header.Set("Cookie", "other=1; SERVERID="+tt.cookie)
		got, ok := tt.sticky.find(r, all, now)
		if ok != tt.found || ok && got.id != all[1].id {
			t.Errorf("%s: %v %t", tt.name, got.id, ok)
		}
		answer := &http.Response{Header: http.Header{"Set-Cookie": {"SERVERID=x; Path=/", "SERVERID2=x"}}}
		tt.sticky.bind(answer, r, all[1].id, now)
		want := []string{"SERVERID=x; Path=/", "SERVERID2=x"}
		if tt.sticky.on {
			want = append(want, "SERVERID="+token+"|1000000|"+tt.since+";Path=/")
		}
		if diff := cmp.Diff(want, answer.Header.Values("Set-Cookie")); diff != "" {
			t.Errorf("%s: cookies (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestHTTPFailures(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	release := make(chan struct{})
	slow := httpServer(t, func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	t.Cleanup(func() { close(release) })
	b.group("slow", server(slow, 100))
	b.group("closed", server(closedTCP(t), 100))
	for _, tt := range []struct{ group, timeout, want string }{
		{"none", "60", "503 Service Unavailable"}, {"slow", "1", "504 Gateway Timeout"}, {"closed", "60", "502 Bad Gateway"},
	} {
		address := "http://" + b.listen(protoHTTP, "RequestTimeout", tt.timeout, "VServerGroupId", tt.group)
		if got := get(t, newHTTPClient(t), address); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.group, got, tt.want)
		}
	}
}

// An upgraded connection goes both ways, and ends with its listener.
func TestHTTPUpgrade(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.group("g", server(httpServer(t, func(w http.ResponseWriter, _ *http.Request) {
		conn, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = buffered.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		_ = buffered.Flush()
		_, _ = io.Copy(conn, buffered)
	}), 100))
	conn := connect(t, "127.0.0.1", b.listen(protoHTTP))
	reader := bufio.NewReader(conn)
	fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	answer, err := http.ReadResponse(reader, nil)
	if err != nil || answer.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%v %v", answer, err)
	}
	answer.Body.Close()
	fmt.Fprint(conn, "ping\n")
	if got, err := reader.ReadString('\n'); got != "ping\n" {
		t.Fatalf("%q %v", got, err)
	}
	b.change(func(*state.Cloud) { b.listener(0).Status = "stopped" })
	if _, err := reader.ReadString('\n'); err == nil {
		t.Error("an upgraded connection outlives its listener")
	}
}

func TestPlaneRefusesUnknownProtocol(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	s := socket{addr: netip.AddrPortFrom(b.address, 1), protocol: "sctp"}
	if _, err := b.plane.start(context.Background(), s, &listener{}); err == nil {
		t.Error("a listener of sctp is open")
	}
}

// A listener that redirects sends every client to the HTTPS listener, with the page that it asked for.
func TestHTTPRedirects(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	address := b.listen(protoHTTP, "VServerGroupId", "", "ListenerForward", "on")
	client := newHTTPClient(t)
	for _, tt := range []struct{ port, code, host, want string }{
		{"443", "301", "web.example", "301 https://web.example/a%20b?c=d"},
		{"443", "302", "web.example:8080", "302 https://web.example/a%20b?c=d"},
		{"8443", "308", "web.example", "308 https://web.example:8443/a%20b?c=d"},
		{"8443", "", "[::1]:80", "302 https://[::1]:8443/a%20b?c=d"},
	} {
		b.change(func(*state.Cloud) {
			b.listener(0).Attributes["ForwardPort"], b.listener(0).Attributes["ForwardCode"] = tt.port, tt.code
		})
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/a%20b?c=d", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = tt.host
		answer, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if got := fmt.Sprint(answer.StatusCode, " ", answer.Header.Get("Location")); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.host, got, tt.want)
		}
	}
}

// A forwarding rule has the requests of its domain and path; what no rule has goes to the group of the listener.
func TestHTTPForwardingRules(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	for _, name := range []string{"g", "shop", "pay", "any", "wild"} {
		b.group(name, server(namedHTTP(t, name), 100))
	}
	address, client := b.listen(protoHTTP), newHTTPClient(t)
	b.change(func(*state.Cloud) {
		b.listener(0).Rules = []*state.Rule{
			{URL: "/any", ServerGroupID: "any"},
			{Domain: "*.example", ServerGroupID: "wild"},
			{Domain: "Shop.example", ServerGroupID: "shop"},
			{Domain: "shop.example", URL: "/pay", ServerGroupID: "pay",
				Attributes: map[string]string{"ListenerSync": "off", "HealthCheck": "off"}},
		}
	})
	for page, want := range map[string]string{
		"other.test/": "g", "other.test/any/thing": "any", "shop.example/": "shop", "SHOP.example:80/x": "shop",
		"shop.example/pay/now": "pay", "web.example/": "wild", "a.web.example/": "g", "shop.example/any": "shop",
	} {
		host, path, _ := strings.Cut(page, "/")
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Host = host
		answer, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if string(body) != want {
			t.Errorf("%s goes to %q, want %q", page, body, want)
		}
	}
}
