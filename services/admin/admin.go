// Package admin serves a process's HTTP side for its operators: liveness, readiness with reasons, metrics, version, profiles.
package admin

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"k8s.io/client-go/kubernetes"

	"alicloud-controllers.dev/services/config"
	"alicloud-controllers.dev/services/process"
	"alicloud-controllers.dev/services/version"
)

const (
	// checkTimeout keeps a readiness probe below kubelet's usual patience.
	checkTimeout = 3 * time.Second
	// stopTimeout lets a scrape under way finish.
	stopTimeout = 2 * time.Second
	// headerTimeout and idleTimeout are how long a client may keep a connection waiting, for a request that it has begun
	// and for the next one. A Prometheus asks once a minute or more often.
	headerTimeout, idleTimeout = 5 * time.Second, 2 * time.Minute
	// answerTimeout is how long an answer may take. Profiles get the time that was asked for besides.
	answerTimeout = 30 * time.Second

	// revisionHeader and revisionVariable say of which revision of its Deployment the probed pod is, and this one.
	revisionHeader, revisionVariable = "Pod-Revision", "POD_REVISION"
)

// Config describes the server.
type Config struct {
	// Listen is "host:port"; port 0 takes a free one.
	Listen string `json:"listen"`
	// AlsoListen are further addresses with the same pages, such as those of the existing controller manager: ":8080" for
	// /metrics and ":10258" for /healthz.
	AlsoListen []string `json:"alsoListen"`
	// Authentication is for an address that others reach, such as a node's. The server then speaks HTTPS, and metrics, profiles and the
	// reasons on /readyz need a token of the cluster whose holder may get that path by RBAC, or a client on the same machine.
	Authentication bool `json:"authentication"`
	// CertFile is the certificate of the server, and may be renewed in place. If empty, the process makes one that no client can verify.
	CertFile string `json:"certFile"`
	// KeyFile is the private key of the certificate.
	KeyFile string `json:"keyFile"`
}

// Validate notes what is wrong, under key.
func (c Config) Validate(p *config.Problems, key string) {
	p.HostPort(key+".listen", c.Listen)
	for i, address := range c.AlsoListen {
		p.HostPort(fmt.Sprintf("%s.alsoListen[%d]", key, i), address)
	}
	if (c.CertFile == "") != (c.KeyFile == "") {
		p.Addf(key, "certFile and keyFile are needed together")
	}
	if c.CertFile != "" && !c.Authentication {
		p.Addf(key+".certFile", "has no effect without %s.authentication", key)
	}
}

// Check is one condition of readiness.
type Check struct {
	Name string
	// Check gives nil when the condition holds, and otherwise the reason that /readyz shows.
	Check func(ctx context.Context) error
	// Remedy is what an operator does next when the condition does not hold; empty if the reason says it.
	Remedy string
	// Detail, if not nil, is what there is to say when the condition holds.
	Detail func() string
}

// line is the check's line in the answer of /readyz. Without reasons it says only whether the condition holds.
func (c Check) line(err error, reasons bool) string {
	switch {
	case err != nil && !reasons:
		return c.Name + ": failed\n"
	case err != nil && c.Remedy != "":
		return fmt.Sprintf("%s: %s; next step: %s\n", c.Name, oneLine(err), c.Remedy)
	case err != nil:
		return fmt.Sprintf("%s: %s\n", c.Name, oneLine(err))
	case c.Detail != nil && reasons:
		return fmt.Sprintf("%s: ok, %s\n", c.Name, c.Detail())
	}
	return c.Name + ": ok\n"
}

func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

// Server answers on the admin address.
type Server struct {
	listeners []net.Listener
	http      *http.Server
}

// New opens the address, for which it waits if another replica on the same node has it, and makes the server; it is live from Run on, and
// ready when all checks hold. With cfg.Authentication, the client asks the API server who may read which page.
func New(
	ctx context.Context, cfg Config, client kubernetes.Interface, log *slog.Logger, registry *prometheus.Registry, checks ...Check,
) (*Server, error) {
	var readers *guard
	var identity *tls.Config
	if cfg.Authentication {
		var err error
		if identity, err = cfg.identity(log); err != nil {
			return nil, fmt.Errorf("admin.certFile and admin.keyFile: %w", err)
		}
		readers = newGuard(client, log)
	}
	var listeners []net.Listener
	for _, address := range append([]string{cfg.Listen}, cfg.AlsoListen...) {
		listener, err := process.Listen(ctx, address, log, nil)
		if err != nil {
			for _, open := range listeners {
				err = errors.Join(err, open.Close())
			}
			return nil, fmt.Errorf("admin.listen: %w", err)
		}
		if identity != nil {
			listener = tls.NewListener(listener, identity)
		}
		listeners = append(listeners, listener)
	}
	return &Server{listeners: listeners, http: newHTTP(newHandler(readers, registry, checks))}, nil
}

// newHTTP makes a server that clients can't fill with connections.
func newHTTP(handler http.Handler) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, WriteTimeout: answerTimeout, ConnState: newCrowd().note,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug), // It reports that clients disconnect, which needs no action.
	}
}

// Addr is the address that is listened on.
func (s *Server) Addr() string { return s.Addrs()[0] }

// Addrs are that address and the further ones.
func (s *Server) Addrs() []string {
	addresses := make([]string, len(s.listeners))
	for i, l := range s.listeners {
		addresses[i] = l.Addr().String()
	}
	return addresses
}

// Run serves until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	stopped := make(chan error, 1)
	unhook := context.AfterFunc(ctx, func() {
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		if err := s.http.Shutdown(bounded); err != nil {
			err = s.http.Close() // A profile may run for longer than its client waits.
			stopped <- err
			return
		}
		stopped <- nil
	})
	ended := make(chan error, len(s.listeners))
	for _, listener := range s.listeners {
		go func() { ended <- s.http.Serve(listener) }()
	}
	err := <-ended
	if !errors.Is(err, http.ErrServerClosed) {
		err = errors.Join(err, s.http.Close()) // The others end with it.
	}
	for range len(s.listeners) - 1 {
		<-ended
	}
	if !unhook() {
		return <-stopped
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve the admin address: %w", err)
}

// Handler is what Server serves where it need not authenticate clients.
func Handler(registry *prometheus.Registry, checks ...Check) http.Handler {
	return newHandler(nil, registry, checks)
}

// newHandler makes the pages. Without readers, every client may read all but profiles.
func newHandler(readers *guard, registry *prometheus.Registry, checks []Check) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok\n") })
	// As the existing CCM has it.
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, "ok\n") })
	mux.HandleFunc("GET /readyz", readiness(readers, newGauge(registry), checks))
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, version.String()+"\n") })
	mux.Handle("GET /metrics", readers.protect(metrics(registry)))
	for path, handler := range map[string]http.HandlerFunc{
		"/debug/pprof/": pprof.Index, "/debug/pprof/profile": pprof.Profile, "/debug/pprof/symbol": pprof.Symbol,
		"/debug/pprof/trace": pprof.Trace, "/debug/pprof/cmdline": pprof.Cmdline,
	} {
		if readers == nil {
			handler = localOnly(handler)
		}
		mux.Handle("GET "+path, readers.protect(handler))
	}
	return mux
}

func answer(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	_, _ = w.Write([]byte(text)) // It fails only if the client has disconnected.
}

// newGauge makes the metric that keeps the last answers to the kubelet's probes.
func newGauge(registry *prometheus.Registry) *prometheus.GaugeVec {
	return promauto.With(registry).NewGaugeVec(prometheus.GaugeOpts{
		Name: "readiness_check",
		Help: "1 if the condition of readiness held when /readyz was last asked, otherwise 0.",
	}, []string{"check"})
}

// readiness has all checks run at once and answers one line for each. Kubelets show no token, and need no reasons.
//
// On the node's network the kubelet's probe of a pod that waits for this address comes here, too. A pod of another
// revision counts as ready: were it not, and this one neither, then the Deployment would end none of both, and no
// upgrade could mend a wrong configuration.
func readiness(readers *guard, held *prometheus.GaugeVec, checks []Check) http.HandlerFunc {
	revision, all := os.Getenv(revisionVariable), &rounds{checks: checks}
	return func(w http.ResponseWriter, r *http.Request) {
		if probed := r.Header.Get(revisionHeader); probed != "" && probed != revision {
			answer(w, http.StatusOK, "ready\nwaits for the address of a replica of another revision\n")
			return
		}
		errs := all.run(r.Context())
		reasons := readers.admits(r) == nil
		code, verdict, lines := http.StatusOK, "ready\n", &strings.Builder{}
		for i, c := range checks {
			holds := 1.0
			if errs[i] != nil {
				code, verdict, holds = http.StatusServiceUnavailable, "not ready\n", 0
			}
			held.WithLabelValues(c.Name).Set(holds)
			lines.WriteString(c.line(errs[i], reasons))
		}
		answer(w, code, verdict+lines.String())
	}
}

// localOnly answers only clients on the same machine, e.g. through kubectl port-forward. Profiles reveal too much and cost too
// much to serve them to every client that reaches the port that Prometheus scrapes.
func localOnly(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !local(r) {
			answer(w, http.StatusForbidden, "profiles are served to the own machine only; use kubectl port-forward\n")
			return
		}
		next(w, r)
	}
}

// local reports whether the client is on the own machine.
func local(r *http.Request) bool {
	address, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && address.Addr().Unmap().IsLoopback()
}
