package dataplane

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// headerTimeout is how long a client may take to send the headers of a request.
const headerTimeout = 60 * time.Second

// errSlowServer ends a request whose server does not answer in time.
var errSlowServer = errors.New("the server took too long")

// httpFrontend forwards the requests of an HTTP or HTTPS listener.
type httpFrontend struct {
	*frontend
	server    *http.Server
	transport *http.Transport
	stop      context.CancelFunc
	running   sync.WaitGroup
	tls       handshakes
}

func openHTTP(ctx context.Context, f *frontend) (*httpFrontend, error) {
	ln, err := listenConfig().Listen(ctx, protoTCP, f.socket.addr.String())
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	h := &httpFrontend{frontend: f, stop: stop, transport: newTransport(), tls: handshakes{log: f.log}}
	h.server = &http.Server{
		Handler: h, IdleTimeout: f.socket.idle, ReadHeaderTimeout: headerTimeout,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog:    slog.NewLogLogger(f.log.Handler(), slog.LevelDebug),
	}
	secure := f.socket.protocol == protoHTTPS
	if secure {
		// the limits come with configFor
		h.server.TLSConfig = &tls.Config{GetConfigForClient: h.configFor, NextProtos: []string{"h2", "http/1.1"}}
	}
	ln = &guarded{Listener: ln, frontend: f}
	h.running.Go(func() {
		if secure {
			err = h.server.ServeTLS(ln, "", "")
		} else {
			err = h.server.Serve(ln)
		}
		if !errors.Is(err, http.ErrServerClosed) {
			f.log.ErrorContext(ctx, "listener stopped serving", "error", err)
		}
	})
	return h, nil
}

// newTransport returns what connects to the servers.
func newTransport() *http.Transport {
	return &http.Transport{
		DialContext:        (&net.Dialer{Timeout: connectTimeout}).DialContext,
		DisableCompression: true, // that is between client and server
		MaxIdleConns:       256, MaxIdleConnsPerHost: 32, IdleConnTimeout: 15 * time.Second,
	}
}

func (h *httpFrontend) close() {
	h.stop()
	_ = h.server.Close() // what was opened is closed, whatever is said about it
	h.flows.end()
	h.running.Wait()
	h.transport.CloseIdleConnections()
}

// configFor returns the TLS settings in force.
func (h *httpFrontend) configFor(*tls.ClientHelloInfo) (*tls.Config, error) {
	return h.tls.configFor(h.spec.Load().tls)
}

func (h *httpFrontend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	spec := h.spec.Load()
	if spec.redirect.port != 0 {
		spec.redirect.answer(w, r)
		return
	}
	p := spec.poolFor(r)
	client := parseAddr(r.RemoteAddr)
	chosen, ok := p.sticky.find(r, h.standings.usable(p.targets), time.Now())
	if !ok {
		chosen, ok = h.choose(p, client)
	}
	if !ok {
		http.Error(w, "no healthy server", http.StatusServiceUnavailable)
		return
	}
	fl := h.open(spec, client.Addr(), chosen.id, nil)
	if fl == nil {
		http.Error(w, "the listener was stopped", http.StatusServiceUnavailable)
		return
	}
	defer h.flows.done(fl)
	proxy := httputil.ReverseProxy{
		Transport:     patient{transport: h.transport, timeout: spec.request},
		FlushInterval: -1, // streams reach the client as they come
		ErrorLog:      h.server.ErrorLog,
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.Out.URL.Scheme, pr.Out.URL.Host, pr.Out.URL.RawQuery = "http", chosen.id.addr.String(), pr.In.URL.RawQuery
			spec.setHeaders(pr.Out.Header, pr.In, client)
		},
		ModifyResponse: func(answer *http.Response) error {
			p.sticky.bind(answer, r, chosen.id, time.Now())
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			status := http.StatusBadGateway
			if errors.Is(err, errSlowServer) {
				status = http.StatusGatewayTimeout
			}
			http.Error(w, http.StatusText(status), status)
		},
	}
	proxy.ServeHTTP(w, r)
}

// answer sends a client to the same page of the HTTPS listener.
func (d redirect) answer(w http.ResponseWriter, r *http.Request) {
	host := hostname(r)
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if d.port != 443 {
		host = fmt.Sprintf("%s:%d", host, d.port)
	}
	//nolint:gosec // The host is the client's own, to which it is sent back.
	http.Redirect(w, r, "https://"+host+r.URL.RequestURI(), d.code)
}

// poolFor returns the servers that have a request: those of the first forwarding rule that matches, or the listener's.
func (l *listener) poolFor(r *http.Request) *pool {
	host := strings.ToLower(hostname(r))
	for i, rule := range l.routes {
		if rule.has(host, r.URL.Path) {
			return &l.routes[i].pool
		}
	}
	return &l.pool
}

func (r *route) has(host, path string) bool {
	if r.path != "" && !strings.HasPrefix(path, r.path) {
		return false
	}
	if below, wildcard := strings.CutPrefix(r.domain, "*"); wildcard {
		label, isBelow := strings.CutSuffix(host, below)
		return isBelow && label != "" && !strings.Contains(label, ".")
	}
	return r.domain == "" || r.domain == host
}

// hostname is the name that a request is for, without a port.
func hostname(r *http.Request) string {
	if host, _, err := net.SplitHostPort(r.Host); err == nil {
		return host
	}
	return strings.Trim(r.Host, "[]")
}

// setHeaders sets the headers from which the server learns what it can't see. The proxy has removed what the client said about
// itself; where the listener adds nothing of its own, that goes through as it came.
func (l *listener) setHeaders(out http.Header, in *http.Request, client netip.AddrPort) {
	scheme := "http"
	if in.TLS != nil {
		scheme = "https"
	}
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if values, ok := in.Header[name]; ok {
			out[name] = values
		}
	}
	if l.headers.forwardedFor {
		chain := append(in.Header["X-Forwarded-For"][:len(in.Header["X-Forwarded-For"]):len(in.Header["X-Forwarded-For"])],
			client.Addr().String())
		out.Set("X-Forwarded-For", strings.Join(chain, ", "))
	}
	if l.headers.forwardedProto {
		out.Set("X-Forwarded-Proto", scheme)
	}
}

// patient is a transport that waits only so long for an answer to begin.
type patient struct {
	transport http.RoundTripper
	timeout   time.Duration
}

func (p patient) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context()) // ends with the request of the client
	timer := time.AfterFunc(p.timeout, func() { cancel(errSlowServer) })
	response, err := p.transport.RoundTrip(r.WithContext(ctx))
	timer.Stop()
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, errSlowServer) {
		return nil, cause
	}
	return response, err
}
