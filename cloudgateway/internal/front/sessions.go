package front

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/logging"

	"alicloud-controllers.dev/cloudgateway/internal/openapi"
)

// assume is the action of STS by which a tool turns the token of its ServiceAccount into a session: an access key with a security
// token and an end. Its request has no signature, since the token is the identity. Names, bounds and answer are those of
// help.aliyun.com/en/ram/developer-reference/api-sts-2015-04-01-assumerolewithoidc (September 2026); what the clients send is that of
// github.com/aliyun/credentials-go v1.4.5.
const assume = "AssumeRoleWithOIDC"

const (
	// leastSession is the shortest that the cloud gives, and longestSession the longest here: a session outlives a pod by that at most.
	leastSession   = 15 * time.Minute
	longestSession = time.Hour
	// mostSecurityToken is far above the names that are in one.
	mostSecurityToken = 2048
)

// exchange is what a tool shows and wants for a session.
type exchange struct {
	token string
	life  time.Duration
	role  string // for the answer: the gateway's own identity calls the cloud
	name  string
	until time.Time // the end of the token
}

// asksForSession reports whether a request without an Authorization asks for a session.
func (req *request) asksForSession(h http.Header) bool {
	all := req.all()
	return all["Signature"] == "" && (all["Action"] == assume || all["Action"] == "" && h.Get("X-Acs-Action") == assume)
}

// readExchange reads what is needed for a session. A policy that is to make it weaker is refused: to leave it out would give more
// than was asked for.
func (req *request) readExchange(h http.Header) error {
	all := req.all()
	req.action, req.version = assume, all["Version"]
	if req.version == "" {
		req.version = h.Get("X-Acs-Version")
	}
	req.xml = strings.EqualFold(all["Format"], "XML")
	x := &exchange{token: strings.TrimSpace(all["OIDCToken"]), life: longestSession, role: all["RoleArn"], name: all["RoleSessionName"]}
	req.exchange = x
	delete(req.query, "OIDCToken") // Nothing may log it.
	delete(req.form, "OIDCToken")
	if text := all["DurationSeconds"]; text != "" {
		seconds, err := strconv.Atoi(text)
		if err != nil || seconds < int(leastSession/time.Second) {
			return refuse(http.StatusBadRequest, "InvalidParameter.DurationSeconds", "DurationSeconds is no number of at least 900")
		}
		x.life = time.Duration(min(seconds, int(longestSession/time.Second))) * time.Second
	}
	switch {
	case x.token == "":
		return refuse(http.StatusBadRequest, "InvalidParameter.OIDCToken", "OIDCToken is missing")
	case all["Policy"] != "":
		return refuse(http.StatusBadRequest, "InvalidParameter.Policy", "the gateway makes no session weaker; leave Policy out")
	}
	return nil
}

// identified finds out whose token it is. Only a ServiceAccount has a session, as it may have a key pair.
func (s *session) identified(ctx context.Context, c *call) error {
	if len(s.keys.sessionSecrets()) == 0 {
		if err := s.keys.unread(); err != nil {
			return err
		}
		return refuse(http.StatusForbidden, "Forbidden.RAM", "the gateway gives no sessions: its file of key pairs has no sessionSecrets")
	}
	x := c.request.exchange
	caller, until, err := s.cfg.Tokens(ctx, x.token)
	x.token = ""
	switch {
	case rpcerr.ReasonOf(err) == rpcerr.CallerUnauthenticated:
		e, _ := rpcerr.From(err)
		return refuse(http.StatusBadRequest, "AuthenticationFail.OIDCToken.Invalid", e.Message)
	case err != nil:
		return err
	}
	key := Key{User: caller.Name, UID: caller.UID}
	if !key.isPod() {
		return refuse(http.StatusForbidden, "Forbidden.RAM", "only ServiceAccounts have sessions")
	}
	if slices.Contains(s.cfg.Refused, key.User) {
		return refuse(http.StatusForbidden, "Forbidden.RAM", "a controller of this cluster calls the gateway's own API")
	}
	c.key, x.until = key, until
	if !s.gives.Take(key.User) { // Each is a line of the audit log.
		return because(reasonSessions, throttled(time.Second, "the caller was given too many sessions of late; one is good for an hour"))
	}
	return s.lives(ctx, key)
}

// isPod reports whether it is of a ServiceAccount, with whom it ends, and not with one of the same name.
func (k Key) isPod() bool {
	_, _, ok := k.serviceAccount()
	return ok && k.UID != ""
}

// ticket is what a security token says. It is signed and no secret: the tool knows who it is.
type ticket struct {
	ID    string `json:"id"` // of the access key
	User  string `json:"user"`
	UID   string `json:"uid"`
	Until int64  `json:"until"`
}

// seal signs what is said, for a purpose, with a secret of the file of key pairs.
func seal(secret, purpose, said string) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	_, _ = mac.Write([]byte(purpose + "\n" + said)) // A hash never fails.
	return mac.Sum(nil)
}

// The purposes of seals.
const (
	forToken  = "security token"
	forSecret = "access key secret" //nolint:gosec // It is what the seal is for.
)

var errNoSession = errors.New("no session")

// issue makes a key pair with a security token. Whoever has the secret of the file can tell them from the token alone, so that another
// replica takes them, too, and nothing has to be remembered.
func issue(secret string, of ticket) (key Key, token string) {
	text, err := json.Marshal(of)
	if err != nil {
		panic(err) // Strings and a number can be written.
	}
	said := base64.RawURLEncoding.EncodeToString(text)
	token = said + "." + base64.RawURLEncoding.EncodeToString(seal(secret, forToken, said))
	return keyOf(secret, said, of), token
}

func keyOf(secret, said string, of ticket) Key {
	return Key{ID: of.ID, User: of.User, UID: of.UID, until: time.Unix(of.Until, 0),
		Secret: logging.Secret(hex.EncodeToString(seal(secret, forSecret, said)))}
}

// open reads a security token.
func open(secrets []string, token string) (Key, error) {
	said, sum, _ := strings.Cut(token, ".")
	given, err := base64.RawURLEncoding.DecodeString(sum)
	if err != nil || len(token) > mostSecurityToken {
		return Key{}, errNoSession
	}
	for _, secret := range secrets {
		if !hmac.Equal(seal(secret, forToken, said), given) {
			continue
		}
		var of ticket
		if text, err := base64.RawURLEncoding.DecodeString(said); err == nil && json.Unmarshal(text, &of) == nil {
			return keyOf(secret, said, of), nil
		}
	}
	return Key{}, errNoSession
}

// found is the key pair that a request is signed with: one of the file, or that of a session.
func (s *session) found(req *request, now time.Time) (Key, error) {
	if req.token == "" {
		if key, known := s.keys.find(req.keyID); known {
			return key, nil
		}
		if err := s.keys.unread(); err != nil {
			return Key{}, err
		}
		return Key{}, refuse(http.StatusNotFound, "InvalidAccessKeyId.NotFound", "Specified access key is not found.")
	}
	key, err := open(s.keys.sessionSecrets(), req.token)
	switch {
	case err != nil && s.keys.unread() != nil:
		return Key{}, s.keys.unread()
	case err != nil:
		return Key{}, refuse(http.StatusBadRequest, "InvalidSecurityToken.Malformed", "Specified SecurityToken is malformed.")
	case key.ID != req.keyID:
		return Key{}, refuse(http.StatusBadRequest, "InvalidSecurityToken.MismatchWithAccessKey",
			"Specified SecurityToken mismatch with the AccessKey.")
	case !now.Before(key.until):
		return Key{}, refuse(http.StatusBadRequest, "InvalidSecurityToken.Expired", "Specified SecurityToken is expired.")
	case slices.Contains(s.cfg.Refused, key.User), !key.isPod():
		return Key{}, refuse(http.StatusForbidden, "Forbidden.RAM", "only ServiceAccounts have sessions, and no controller of this cluster")
	}
	return key, nil
}

// assumed is the answer to AssumeRoleWithOIDC, as far as clients read it.
type assumed struct {
	XMLName   xml.Name `json:"-"         xml:"AssumeRoleWithOIDCResponse"`
	RequestID string   `json:"RequestId" xml:"RequestId"`
	Role      struct {
		ARN string `json:"Arn"           xml:"Arn"`
		ID  string `json:"AssumedRoleId" xml:"AssumedRoleId"`
	} `json:"AssumedRoleUser" xml:"AssumedRoleUser"`
	Token struct {
		Subject string `json:"Subject"        xml:"Subject"`
		End     string `json:"ExpirationTime,omitempty" xml:"ExpirationTime,omitempty"`
	} `json:"OIDCTokenInfo" xml:"OIDCTokenInfo"`
	Credentials struct {
		KeyID      string `json:"AccessKeyId"     xml:"AccessKeyId"`
		Secret     string `json:"AccessKeySecret" xml:"AccessKeySecret"`
		Token      string `json:"SecurityToken"   xml:"SecurityToken"`
		Expiration string `json:"Expiration"      xml:"Expiration"`
	} `json:"Credentials" xml:"Credentials"`
}

// give answers with a session. It ends with the token at the latest, and then the tool shows its next one.
func (s *session) give(c *call) (*openapi.Answer, error) {
	secrets, x, now := s.keys.sessionSecrets(), c.request.exchange, time.Now()
	if len(secrets) == 0 {
		return nil, refuse(http.StatusForbidden, "Forbidden.RAM", "the gateway gives no sessions any more")
	}
	end := now.Add(x.life)
	if !x.until.IsZero() && x.until.Before(end) {
		end = x.until
	}
	key, token := issue(secrets[0], ticket{ID: "STS." + rand.Text(), User: c.key.User, UID: c.key.UID, Until: end.Unix()})
	a := assumed{RequestID: c.id}
	a.Role.ARN = strings.Replace(x.role, ":role/", ":assumed-role/", 1) + "/" + x.name
	a.Role.ID = c.key.UID + ":" + x.name
	a.Token.Subject = c.key.User
	if !x.until.IsZero() {
		a.Token.End = x.until.UTC().Format(timeForm)
	}
	a.Credentials.KeyID, a.Credentials.Secret, a.Credentials.Token = key.ID, string(key.Secret), token
	a.Credentials.Expiration = key.until.UTC().Format(timeForm)
	text, err := json.Marshal(a)
	kind := "application/json;charset=utf-8"
	if c.request.xml {
		kind = "text/xml;charset=utf-8"
		text, err = xml.Marshal(a)
		text = append([]byte(xml.Header), text...)
	}
	if err != nil {
		return nil, &rpcerr.Error{Code: codes.Internal, Message: "the session can't be written"}
	}
	c.made = []string{"AccessKeyId=" + key.ID, "Expiration=" + a.Credentials.Expiration}
	return &openapi.Answer{Status: http.StatusOK, Body: text, Header: http.Header{"Content-Type": {kind}, "X-Acs-Request-Id": {c.id}}}, nil
}
