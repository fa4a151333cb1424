package openapisim

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/internal/keys"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/wire"
	"alicloud-controllers.dev/cloudgateway/openapisim/limit"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// Account is a further account of a simulated cloud.
type Account struct {
	ID         string      `json:"id"`
	AccessKeys []AccessKey `json:"accessKeys"`
}

// Validate reports every mistake in the account.
func (a *Account) Validate() error {
	if a.ID == "" || len(a.AccessKeys) == 0 {
		return errors.New("id and accessKeys are required")
	}
	return nil
}

// place is an account in a region. Each has a cloud of its own; AccessKeys and clients' addresses are those of all.
type place struct{ account, region string }

// At returns the simulated cloud of an account in a region, or nil if there is none. Empty names stand for those of the first one.
func (s *Simulator) At(account, region string) *Simulator {
	return s.places[place{cmp.Or(account, s.account), cmp.Or(region, s.region)}]
}

// makePlaces makes the clouds of the other accounts and regions.
func (s *Simulator) makePlaces(cfg Config) error {
	for _, account := range append([]Account{{ID: cfg.Account}}, cfg.Accounts...) {
		for _, region := range append([]string{cfg.Region}, cfg.Regions...) {
			here := place{account.ID, region}
			if s.places[here] != nil {
				continue
			}
			other := cfg
			other.Account, other.Region, other.Seed, other.Dataplane = account.ID, region, nil, nil
			made, err := newPlace(other, s)
			if err != nil {
				return fmt.Errorf("account %s in %s: %w", account.ID, region, err)
			}
			s.places[here] = made
		}
	}
	ids := []string{cfg.Region}
	for _, region := range cfg.Regions {
		if !slices.Contains(ids, region) {
			ids = append(ids, region)
		}
	}
	for _, p := range s.places {
		p.regions = ids
	}
	return nil
}

// newKeys are the AccessKeys of all accounts.
func newKeys(cfg Config) *keys.Store {
	var all []keys.Key
	for _, account := range append([]Account{{ID: cfg.Account, AccessKeys: cfg.AccessKeys}}, cfg.Accounts...) {
		for _, k := range account.AccessKeys {
			all = append(all, keys.Key{Account: account.ID, ID: k.ID, Secret: k.Secret, Disabled: k.Disabled, Deny: k.Deny})
		}
	}
	return keys.NewStore(all...)
}

// routed serves an endpoint for every place: a request is for the account of its AccessKey and the region that it names, as a parameter
// or in the host name.
func (s *Simulator) routed(name string) http.Handler {
	if len(s.places) == 1 {
		return s.own[name]
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.placeOf(r).own[name].ServeHTTP(w, r)
	})
}

func (s *Simulator) placeOf(r *http.Request) *Simulator {
	request, _ := wire.Parse(r) // the product says what is wrong with it
	account, region := s.account, request.Values["RegionId"]
	if key, ok := s.keys.Lookup(request.AccessKeyID); ok {
		account = key.Account
	}
	for _, id := range s.regions {
		if region == "" && strings.Contains(r.Host, id) {
			region = id
		}
	}
	return cmp.Or(s.At(account, region), s.At(account, ""))
}

// serveAt serves what the admin endpoint has for another place: /at/REGION/… and /at/ACCOUNT/REGION/….
func (s *Simulator) serveAt(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.TrimPrefix(r.URL.Path, "/at/"), "/")
	for n := 1; n <= min(2, len(parts)); n++ {
		account, region := "", parts[n-1]
		if n == 2 {
			account = parts[0]
		}
		if found := s.At(account, region); found != nil && region != "" {
			http.StripPrefix("/at/"+strings.Join(parts[:n], "/"), found.own["admin"]).ServeHTTP(w, r)
			return
		}
	}
	http.Error(w, fmt.Sprintf("no such place: write /at/REGION/… or /at/ACCOUNT/REGION/… with a region of %s",
		strings.Join(s.regions, ", ")), http.StatusNotFound)
}

// Reset takes the cloud, and all others of the process, to where they were at the start: what they hold, settings, limits, faults, the
// clock and the journal. Temporary keys stay good.
func (s *Simulator) Reset() error {
	for _, p := range s.places {
		if err := p.reset(); err != nil {
			return err
		}
	}
	return nil
}

func (s *Simulator) reset() error {
	table, err := limit.Default()
	if err != nil {
		return err
	}
	s.RealTime()
	s.limiter.Reset(table, !s.cfg.LimitsOff)
	s.SetSettings(*s.cfg.Settings)
	s.retryAfter.Store(false)
	s.rateLimit.Store(false)
	if err := s.Restore(s.first); err != nil {
		return err
	}
	s.ClearCalls()
	return s.configure()
}

// begin gives the cloud what it holds from the start: what a former process kept, else the seed, else the small world.
func (s *Simulator) begin() error {
	kept, err := s.readState()
	seed := s.cfg.Seed
	if seed == nil && s.cfg.SmallWorld {
		seed, _ = SeedPlan{Region: s.region, Nodes: smallNodes, Zones: smallZones}.Generate() // the plan is a good one
	}
	switch {
	case err != nil:
		return err
	case kept != nil:
		err = s.Restore(kept)
	case seed != nil:
		err = s.Seed(seed)
	}
	if err != nil {
		return err
	}
	if s.first, err = s.Snapshot(); err != nil {
		return err
	}
	return s.configure()
}

// configure puts in force what the configuration says.
func (s *Simulator) configure() error {
	if s.cfg.Limits != nil {
		if err := s.applyLimits(*s.cfg.Limits); err != nil {
			return err
		}
	}
	return s.SetFaults(s.cfg.Faults...)
}

// The small world has one VPC with a vSwitch in each zone, and instances over them in turn.
const smallNodes, smallZones = 3, 2

// saveEvery is how often a changed cloud is written to the directory that keeps it.
const saveEvery = 5 * time.Second

func (s *Simulator) stateFile() string {
	return filepath.Join(s.cfg.StateDir, s.account+"-"+s.region+".json")
}

func (s *Simulator) readState() ([]byte, error) {
	if s.cfg.StateDir == "" {
		return nil, nil
	}
	content, err := os.ReadFile(s.stateFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // the first start
	}
	return content, err
}

// save writes what the cloud holds. A file that is there is replaced as a whole.
func (s *Simulator) save() error {
	snapshot, err := s.Snapshot()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.cfg.StateDir, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(s.stateFile()+".new", snapshot, 0o600); err != nil {
		return err
	}
	return os.Rename(s.stateFile()+".new", s.stateFile())
}

// keep saves the cloud whenever it has changed, and at the end.
func (s *Simulator) keep(done <-chan struct{}) {
	saved := ^uint64(0) // nothing yet
	save := func() {
		if now := s.Generation(); now != saved {
			if err := s.save(); err != nil {
				s.log.Error("the state can't be kept", "directory", s.cfg.StateDir, "error", err)
				return
			}
			saved = now
		}
	}
	ticker := time.NewTicker(saveEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			save()
		case <-done:
			save()
			return
		}
	}
}

// copyOf returns a copy of a state.
func copyOf(snapshot []byte, region, account string) (*state.Cloud, error) {
	copied := state.New(region, account)
	if err := json.Unmarshal(snapshot, copied); err != nil {
		return nil, fmt.Errorf("copy the state: %w", err)
	}
	return copied, nil
}
