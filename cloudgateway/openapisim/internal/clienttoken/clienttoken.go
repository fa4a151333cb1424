// Package clienttoken makes creations idempotent: a repeated call with the same ClientToken gets the first result.
package clienttoken

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// lifetime is how long a token is remembered; several products document it.
const lifetime = 24 * time.Hour

// forgetEvery so many tokens, those whose time is over are forgotten.
const forgetEvery = 1024

// Once handles an operation ("product/action") that a call with the token of an earlier one doesn't do again. Do does it and returns the id
// of what it made or changed, and show answers with that, for every call; nil answers with nothing.
func Once(operation string, show func(c *api.Context, id string) any, do func(*api.Context) (string, *api.Error)) api.Handler {
	return func(c *api.Context) (any, *api.Error) {
		id, err := Recall(c, operation)
		if id == "" && err == nil {
			if id, err = do(c); err == nil {
				Remember(c, operation, id)
			}
		}
		if err != nil || show == nil {
			return nil, err
		}
		return show(c, id), nil
	}
}

// Show answers with the id alone, as a member of the answer.
func Show(member string) func(c *api.Context, id string) any {
	return func(_ *api.Context, id string) any { return api.Object{member, id} }
}

// Recall returns what an earlier call of the operation ("product/action") with the same token created, or "".
func Recall(c *api.Context, operation string) (string, *api.Error) {
	token := c.State.Tokens[key(c, operation)]
	switch {
	case !c.Has("ClientToken") || token == nil || expired(c, token):
		return "", nil
	case token.Fingerprint != fingerprint(c):
		err := api.BadRequest("IdempotentParameterMismatch",
			"The request uses the same client token as a previous, but non-identical request.")
		if strings.HasPrefix(operation, "ecs/") {
			err.Status = http.StatusForbidden // in this product only
		}
		return "", err
	}
	return token.ResourceID, nil
}

// Remember keeps the result of a successful call. A failed one is not kept: it may be repeated with other parameters.
func Remember(c *api.Context, operation, id string) {
	if !c.Has("ClientToken") {
		return
	}
	tokens := c.State.Tokens
	if len(tokens)%forgetEvery == forgetEvery-1 {
		maps.DeleteFunc(tokens, func(_ string, t *state.Token) bool { return expired(c, t) })
	}
	tokens[key(c, operation)] = &state.Token{Fingerprint: fingerprint(c), ResourceID: id, Created: c.Now}
}

func expired(c *api.Context, t *state.Token) bool { return c.Now.Sub(t.Created) > lifetime }

func key(c *api.Context, operation string) string { return operation + "/" + c.Get("ClientToken") }

// fingerprint is a digest of the parameters without those that differ in every request.
func fingerprint(c *api.Context) string {
	protocol := []string{
		"AccessKeyId", "Format", "SignatureMethod", "SignatureNonce", "SignatureType", "SignatureVersion", "Timestamp",
	}
	hash := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(c.All())) {
		if value := c.All()[name]; value != "" && !slices.Contains(protocol, name) {
			hash.Write([]byte(name + "=" + value + "\n"))
		}
	}
	return hex.EncodeToString(hash.Sum(nil))
}
