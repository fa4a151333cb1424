package front

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"alicloud-controllers.dev/services/config"
	"alicloud-controllers.dev/services/logging"

	"alicloud-controllers.dev/cloudgateway/internal/rpc"
)

const (
	leastSecret = 16
	mostKeys    = 256
	// mostSessionSecrets is the present one, and former ones.
	mostSessionSecrets = 4
	longestWait        = 5 * time.Minute
	// lookAgain is how long a change of the file may be overlooked.
	lookAgain = time.Second
)

// Key is a key pair, as the file has it.
type Key struct {
	// ID stands for the AccessKey id of the tool.
	ID string `json:"id"`
	// Secret stands for the AccessKey secret.
	Secret logging.Secret `json:"secret"`
	// User is who calls with it, e.g. "system:serviceaccount:tools:terraform".
	User string `json:"user"`
	// Groups of the user. Those that Kubernetes gives are added.
	Groups []string `json:"groups"`
	// Wait is how long a call of the tool may be held up, instead of that of the configuration. It should be a little less
	// than the tool's time-out.
	Wait config.Duration `json:"wait"`
	// UID is that of the ServiceAccount which the user is. If it is set, another ServiceAccount of the same name is
	// another user.
	UID string `json:"uid"`
	// until is the end of a session; zero: it is a pair of the file.
	until time.Time
}

// uses is the name under which its nonces are kept. All sessions of a user are one, who could have any number of them.
func (k Key) uses() string {
	if k.until.IsZero() {
		return k.ID
	}
	return "session of " + k.User
}

// caller is the identity, with the groups that Kubernetes would give it.
func (k Key) caller() rpc.Caller {
	groups := append(slices.Clone(k.Groups), "system:authenticated")
	if namespace, _, ok := k.serviceAccount(); ok {
		groups = append(groups, "system:serviceaccounts", "system:serviceaccounts:"+namespace)
	}
	return rpc.Caller{Name: k.User, UID: k.UID, Groups: groups}
}

// serviceAccount gives the ServiceAccount that the user is.
func (k Key) serviceAccount() (namespace, name string, ok bool) {
	rest, ok := strings.CutPrefix(k.User, "system:serviceaccount:")
	namespace, name, _ = strings.Cut(rest, ":")
	return namespace, name, ok && namespace != "" && name != "" && !strings.Contains(name, ":")
}

// file is the file of key pairs.
type file struct {
	// Keys are the pairs. Several may be of one user, so that a pair can be replaced without a gap.
	Keys []Key `json:"keys"`
	// SessionSecrets let ServiceAccounts have sessions by AssumeRoleWithOIDC, if a role lets them call
	// sts:AssumeRoleWithOIDC. The first signs them, all are accepted, so that one can be replaced without a gap. If there
	// is none, there are no sessions.
	SessionSecrets []logging.Secret `json:"sessionSecrets"`
}

// keyring has the key pairs. It reads the file anew when that has changed; while it can't be read, the last good one counts.
type keyring struct {
	path    string
	refused []string // users that may have none
	log     *slog.Logger
	bad     logging.Occasional
	failed  atomic.Bool // the file can't be read at present

	mu     sync.Mutex
	looked time.Time
	stamp  string
	keys   map[string]Key
	seals  []string // the secrets of sessions
}

// newKeyring reads the file for the first time.
func newKeyring(path string, refused []string, log *slog.Logger) *keyring {
	k := &keyring{path: path, refused: refused, log: log}
	k.renew()
	return k
}

// find gives the key pair with an id.
func (k *keyring) find(id string) (Key, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.look()
	found, ok := k.keys[id]
	return found, ok
}

// unread is an error while the file can't be read, nil otherwise. Who is not in the former one may be in the file, and
// has to come again: see missing.
func (k *keyring) unread() error {
	if !k.failed.Load() {
		return nil
	}
	r := refuse(http.StatusServiceUnavailable, "ServiceUnavailable", "the gateway can't read its key pairs at present; its log says why")
	r.after = time.Second
	return r
}

// sessionSecrets gives the secrets of sessions.
func (k *keyring) sessionSecrets() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.look()
	return k.seals
}

// look reads the file if it was not looked at of late.
func (k *keyring) look() {
	if now := time.Now(); now.Sub(k.looked) >= lookAgain {
		k.looked = now
		k.renew()
	}
}

func (k *keyring) renew() {
	stamp := stampOf(k.path)
	if stamp == k.stamp {
		k.failed.Store(false) // It may have been away, and is back.
		return
	}
	keys, seals, err := k.load()
	k.failed.Store(err != nil)
	if err != nil {
		k.bad.Warn(k.log, "the key pairs of the OpenAPI front can't be read, the former ones count", "keys", len(k.keys), "error", err)
		return
	}
	k.keys, k.seals, k.stamp = keys, seals, stamp
	k.log.Info("the key pairs of the OpenAPI front have changed", "keys", len(keys))
}

// stampOf changes when the file does. A Secret's volume is replaced as a whole, so that its file never changes in place.
func stampOf(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(info.ModTime().UnixNano(), info.Size())
}

func (k *keyring) load() (keys map[string]Key, seals []string, err error) {
	var f file
	if err := config.Load(k.path, &f); err != nil {
		return nil, nil, err
	}
	var p config.Problems
	if len(f.Keys) > mostKeys {
		p.Addf("keys", "there are %d, more than %d", len(f.Keys), mostKeys)
	}
	keys = make(map[string]Key, len(f.Keys))
	secrets := make(map[logging.Secret]bool, len(f.Keys))
	for i, key := range f.Keys {
		at := fmt.Sprintf("keys[%d]", i)
		if _, twice := keys[key.ID]; twice {
			p.Addf(at+".id", "%q is there twice", key.ID)
		}
		if secrets[key.Secret] { // Version 3 of the signature does not cover the id: a request would count once for each of them.
			p.Addf(at+".secret", "is that of another pair; make one with: openssl rand -hex 20")
		}
		key.validate(&p, at, k.refused)
		keys[key.ID], secrets[key.Secret] = key, true
	}
	for i, secret := range f.SessionSecrets {
		at := fmt.Sprintf("sessionSecrets[%d]", i)
		switch {
		case len(secret) < leastSecret:
			p.Addf(at, "is shorter than %d characters; make one with: openssl rand -hex 20", leastSecret)
		case secrets[secret]: // A tool knows it.
			p.Addf(at, "is that of a key pair, or is there twice; make one with: openssl rand -hex 20")
		case i >= mostSessionSecrets:
			p.Addf(at, "is more than %d", mostSessionSecrets)
		}
		secrets[secret] = true
		seals = append(seals, string(secret))
	}
	if err := p.Err(); err != nil {
		return nil, nil, fmt.Errorf("key pairs %s: %w", k.path, err)
	}
	return keys, seals, nil
}

// validate notes what is wrong. A key pair must not stand for what Kubernetes itself or the controllers are.
func (k Key) validate(p *config.Problems, at string, refused []string) {
	if !plainID.MatchString(k.ID) {
		p.Addf(at+".id", "%q is not 1 to 64 letters, digits, dots, dashes and underscores", k.ID)
	}
	if len(k.Secret) < leastSecret {
		p.Addf(at+".secret", "is shorter than %d characters; make one with: openssl rand -hex 20", leastSecret)
	}
	_, _, account := k.serviceAccount()
	switch {
	case k.User == "" || strings.HasPrefix(k.User, "system:") && !account:
		p.Addf(at+".user",
			`%q is not a user such as "system:serviceaccount:NAMESPACE:NAME"; other names with "system:" are for Kubernetes itself`, k.User)
	case slices.Contains(refused, k.User):
		p.Addf(at+".user", "%q is a controller of this cluster, which calls the gateway's own API", k.User)
	}
	for j, group := range k.Groups {
		if group == "" || strings.HasPrefix(group, "system:") {
			p.Addf(fmt.Sprintf("%s.groups[%d]", at, j), "%q can't be given", group)
		}
	}
	if k.Wait != 0 && (k.Wait < config.Duration(time.Second) || k.Wait > config.Duration(longestWait)) {
		p.Addf(at+".wait", "%s is not in 1s to %s", k.Wait, longestWait)
	}
}
