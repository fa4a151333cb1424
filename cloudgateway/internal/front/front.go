// Package front lets tools that know nothing but the cloud's OpenAPI share the gateway's budget and credentials:
// Terraform, Terway, Karpenter, the aliyun CLI and all that use one of Alibaba Cloud's SDKs. A tool signs with a key
// pair that stands for a Kubernetes identity; the front checks it, asks RBAC and the scopes, waits for the caller's
// share of the rate limits, and passes the call on, signed anew. The cloud's answer goes back as it came. The
// controllers never use it (docs/adr/0013-openapi-front.md).
package front

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"alicloud-controllers.dev/services/logging"
	"alicloud-controllers.dev/services/process"

	"alicloud-controllers.dev/cloudgateway/internal/authz"
	"alicloud-controllers.dev/cloudgateway/internal/config"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/rpc"
	"alicloud-controllers.dev/cloudgateway/internal/scope"
)

// Resource and Verb are what RBAC has to allow, with the name of the action, e.g. "ecs:DescribeInstances".
const (
	Resource = "openapi"
	Verb     = "call"
)

// Config of a Front.
type Config struct {
	config.Front

	TLS        rpc.TLSConfig
	Region     string
	Refused    []string // users that may have no key pair
	Cloud      *openapi.Client
	Authorizer *authz.Authorizer
	// Account looks a ServiceAccount up. The UID is empty if it is not known.
	Account func(ctx context.Context, namespace, name string) (found bool, uid string, err error)
	// Tokens finds out whose token of a ServiceAccount it is, and its end; zero: it has none. An error of rpcerr.CallerUnauthenticated
	// says that it is nobody's. The context has the peer.
	Tokens func(ctx context.Context, token string) (rpc.Caller, time.Time, error)
	// UnderWay is what the callers have under way, who may use the gateway's own API as well.
	UnderWay *rpc.Account
	Guard    *scope.Guard
	// Counts gives the name under which an action counts in the budget.
	Counts func(product, action string) string
	// Context makes the calls under it wait in the name of the caller, and end with the term of this replica.
	Context func(ctx context.Context, caller string) context.Context
	// Forget is called after each call that may have changed something, with the products of which answers may show it.
	Forget     func(products ...string)
	Registerer prometheus.Registerer
	Logger     *slog.Logger
}

// Front is a server of the OpenAPI.
type Front struct {
	cfg     Config
	keys    *keyring
	nonces  nonces
	changes map[string]change
	named   map[string]bool // the actions for which no pattern stands
	calls   *prometheus.CounterVec
	closed  *prometheus.CounterVec
	kept    *prometheus.CounterVec

	throttled *prometheus.CounterVec

	audits  rpc.Peers // the lines of the audit log about refusals, by caller; "": a stranger
	asks    rpc.Peers // refusals by RBAC, by caller
	gives   rpc.Peers // sessions, by caller
	lookups lookups
	strange logging.Occasional
	ours    logging.Occasional // about answers that tools do not get
	addr    atomic.Value       // string
}

const (
	mostHeaders = 64 << 10
	// reading is how long a request may take to come, and idle how long a connection may wait for the next.
	reading = 10 * time.Second
	idle    = time.Minute
	// finish is how long calls under way may go on after the end.
	finish = 8 * time.Second
	// parting is how much of that a tool has to use a connection once more, and to hear that it is the last time.
	parting = time.Second
	// writing is how long a tool may take to read an answer.
	writing = 30 * time.Second
)

// limits bound what clients cost before their identity is known; what is under way counts in the account of all the
// gateway's callers. Tools open a connection for each of many calls at once.
func limits() rpc.Limits {
	return rpc.Limits{
		Connections: 512, ConnectionsPerCaller: 256, Strangers: 128, StrangersPerPeer: 64,
		StrangerBytes: 2 * (mostBody + mostHeaders), StrangerCalls: 50,
		Arrivals: 50, ArrivalsBeyond: 100, FirstCall: reading,
	}
}

// New makes a Front. Key pairs that can't be read are there later, and a gateway that did not start for want of them
// would stop the controllers.
func New(cfg Config) *Front {
	factory := promauto.With(cfg.Registerer)
	keys := newKeyring(cfg.KeysFile, cfg.Refused, cfg.Logger)
	factory.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "cloudgateway_front_keys_unreadable",
		Help: "Whether the file of key pairs can't be read, so that the former ones count: 1 or 0.",
	}, func() float64 {
		keys.sessionSecrets() // It looks at the file: of a standby nobody else does.
		if keys.failed.Load() {
			return 1
		}
		return 0
	})
	return &Front{
		cfg: cfg, keys: keys, changes: changes(), named: alone(),
		audits: rpc.Peers{Burst: 20, PerSecond: 1}, asks: rpc.Peers{Burst: 50, PerSecond: 5},
		gives: rpc.Peers{Burst: 100, PerSecond: 20}, // Of 5 000 pods that start at once the last one has its own after four minutes.
		calls: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "cloudgateway_front_calls_total",
			Help: "Calls of tools to the OpenAPI front, by outcome: ok, error (the cloud's), no_answer, or the code with " +
				"which the gateway refused it.",
		}, []string{"outcome"}),
		closed: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "cloudgateway_front_closed_connections_total",
			Help: "Connections to the OpenAPI front without a permitted call that were closed, by reason as in " +
				"cloudgateway_closed_connections_total; and those of callers with too many that were idle longest.",
		}, []string{"reason"}),
		throttled: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "cloudgateway_front_throttled_calls_total",
			Help: "Calls of tools that the gateway answered with Throttling, by reason: limit (the account's, for the action), " +
				"connections, calls or bytes (the caller has too many under way), lookups (of permissions under way), refusals (by " +
				"RBAC, of late), sessions (of late) or nonces (to be remembered).",
		}, []string{"reason"}),
		kept: factory.NewCounterVec(prometheus.CounterOpts{
			Name: "cloudgateway_front_withheld_answers_total",
			Help: "Answers that tools did not get, by reason: credentials (the cloud refuses those of the gateway), quote (the answer has them " +
				"in it) or not_the_cloud (something between has answered).",
		}, []string{"reason"}),
	}
}

// Addr is where the front listens; empty: it does not at present.
func (f *Front) Addr() string {
	addr, _ := f.addr.Load().(string)
	return addr
}

// Serve answers while this replica is the active one, which is until ctx ends: a tool that gets the addresses of all
// replicas from DNS finds the active one as the one that can be connected to. Calls under way may then finish within 8
// seconds. Connections are closed after the next answer on each, or after a second: most tools that keep them open use
// them as often, and would have a call fail if they were closed at once.
func (f *Front) Serve(ctx context.Context) error {
	began := time.Now()
	listener, err := process.Listen(ctx, f.cfg.Listen, f.cfg.Logger, nil)
	if err != nil {
		return err
	}
	guard, err := rpc.NewGuard(listener, f.cfg.TLS, []string{"http/1.1"}, tls.VersionTLS12, limits(), f.cfg.UnderWay, f.close, f.cfg.Logger)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	ctx, end := context.WithCancel(ctx)
	server := f.server(&session{Front: f, guard: guard, began: began}, guard.Rests, func() bool { return ctx.Err() != nil })
	f.addr.Store(listener.Addr().String())
	f.cfg.Logger.Info("the OpenAPI front listens", "listen", listener.Addr().String())
	stopped := make(chan struct{})
	context.AfterFunc(ctx, func() {
		defer close(stopped)
		f.addr.Store("")
		_ = guard.Close() // Serve then says so.
		<-time.After(parting)
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), finish-parting)
		defer cancel()
		if server.Shutdown(last) != nil {
			_ = server.Close() // Those that are left have had their time.
		}
	})
	err = server.Serve(guard.Listener)
	end() // Connections end with it, also when the listener has failed.
	<-stopped
	return err
}

// server answers by a handler, until leaves is true: the answers after that end their connections.
func (f *Front) server(handler http.Handler, rests func(c net.Conn, idle bool), leaves func() bool) *http.Server {
	return &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			handler.ServeHTTP(&inTime{w, leaves}, r)
		}),
		ReadHeaderTimeout: reading, ReadTimeout: reading, IdleTimeout: idle, MaxHeaderBytes: mostHeaders,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connectionKey{}, c)
		},
		ConnState: func(c net.Conn, state http.ConnState) {
			if state == http.StateIdle || state == http.StateActive {
				rests(c, state == http.StateIdle)
			}
		},
		ErrorLog: slog.NewLogLogger(f.cfg.Logger.Handler(), slog.LevelDebug),
	}
}

// close notes that a connection without a permitted call was closed.
func (f *Front) close(reason, peer string) {
	f.closed.WithLabelValues(reason).Inc()
	if reason == rpc.IdleLongest {
		return // It is a caller's.
	}
	f.strange.Warn(f.cfg.Logger, "connection to the OpenAPI front without a permitted call is closed", "address", peer, "reason", reason)
}

type connectionKey struct{}

// permitted asks RBAC, by the name of the action and by the patterns that stand for it.
func (f *Front) permitted(ctx context.Context, caller rpc.Caller, product openapi.Product, action string) error {
	leave, err := f.lookups.enter(ctx, caller.Name)
	if err != nil {
		return err
	}
	defer leave()
	if !f.asks.Take(caller.Name) { // What is under way at once never uses it up.
		return because(reasonRefusals, throttled(time.Second, "too many calls of the caller were refused by RBAC"))
	}
	err = f.cfg.Authorizer.AuthorizeAny(ctx, caller, Resource, Verb, f.names(product, action)...)
	if err == nil {
		f.asks.GiveBack(caller.Name)
	}
	return err
}

// names are those under which RBAC may allow an action: "ecs:DescribeInstances", "ecs:Describe*", "ecs:*".
func (f *Front) names(product openapi.Product, action string) []string {
	exact := string(product) + ":" + action
	if f.isAlone(exact) {
		return []string{exact}
	}
	word := action
	if next := strings.IndexFunc(action[1:], func(r rune) bool { return r >= 'A' && r <= 'Z' }); next >= 0 {
		word = action[:next+1]
	}
	return []string{exact, string(product) + ":" + word + "*", string(product) + ":*"}
}

func bounded(text string) string {
	const longest = 128
	return text[:min(longest, len(text))]
}
