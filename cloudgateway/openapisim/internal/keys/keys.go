// Package keys knows the AccessKeys that the simulated cloud accepts: those of the accounts, which live for ever, and
// temporary ones with a security token.
package keys

import (
	"crypto/rand"
	"strings"
	"sync"
	"time"
)

// Key is an AccessKey.
type Key struct {
	Account  string
	ID       string
	Secret   string
	Disabled bool
	Deny     []string // patterns of product:action
	Session  *Session // of a temporary key
}

// Session is what a temporary key stands for.
type Session struct {
	Token    string
	RoleName string
	Name     string
	Expires  time.Time
}

// Store holds all keys.
type Store struct {
	mu   sync.Mutex
	keys map[string]Key
}

// NewStore returns a store with the keys of accounts.
func NewStore(accounts ...Key) *Store {
	s := &Store{keys: map[string]Key{}}
	for _, k := range accounts {
		s.keys[k.ID] = k
	}
	return s
}

// Lookup finds a key.
func (s *Store) Lookup(id string) (Key, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k, ok := s.keys[id]
	return k, ok
}

// expiredKept is how long an expired key is still known, so that its owner learns that it has expired.
const expiredKept = 24 * time.Hour

// Issue makes a temporary key for a role of an account.
func (s *Store) Issue(account, role, name string, now, expires time.Time) Key {
	k := Key{
		Account: account,
		ID:      "STS." + rand.Text(),
		Secret:  rand.Text() + rand.Text(),
		Session: &Session{Token: strings.Repeat("CAIS", 4) + rand.Text() + rand.Text(), RoleName: role, Name: name, Expires: expires},
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, old := range s.keys {
		if old.Session != nil && now.Sub(old.Session.Expires) > expiredKept {
			delete(s.keys, id)
		}
	}
	s.keys[k.ID] = k
	return k
}
