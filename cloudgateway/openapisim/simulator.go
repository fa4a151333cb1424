// Package openapisim simulates the parts of Alibaba Cloud that Kubernetes controllers use: the OpenAPI of SLB, VPC, ECS, STS and
// Location with signatures, limits, transitions and faults, and the instance metadata service. Clients can distinguish it from
// the cloud only by the address.
//
// A [Simulator] is used in a process of its own (cmd/openapisim) or inside a test (package openapisimtest). What it holds is
// one [state.Cloud]: one account in one region. A process can have several, see [Simulator.At]. Everything that takes
// time in the cloud takes time on a virtual clock; only what concerns authentication (timestamps, nonces, security
// tokens) follows the real one, since clients do.
package openapisim

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/certs"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/clock"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/imds"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/keys"
	"alicloud-controllers.dev/cloudgateway/openapisim/journal"
	"alicloud-controllers.dev/cloudgateway/openapisim/limit"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// The AccessKey that is accepted when the configuration names none.
const (
	DefaultAccessKeyID     = "LTAI5tSimulatedCloud0000"
	DefaultAccessKeySecret = "simulated-cloud-access-key-secret"
)

// journalCapacity is the number of calls that are kept for sure, about 150 MB.
const journalCapacity = 100_000

// Config describes a simulated cloud. The zero value is a complete one.
type Config struct {
	Region     string          // default cn-hangzhou
	Account    string          // default 1000000000000001
	AccessKeys []AccessKey     // of the account; default: the default one
	Regions    []string        // further ones
	Accounts   []Account       // further ones
	Settings   *api.Settings   // default api.DefaultSettings()
	LimitsOff  bool            // no rate limits; they can be switched on later
	Limits     *LimitsDocument // limits and settings that differ from the others here
	Faults     []fault.Rule    // in force from the start
	Seed       *state.Cloud    // what the cloud holds from the start, as for [Simulator.Seed]
	// ShortIDs are such as lb-1 and rsp-2, numbered for each kind, for tests that people read. A snapshot doesn't keep the numbers.
	ShortIDs bool
	// SmallWorld lets every cloud without a seed begin with a VPC, two vSwitches and three instances.
	SmallWorld bool
	// StateDir is a directory that keeps what the clouds hold for the next start, which begins with it instead of the seed; and the
	// certificate authority of the TLS endpoint, unless CertificateDir does. Empty: all is gone with the process.
	StateDir string
	// AnyCredentials takes every AccessKey, known or not, for one of the first account, and doesn't check signatures.
	AnyCredentials bool

	Role            string        // RAM role of the instances; default KubernetesWorkerRole
	Roles           []string      // further RAM roles that can be assumed; none: any role can
	SessionDuration time.Duration // life of temporary keys from the metadata service; default 6 h
	MetadataV2Only  bool          // the metadata service insists on a token

	// Dataplane lets load balancers carry traffic, with addresses out of its ranges: dataplane.Ranges, or a pointer to such. Linux only.
	Dataplane api.Carrier
	// Console makes what people see at /console of the admin API, for the names of the products; nil: nothing. See package console.
	Console func(cloud Shown, products []string) (http.Handler, error)

	// CertificateDir keeps the certificate authority of the TLS endpoint.
	CertificateDir string

	Now    func() time.Time // the real time; default time.Now
	Logger *slog.Logger     // default: nothing is logged
}

// roles are those that can be assumed, or nil for any.
func (c *Config) roles() []string {
	if len(c.Roles) == 0 {
		return nil
	}
	return append(slices.Clone(c.Roles), c.Role)
}

func (c *Config) setDefaults() {
	setDefault(&c.Region, "cn-hangzhou")
	setDefault(&c.Account, "1000000000000001")
	setDefault(&c.Role, "KubernetesWorkerRole")
	if len(c.AccessKeys) == 0 {
		c.AccessKeys = []AccessKey{{ID: DefaultAccessKeyID, Secret: DefaultAccessKeySecret}}
	}
	if c.Settings == nil {
		s := api.DefaultSettings()
		c.Settings = &s
	}
	setDefault(&c.CertificateDir, c.StateDir)
	if c.SessionDuration == 0 {
		c.SessionDuration = 6 * time.Hour
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
}

func setDefault(s *string, value string) {
	if *s == "" {
		*s = value
	}
}

// Simulator is a simulated cloud. Its methods are safe for concurrent use.
type Simulator struct {
	cfg             Config
	region, account string
	realNow         func() time.Time
	log             *slog.Logger
	places          map[place]*Simulator // all of the process, this one among them
	regions         []string             // of all places
	first           []byte               // what the cloud held at the start

	console   http.Handler
	own       map[string]http.Handler // by endpoint name, for this place
	handlers  map[string]http.Handler // for all places
	listeners map[string]net.Listener // of a started simulator
	serving   sync.WaitGroup

	authority *certs.Authority // of the TLS endpoint

	clock    *clock.Clock
	keys     *keys.Store
	nonces   *keys.Nonces
	limiter  *limit.Limiter
	faults   *fault.Set
	journal  *journal.Journal
	settings atomic.Pointer[api.Settings]
	// retryAfter makes answers to throttled calls say in a header how long to wait; not all of the cloud does.
	retryAfter atomic.Bool
	// rateLimit makes all answers say what is left of the limit, as X-RateLimit-User-API does.
	rateLimit atomic.Bool

	products []*settling   // guarded by mu, but for what never changes
	traffic  *api.Traffic  // nil without a data plane
	plane    api.Plane     // nil without a data plane
	changes  atomic.Uint64 // counts what may have changed the state

	partial sync.Mutex // held by the request that changes a part of the settings

	mu      sync.Mutex      // guards what follows
	held    map[string]bool // by writes whose answers are not sent yet
	cloud   *state.Cloud
	counts  map[string]int64 // of what was made, by kind, if ids are short
	watcher *Watcher
}

// New returns a simulator that is not listening yet.
func New(cfg Config) (*Simulator, error) {
	cfg.setDefaults()
	s, err := newPlace(cfg, nil)
	if err != nil {
		return nil, err
	}
	if err := s.makePlaces(cfg); err != nil {
		return nil, err
	}
	front := http.HandlerFunc(s.serveFront)
	s.handlers = map[string]http.Handler{
		"admin": s.own["admin"], "metadata": s.own["metadata"], frontEndpoint: front, tlsEndpoint: front,
	}
	for _, p := range s.products {
		s.handlers[p.Name] = s.routed(p.Name)
	}
	return s, nil
}

// newPlace returns the cloud of one account in one region. Home is the first one of the process, nil for that one itself.
func newPlace(cfg Config, home *Simulator) (*Simulator, error) {
	table, err := limit.Default()
	if err != nil {
		return nil, err
	}
	s := &Simulator{
		cfg: cfg, regions: []string{cfg.Region}, region: cfg.Region, account: cfg.Account, realNow: cfg.Now, log: cfg.Logger,
		listeners: map[string]net.Listener{},
		clock:     clock.New(cfg.Now),
		limiter:   limit.New(table, !cfg.LimitsOff),
		journal:   journal.New(journalCapacity),
		cloud:     state.New(cfg.Region, cfg.Account),
		held:      map[string]bool{},
	}
	if home == nil {
		s.keys, s.nonces, s.places = newKeys(cfg), keys.NewNonces(2*timestampWindow), map[place]*Simulator{{cfg.Account, cfg.Region}: s}
	} else {
		s.keys, s.nonces, s.places, s.clock = home.keys, home.nonces, home.places, home.clock
	}
	var names []string
	limits := func() limit.Table {
		_, table := s.limiter.Get()
		return table
	}
	for _, p := range products(sessions{store: s.keys, now: cfg.Now, account: cfg.Account, roles: cfg.roles()}, s.location, limits) {
		s.products, names = append(s.products, &settling{Product: p}), append(names, p.Name)
	}
	s.faults = fault.NewSet(s.copyState)
	s.settings.Store(cfg.Settings)
	if cfg.Dataplane != nil {
		if s.plane, err = cfg.Dataplane.Plane(s, s.log); err != nil {
			return nil, err
		}
		s.traffic = s.plane.Traffic()
	}
	if home == nil {
		if s.authority, err = newAuthority(cfg); err != nil {
			return nil, err
		}
	}
	metadata := imds.New(imds.Config{
		Region: cfg.Region, Account: cfg.Account, Role: cfg.Role, V2Only: cfg.MetadataV2Only,
		SessionDuration: cfg.SessionDuration, Now: cfg.Now, Keys: s.keys, View: s.View,
	})
	if s.console, err = s.newConsole(names); err != nil {
		return nil, err
	}
	s.own = map[string]http.Handler{"metadata": metadata, "admin": s.adminHandler()}
	for _, p := range s.products {
		s.own[p.Name] = s.newProduct(p)
	}
	return s, s.begin()
}

func newAuthority(cfg Config) (*certs.Authority, error) {
	if cfg.CertificateDir != "" {
		return certs.Load(cfg.CertificateDir, cfg.Now())
	}
	return certs.New(cfg.Now())
}

// Handler returns what serves an endpoint: slb, vpc, ecs, sts, location, nlb, metadata, admin, or all and tls, which serve
// the others at one port. It returns nil for other names.
func (s *Simulator) Handler(name string) http.Handler { return s.handlers[name] }

// View calls f with the state, in which all transitions that have ended are complete. F must neither change nor keep it.
func (s *Simulator) View(f func(*state.Cloud)) {
	s.look(func(c *api.Context) { f(c.State) })
}

// look is View for code that needs to know more than the state.
func (s *Simulator) look(f func(*api.Context)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.context()
	if s.settleAll(now) {
		s.show(false)
	}
	f(now)
}

// context is that of code that looks at the state directly. The caller holds the lock.
func (s *Simulator) context() *api.Context {
	return &api.Context{
		State: s.cloud, Now: s.clock.Now(), Account: s.account, Region: s.region, Regions: s.regions, Settings: s.settings.Load(),
		Traffic: s.traffic, Count: s.count(),
	}
}

// Update calls f with the state, for changes behind the back of the API. F must not keep it.
func (s *Simulator) Update(f func(*state.Cloud)) {
	s.look(func(c *api.Context) {
		f(c.State)
		s.touched()
		s.settleAll(c)
		s.show(true)
	})
}

// Hold keeps calls away and returns the state, which the caller may change behind the back of the API until Release.
func (s *Simulator) Hold() *state.Cloud {
	s.mu.Lock()
	if s.settleAll(s.context()) {
		s.show(false)
	}
	return s.cloud
}

// Release lets calls in again after Hold.
func (s *Simulator) Release() {
	s.touched()
	s.settleAll(s.context())
	s.show(true)
	s.mu.Unlock()
}

// Snapshot returns the state as JSON. The same state gives the same text.
func (s *Simulator) Snapshot() (snapshot []byte, err error) {
	s.View(func(c *state.Cloud) { snapshot, err = json.Marshal(c) })
	if err != nil {
		return nil, fmt.Errorf("encode the state: %w", err)
	}
	return snapshot, nil
}

// copyState returns a copy of the state.
func (s *Simulator) copyState() (*state.Cloud, error) {
	snapshot, err := s.Snapshot()
	if err != nil {
		return nil, err
	}
	return copyOf(snapshot, s.region, s.account)
}

// Restore replaces the state by a snapshot.
func (s *Simulator) Restore(snapshot []byte) error {
	loaded := state.Cloud{Region: s.region, Account: s.account}
	if err := strictJSON(snapshot, &loaded); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	if loaded.Region != s.region || loaded.Account != s.account {
		return fmt.Errorf("snapshot: it is of account %s in %s, not of %s in %s", loaded.Account, loaded.Region, s.account, s.region)
	}
	if err := loaded.Check(); err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	cloud := state.New(s.region, s.account)
	cloud.Add(&loaded) // the snapshot may lack maps
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cloud = cloud
	s.touched()
	return nil
}

// Calls returns the calls with a number above since.
func (s *Simulator) Calls(since int64) []journal.Call {
	calls, _ := s.journal.Since(since)
	return calls
}

// ClearCalls empties the journal.
func (s *Simulator) ClearCalls() { s.journal.Clear() }

// SetFaults puts fault rules in force, instead of those that were.
func (s *Simulator) SetFaults(rules ...fault.Rule) error {
	return s.faults.Replace(rules, s.clock.Now())
}

// AddFaults puts more fault rules in force, beside those that were.
func (s *Simulator) AddFaults(rules ...fault.Rule) error {
	return s.faults.Add(rules, s.clock.Now())
}

// Faults returns the fault rules in force and how often each struck.
func (s *Simulator) Faults() []fault.Rule { return s.faults.Rules() }

// EnableLimits switches the rate limits on or off.
func (s *Simulator) EnableLimits(on bool) { s.limiter.Enable(on) }

// SetLimits changes rate limits, by "product/action".
func (s *Simulator) SetLimits(table limit.Table) error {
	_, known := s.limiter.Get()
	var problems []error
	for _, action := range slices.Sorted(maps.Keys(table)) {
		if _, limited := known[action]; !limited && !s.simulates(action) {
			problems = append(problems, fmt.Errorf("limit of %s: there is no such action; an example of one is slb/CreateVServerGroup", action))
		}
		if err := table[action].Validate(); err != nil {
			problems = append(problems, fmt.Errorf("limit of %s: %w", action, err))
		}
	}
	if err := errors.Join(problems...); err != nil {
		return err
	}
	s.limiter.Set(table)
	return nil
}

// simulates reports whether there is an action, given as product/action.
func (s *Simulator) simulates(action string) bool {
	name, action, _ := strings.Cut(action, "/")
	p, ok := s.own[name].(*product)
	return ok && p.actions[action] != nil
}

// Settings returns the settings in force.
func (s *Simulator) Settings() api.Settings { return *s.settings.Load() }

// SetSettings changes the settings.
func (s *Simulator) SetSettings(settings api.Settings) { s.settings.Store(&settings) }

// Now returns the time of the virtual clock.
func (s *Simulator) Now() time.Time { return s.clock.Now() }

// SetTime stops the virtual clock at a time.
func (s *Simulator) SetTime(t time.Time) { s.clock.Set(t) }

// Advance moves the virtual clock.
func (s *Simulator) Advance(d time.Duration) { s.clock.Advance(d) }

// RealTime lets the virtual clock run with the real time again.
func (s *Simulator) RealTime() { s.clock.Real() }
