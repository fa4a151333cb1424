package slb

import (
	"regexp"
	"slices"
	"unicode/utf8"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// The documents list no error codes for the actions of TLS cipher policies. Those for a policy that does not exist, and for one whose
// change is not in force yet, are the published ones of HTTPS listeners; policyInUse is inferred from the one of access control lists.
const (
	noCipherPolicy   = "InvalidTLSPolicyId.NotExist"
	cipherPolicyBusy = "TLSPolicyConfiguring"
	policyInUse      = "OperationFailed.TLSPolicyBindedWithVip"
)

func cipherPolicyActions() []api.Action {
	settings := []api.Param{
		api.Required("Name"),
		{Name: "TLSVersions", Kind: api.Strings, Required: true, Enum: tlsVersions(), Min: 1, Max: 4},
		{Name: "Ciphers", Kind: api.Strings, Required: true, Min: 1, Max: 32},
	}
	id := api.Required("TLSCipherPolicyId")
	return []api.Action{
		api.Write("CreateTLSCipherPolicy", createCipherPolicy, api.Words("InvalidParameter"), append(settings, region())...),
		api.Write("SetTLSCipherPolicyAttribute", api.On(settledCipherPolicy, setCipherPolicy),
			[]string{"InvalidParameter", noCipherPolicy, cipherPolicyBusy}, append(settings, region(), id)...),
		api.Write("DeleteTLSCipherPolicy", api.On(settledCipherPolicy, deleteCipherPolicy),
			[]string{noCipherPolicy, policyInUse, cipherPolicyBusy}, region(), id),
		api.Read("ListTLSCipherPolicies", listCipherPolicies, api.Words("InvalidParameter"), region(),
			api.Optional("TLSCipherPolicyId"), api.Optional("Name"), api.Flag("IncludeListener"), api.Optional("NextToken"),
			api.Number("MaxItems", 1, 100)),
	}
}

// systemCipherPolicies are the names of those that every account has. A listener names one of the account by its id.
func systemCipherPolicies() []string {
	return []string{
		"tls_cipher_policy_1_0", "tls_cipher_policy_1_1", "tls_cipher_policy_1_2", "tls_cipher_policy_1_2_strict",
		"tls_cipher_policy_1_2_strict_with_1_3",
	}
}

func tlsVersions() []string { return []string{"TLSv1.0", "TLSv1.1", "TLSv1.2", "TLSv1.3"} }

// ciphersOf returns the cipher suites that a version of TLS supports.
func ciphersOf(version string) []string {
	ciphers := api.Words(`ECDHE-ECDSA-AES128-SHA ECDHE-ECDSA-AES256-SHA ECDHE-RSA-AES128-SHA ECDHE-RSA-AES256-SHA AES128-SHA AES256-SHA
		DES-CBC3-SHA`)
	switch version {
	case "TLSv1.3":
		return api.Words(`TLS_AES_128_GCM_SHA256 TLS_AES_256_GCM_SHA384 TLS_CHACHA20_POLY1305_SHA256 TLS_AES_128_CCM_SHA256
			TLS_AES_128_CCM_8_SHA256`)
	case "TLSv1.2":
		return append(ciphers, api.Words(`ECDHE-ECDSA-AES128-GCM-SHA256 ECDHE-ECDSA-AES256-GCM-SHA384 ECDHE-ECDSA-AES128-SHA256
			ECDHE-ECDSA-AES256-SHA384 ECDHE-RSA-AES128-GCM-SHA256 ECDHE-RSA-AES256-GCM-SHA384 ECDHE-RSA-AES128-SHA256
			ECDHE-RSA-AES256-SHA384 AES128-GCM-SHA256 AES256-GCM-SHA384 AES128-SHA256 AES256-SHA256`)...)
	}
	return ciphers
}

// cipherPolicyName is the form of a name: it begins with a letter or a Chinese character. The pages give 128 and 200 as its greatest
// length; the newer one is taken.
var cipherPolicyName = regexp.MustCompile(`^[A-Za-z\p{Han}][A-Za-z0-9\p{Han}._-]+$`)

// configure sets what the parameters of a call say. Each cipher must be one of a version of the policy, and TLS 1.3 needs one of its own.
func configure(c *api.Context, p *state.CipherPolicy) *api.Error {
	name := c.Get("Name")
	if utf8.RuneCountInString(name) > 200 || !cipherPolicyName.MatchString(name) {
		return api.Invalid("Name")
	}
	versions, ciphers := c.List("TLSVersions"), c.List("Ciphers")
	var supported []string
	for _, version := range versions {
		supported = append(supported, ciphersOf(version)...)
	}
	for _, cipher := range ciphers {
		if !slices.Contains(supported, cipher) {
			return api.BadRequest("InvalidParameter", "The specified Ciphers %s is not supported by the specified TLSVersions.", cipher)
		}
	}
	ofNewest := func(cipher string) bool { return slices.Contains(ciphersOf("TLSv1.3"), cipher) }
	if slices.Contains(versions, "TLSv1.3") && !slices.ContainsFunc(ciphers, ofNewest) {
		return api.BadRequest("InvalidParameter", "The specified Ciphers has none that TLSv1.3 supports.")
	}
	c.Keep("", &p.Spelling)
	p.Name, p.TLSVersions, p.Ciphers = name, versions, ciphers
	return nil
}

func createCipherPolicy(c *api.Context) (any, *api.Error) {
	p := &state.CipherPolicy{Created: c.Now}
	if err := configure(c, p); err != nil {
		return nil, err
	}
	p.ID = c.NewID("tls-bp1")
	c.State.CipherPolicies[p.ID] = p
	return api.Object{"TLSCipherPolicyId", p.ID}, nil
}

func cipherPolicyNotFound() *api.Error {
	return api.BadRequest(noCipherPolicy, "The specified TLSCipherPolicyId does not exist.")
}

// settledCipherPolicy finds what the parameter TLSCipherPolicyId names, unless its last change is not in force yet.
func settledCipherPolicy(c *api.Context) (*state.CipherPolicy, *api.Error) {
	p, err := api.Named(c, c.State.CipherPolicies, "TLSCipherPolicyId", cipherPolicyNotFound)
	if err != nil {
		return nil, err
	}
	return p, inForce(c, p)
}

func inForce(c *api.Context, p *state.CipherPolicy) *api.Error {
	if c.Now.Before(p.BusyUntil) {
		return api.BadRequest(cipherPolicyBusy, "The TLS cipher policy is being configured, try again later.")
	}
	return nil
}

// setCipherPolicy changes a policy, and with it the listeners that use it, for which it takes as long as a change of theirs.
func setCipherPolicy(c *api.Context, p *state.CipherPolicy) (any, *api.Error) {
	if err := configure(c, p); err != nil {
		return nil, err
	}
	if d := c.Settings.ListenerSet; d > 0 {
		p.BusyUntil = c.Now.Add(d)
	}
	return api.Object{"TaskId", c.NewID("t-")}, nil
}

func deleteCipherPolicy(c *api.Context, p *state.CipherPolicy) (any, *api.Error) {
	if len(cipherPolicyListeners(c, p.ID)) > 0 {
		return nil, api.BadRequest(policyInUse, "The TLS cipher policy is used by a listener.")
	}
	delete(c.State.CipherPolicies, p.ID)
	return nil, nil
}

// cipherPolicyListeners returns the listeners that use a policy.
func cipherPolicyListeners(c *api.Context, id string) []api.Object {
	out := []api.Object{}
	for _, lb := range sortedByID(c.State.LoadBalancers) {
		for _, l := range listenersAt(lb, 0, protoHTTPS) {
			if l.Attributes["TLSCipherPolicy"] == id {
				out = append(out, api.Object{"LoadBalancerId", lb.ID, "Port", l.Port, "Protocol", l.Protocol})
			}
		}
	}
	return out
}

// listCipherPolicies lists the policies of the account. The size of a page that none is asked of is not published.
func listCipherPolicies(c *api.Context) (any, *api.Error) {
	all := listing.Find(c.State.CipherPolicies, func(p *state.CipherPolicy) bool {
		return listing.Match(c.Get("TLSCipherPolicyId"), p.ID) && listing.Match(c.Get("Name"), p.Name)
	})
	page, next, ok := listing.After(all, func(p *state.CipherPolicy) string { return p.ID }, c.Get("NextToken"), c.Int("MaxItems", 50))
	if !ok {
		return nil, api.Invalid("NextToken")
	}
	return api.Object{
		"TLSCipherPolicies", api.Objects(page, func(p *state.CipherPolicy) api.Object { return viewOfCipherPolicy(c, p) }),
		"TotalCount", len(all), "IsTruncated", next != "", "NextToken", api.NonZero(next),
	}, nil
}

func viewOfCipherPolicy(c *api.Context, p *state.CipherPolicy) api.Object {
	status := "normal"
	if inForce(c, p) != nil {
		status = configuring
	}
	listeners := []api.Object{}
	if c.True("IncludeListener") {
		listeners = cipherPolicyListeners(c, p.ID)
	}
	return api.Object{
		"InstanceId", p.ID, "Name", p.Name, "Status", status, "CreateTime", p.Created.UnixMilli(), "ServiceManagedMode", "Unmanaged",
		"TLSVersions", p.Spelling.All("TLSVersions", p.TLSVersions), "Ciphers", p.Ciphers, "RelateListeners", listeners,
	}
}

// checkCipherPolicy checks the policy that a call names: one of the cloud's, or one of the account whose last change is in force.
func checkCipherPolicy(c *api.Context, _ *state.LoadBalancer, l *state.Listener) *api.Error {
	id := l.Attributes["TLSCipherPolicy"]
	if l.Protocol != protoHTTPS || !c.Has("TLSCipherPolicy") || slices.Contains(systemCipherPolicies(), id) {
		return nil
	}
	p := c.State.CipherPolicies[id]
	if p == nil {
		return cipherPolicyNotFound()
	}
	return inForce(c, p)
}
