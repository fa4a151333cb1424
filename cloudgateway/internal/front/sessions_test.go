package front

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"alicloud-controllers.dev/cloudgateway/internal/rpc"
)

const seals = "0123456789abcdef"

// TestSessions: a session is opened with the secret that it was made with, says what was said, and ends when it was to.
func TestSessions(t *testing.T) {
	t.Parallel()
	of := ticket{ID: "STS.1", User: "system:serviceaccount:tools:tool", UID: "u", Until: 1_800_000_000}
	key, token := issue(seals, of)
	got, err := open([]string{"another-0123456789", seals}, token)
	if err != nil || got.ID != key.ID || got.User != key.User || got.UID != key.UID ||
		got.Secret != key.Secret || !got.until.Equal(key.until) {
		t.Errorf("opened %+v, %v, want %+v", got, err, key)
	}
	if string(key.Secret) == seals || len(key.Secret) != 64 {
		t.Errorf("its secret has %d characters", len(key.Secret))
	}
	if other, _ := issue("another-0123456789", of); other.Secret == key.Secret {
		t.Error("its secret is that of another gateway's")
	}
	for n := range token { // The last letter has bits that count for nothing.
		spoilt := []byte(token)
		spoilt[n] ^= 1
		if got, err := open([]string{seals}, string(spoilt)); err == nil && (got.ID != key.ID || got.User != key.User) {
			t.Errorf("with letter %d changed it opens as %+v", n, got)
		}
	}
	if _, err := open(nil, token); err == nil {
		t.Error("it opens without a secret")
	}
	s := &session{Front: &Front{cfg: Config{Refused: []string{"system:serviceaccount:kube-system:lbcontroller"}}, keys: ring(t)}}
	for _, tt := range []struct {
		name string
		of   ticket
		id   string
		now  time.Time
		want string
	}{
		{"in time", of, "STS.1", time.Unix(of.Until-1, 0), ""},
		{"at its end", of, "STS.1", time.Unix(of.Until, 0), "InvalidSecurityToken.Expired"},
		{"long after", of, "STS.1", time.Unix(of.Until, 0).Add(time.Hour), "InvalidSecurityToken.Expired"},
		{"of another key", of, "STS.2", time.Unix(0, 0), "InvalidSecurityToken.MismatchWithAccessKey"},
		{"of a person", ticket{ID: "STS.1", User: "admin@example.com", UID: "u", Until: of.Until}, "STS.1", time.Unix(0, 0), "Forbidden.RAM"},
		{"of Kubernetes", ticket{ID: "STS.1", User: "system:admin", UID: "u", Until: of.Until}, "STS.1", time.Unix(0, 0), "Forbidden.RAM"},
		{"of no ServiceAccount that one knows", ticket{ID: "STS.1", User: of.User, Until: of.Until}, "STS.1", time.Unix(0, 0), "Forbidden.RAM"},
		{"of a controller since", ticket{ID: "STS.1", User: "system:serviceaccount:kube-system:lbcontroller", UID: "u", Until: of.Until}, "STS.1",
			time.Unix(0, 0), "Forbidden.RAM"},
	} {
		_, token := issue(seals, tt.of)
		_, err := s.found(&request{token: token, keyID: tt.id}, tt.now)
		refused, _ := errors.AsType[*refusal](err)
		if tt.want == "" && err != nil || tt.want != "" && (refused == nil || refused.code != tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

func ring(t *testing.T) *keyring {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keys.yaml")
	if err := os.WriteFile(path, []byte("sessionSecrets: ["+seals+"]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return newKeyring(path, nil, slog.New(slog.DiscardHandler))
}

// TestSessionEndsWithTheToken: it is as long as was asked for, an hour at most, and never longer than the token.
func TestSessionEndsWithTheToken(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ asked, token, want time.Duration }{
		{time.Hour, 0, time.Hour}, {15 * time.Minute, 0, 15 * time.Minute}, {time.Hour, 20 * time.Minute, 20 * time.Minute},
		{time.Hour, 12 * time.Hour, time.Hour},
	} {
		var until time.Time
		if tt.token > 0 {
			until = time.Now().Add(tt.token)
		}
		s := &session{Front: &Front{keys: ring(t), gives: rpc.Peers{Burst: 1, PerSecond: 1}, cfg: Config{
			Tokens: func(context.Context, string) (rpc.Caller, time.Time, error) {
				return rpc.Caller{Name: "system:serviceaccount:tools:tool", UID: "u"}, until, nil
			},
			Account: func(context.Context, string, string) (bool, string, error) { return true, "u", nil },
		}}}
		c := &call{request: &request{exchange: &exchange{token: "t", life: tt.asked}}}
		if err := s.identified(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		answer, err := s.give(c)
		if err != nil || answer.Status != 200 {
			t.Fatal(answer, err)
		}
		end := must(time.Parse("Expiration="+timeForm, c.made[1]))
		if left := time.Until(end); left > tt.want || left < tt.want-10*time.Second {
			t.Errorf("asked for %s with a token for %s: %s", tt.asked, tt.token, left)
		}
	}
}

// TestNoncesOfSessions: a user with any number of sessions has the part of one key pair.
func TestNoncesOfSessions(t *testing.T) {
	t.Parallel()
	user := func(id, user string) string { return Key{ID: id, User: user, until: time.Unix(1, 0)}.uses() }
	if user("STS.1", "a") != user("STS.2", "a") || user("STS.1", "a") == user("STS.1", "b") || (Key{ID: "a"}).uses() != "a" {
		t.Error("sessions have parts of their own")
	}
}
