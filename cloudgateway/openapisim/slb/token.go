package slb

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// tokenLifetime is how long a ClientToken is remembered.
const tokenLifetime = 24 * time.Hour

// remembered returns the load balancer that an earlier call with the same ClientToken created.
func remembered(c *api.Context) (string, *api.Error) {
	token := c.State.Tokens[tokenKey(c)]
	switch {
	case !c.Has("ClientToken") || token == nil || c.Now.Sub(token.Created) > tokenLifetime:
		return "", nil
	case token.Fingerprint != fingerprint(c):
		return "", api.BadRequest("IdempotentParameterMismatch", "The request uses the same client token as a previous, but non-identical request.")
	}
	return token.ResourceID, nil
}

// remember is called for successful calls only: a client may repeat a failed one with the same token and other parameters.
func remember(c *api.Context, id string) {
	if c.Has("ClientToken") {
		c.State.Tokens[tokenKey(c)] = &state.Token{Fingerprint: fingerprint(c), ResourceID: id, Created: c.Now}
	}
}

func tokenKey(c *api.Context) string { return "slb/CreateLoadBalancer/" + c.Get("ClientToken") }

// fingerprint is a digest of the parameters of the action, without those of the protocol, which differ in every request.
func fingerprint(c *api.Context) string {
	protocol := map[string]bool{
		"accesskeyid": true, "action": true, "clienttoken": true, "format": true, "securitytoken": true, "signature": true,
		"signaturemethod": true, "signaturenonce": true, "signaturetype": true, "signatureversion": true, "timestamp": true, "version": true,
	}
	hash := sha256.New()
	all := c.All()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !protocol[strings.ToLower(name)] && all[name] != "" {
			hash.Write([]byte(name + "=" + all[name] + "\n"))
		}
	}
	return hex.EncodeToString(hash.Sum(nil))
}
