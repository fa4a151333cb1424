// Package imds is the instance metadata service that programs on an ECS instance see at 100.100.100.200. It answers for the
// first instance of the cloud.
package imds

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/internal/keys"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// The headers of version 2.
const (
	tokenHeader    = "X-aliyun-ecs-metadata-token"             //nolint:gosec // the name of a header
	lifetimeHeader = "X-aliyun-ecs-metadata-token-ttl-seconds" //nolint:gosec // the name of a header
)

const maxTokenLife = 6 * time.Hour

// Config is what the service needs.
type Config struct {
	Region, Account string
	Role            string
	SessionDuration time.Duration
	V2Only          bool // requests without a token are refused
	Now             func() time.Time
	Keys            *keys.Store
	View            func(func(*state.Cloud))
}

// Service answers metadata requests.
type Service struct {
	Config
	mux *http.ServeMux

	mu     sync.Mutex
	tokens map[string]time.Time // when they expire
	issued keys.Key             // latest credentials of the role
}

// New returns the service.
func New(cfg Config) *Service {
	s := &Service{Config: cfg, mux: http.NewServeMux(), tokens: map[string]time.Time{}}
	s.mux.HandleFunc("PUT /latest/api/token", s.putToken)
	s.mux.HandleFunc("GET /latest/meta-data/ram/security-credentials", s.getRole)
	s.mux.HandleFunc("GET /latest/meta-data/ram/security-credentials/{$}", s.getRole)
	s.mux.HandleFunc("GET /latest/meta-data/ram/security-credentials/{role}", s.getCredentials)
	s.mux.HandleFunc("GET /latest/meta-data/Ram/security-credentials/{role}", s.getCredentials) // how aliyungo spells it
	s.mux.HandleFunc("GET /latest/meta-data/", s.getItem)
	s.mux.HandleFunc("GET /latest/dynamic/instance-identity/document", s.getIdentity)
	return s
}

// ServeHTTP checks the token of version 2 and answers.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPut && !s.admitted(r.Header.Get(tokenHeader)) {
		http.Error(w, "403 - Forbidden", http.StatusForbidden)
		return
	}
	s.mux.ServeHTTP(w, r)
}

func (s *Service) admitted(token string) bool {
	if token == "" {
		return !s.V2Only
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	expires, ok := s.tokens[token]
	return ok && s.Now().Before(expires)
}

func (s *Service) putToken(w http.ResponseWriter, r *http.Request) {
	seconds, err := strconv.Atoi(r.Header.Get(lifetimeHeader))
	life := time.Duration(seconds) * time.Second
	if err != nil || life <= 0 || life > maxTokenLife {
		http.Error(w, "400 - Bad Request", http.StatusBadRequest)
		return
	}
	token, now := rand.Text()+rand.Text(), s.Now()
	s.mu.Lock()
	maps.DeleteFunc(s.tokens, func(_ string, expires time.Time) bool { return !now.Before(expires) })
	s.tokens[token] = now.Add(life)
	s.mu.Unlock()
	writeText(w, token)
}

func (s *Service) getRole(w http.ResponseWriter, _ *http.Request) { writeText(w, s.Role) }

// getCredentials hands out the same credentials until half of their life is over.
func (s *Service) getCredentials(w http.ResponseWriter, r *http.Request) {
	if r.PathValue("role") != s.Role {
		http.NotFound(w, r)
		return
	}
	now := s.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.issued.Session == nil || s.issued.Session.Expires.Sub(now) < s.SessionDuration/2 {
		s.issued = s.Keys.Issue(s.Account, s.Role, "ecs-instance", now, now.Add(s.SessionDuration))
	}
	writeJSON(w, map[string]string{
		"AccessKeyId":     s.issued.ID,
		"AccessKeySecret": s.issued.Secret,
		"SecurityToken":   s.issued.Session.Token,
		"Expiration":      s.issued.Session.Expires.UTC().Format(time.RFC3339),
		"LastUpdated":     s.issued.Session.Expires.Add(-s.SessionDuration).UTC().Format(time.RFC3339),
		"Code":            "Success",
	})
}

func (s *Service) getItem(w http.ResponseWriter, r *http.Request) {
	items := s.items()
	name := strings.TrimPrefix(r.URL.Path, "/latest/meta-data/")
	if name == "" {
		writeText(w, strings.Join(append(slices.Sorted(maps.Keys(items)), "ram/"), "\n"))
		return
	}
	value, ok := items[strings.TrimSuffix(name, "/")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	writeText(w, value)
}

func (s *Service) getIdentity(w http.ResponseWriter, _ *http.Request) {
	items := s.items()
	writeJSON(w, map[string]string{
		"region-id": s.Region, "zone-id": items["zone-id"], "instance-id": items["instance-id"], "private-ipv4": items["private-ipv4"],
		"owner-account-id": s.Account,
	})
}

// items returns all flat items. What the cloud does not hold is left out.
func (s *Service) items() map[string]string {
	items := map[string]string{"region-id": s.Region, "owner-account-id": s.Account}
	s.View(func(c *state.Cloud) {
		var instance state.Instance
		if i := c.Instances[first(c.Instances)]; i != nil {
			instance = *i
		}
		vswitchID := cmp.Or(instance.VSwitchID, first(c.VSwitches))
		var vsw state.VSwitch
		if v := c.VSwitches[vswitchID]; v != nil {
			vsw = *v
		}
		items["instance-id"], items["hostname"] = instance.ID, instance.HostName
		items["instance/instance-type"] = instance.InstanceType
		items["vswitch-id"], items["vswitch-cidr-block"] = vswitchID, vsw.CidrBlock
		items["zone-id"] = cmp.Or(instance.ZoneID, vsw.ZoneID)
		items["vpc-id"] = cmp.Or(instance.VpcID, vsw.VpcID, first(c.Vpcs))
		if v := c.Vpcs[items["vpc-id"]]; v != nil {
			items["vpc-cidr-block"] = v.CidrBlock
		}
		if len(instance.PrivateIPs) > 0 {
			items["private-ipv4"] = instance.PrivateIPs[0]
		}
		for _, eni := range c.Interfaces {
			if eni.InstanceID == instance.ID && eni.Type == "Primary" {
				items["mac"] = eni.MacAddress
			}
		}
	})
	maps.DeleteFunc(items, func(_, value string) bool { return value == "" })
	return items
}

func first[V any](m map[string]V) string {
	if len(m) == 0 {
		return ""
	}
	return slices.Min(slices.Collect(maps.Keys(m)))
}

func writeText(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte(text)) // an error is that the client is gone
}

func writeJSON(w http.ResponseWriter, v map[string]string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(v) // strings only; the client may be gone
}
