package keys

import (
	"testing"
	"time"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func TestStore(t *testing.T) {
	t.Parallel()
	s := NewStore(Key{ID: "a", Secret: "s"})
	if k, ok := s.Lookup("a"); !ok || k.Secret != "s" {
		t.Errorf("%+v, %v", k, ok)
	}
	if _, ok := s.Lookup("b"); ok {
		t.Error("found a key that is not there")
	}
	first := s.Issue("1", "role", "session", epoch, epoch.Add(time.Hour))
	if k, ok := s.Lookup(first.ID); !ok || k.Session.Token == "" || k.Session.RoleName != "role" {
		t.Errorf("%+v, %v", k, ok)
	}
	second := s.Issue("1", "role", "session", epoch.Add(2*time.Hour), epoch.Add(3*time.Hour))
	if _, ok := s.Lookup(first.ID); !ok || first.ID == second.ID || first.Session.Token == second.Session.Token {
		t.Error("an expired key must stay known for a while, and keys must differ")
	}
	s.Issue("1", "role", "session", epoch.Add(48*time.Hour), epoch.Add(49*time.Hour))
	if _, ok := s.Lookup(first.ID); ok {
		t.Error("a key is kept for ever")
	}
}

func TestNonces(t *testing.T) {
	t.Parallel()
	n := NewNonces(30 * time.Minute)
	use := func(key, nonce string, after time.Duration, want bool) {
		t.Helper()
		if got := n.Use(key, nonce, epoch.Add(after)); got != want {
			t.Errorf("%s/%s after %v: %v, want %v", key, nonce, after, got, want)
		}
	}
	use("a", "1", 0, true)
	use("a", "1", 0, false)
	use("b", "1", 0, true)
	use("a", "2", 29*time.Minute, true)
	use("a", "3", 31*time.Minute, true)  // forgets nothing that is younger than 30 minutes
	use("a", "2", 58*time.Minute, false) // 29 minutes old
	use("a", "4", 2*time.Hour, true)
	use("a", "2", 3*time.Hour, true) // nothing is remembered for ever
}
