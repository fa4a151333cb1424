package nlb

import (
	"cmp"
	"slices"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func policyActions() []api.Action {
	settings := []api.Param{
		{Name: "TlsVersions", Kind: api.Strings, Enum: []string{"TLSv1.0", "TLSv1.1", "TLSv1.2", "TLSv1.3"}, Max: 4}, texts("Ciphers", 30),
	}
	return []api.Action{
		write("CreateSecurityPolicy", createPolicy, []string{illegal, "OperationFailed.NotExist.ResourceGroup"},
			append([]api.Param{api.Optional("SecurityPolicyName"), api.Optional("ResourceGroupId"), structs("Tag", maxTags)}, settings...)...),
		write("UpdateSecurityPolicyAttribute", api.On(policy, updatePolicy), []string{illegal, noPolicy},
			append(append(mandatory("SecurityPolicyId"), api.Optional("SecurityPolicyName")), settings...)...),
		write("DeleteSecurityPolicy", api.On(policy, deletePolicy), []string{noPolicy, "ResourceInUse.securitypolicy"},
			mandatory("SecurityPolicyId")...),
		read("ListSecurityPolicy", listPolicies, nil, append(paging(),
			texts("SecurityPolicyIds", maxIDs), texts("SecurityPolicyNames", maxIDs), api.Optional("ResourceGroupId"), structs("Tag", maxTags))...),
		read("ListSystemSecurityPolicy", listSystemPolicies, nil),
	}
}

// systemPolicies are the TLS policies that every account has; the first one is the default.
func systemPolicies() []*state.NLBSecurityPolicy {
	old := []string{
		"ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES256-GCM-SHA384",
		"ECDHE-RSA-AES128-SHA256", "ECDHE-RSA-AES256-SHA384", "AES128-GCM-SHA256", "AES256-GCM-SHA384", "AES128-SHA256", "AES256-SHA256",
		"ECDHE-RSA-AES128-SHA", "ECDHE-RSA-AES256-SHA", "AES128-SHA", "AES256-SHA", "DES-CBC3-SHA",
	}
	strict := old[:6]
	latest := append([]string{"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"}, strict...)
	versions := []string{"TLSv1.0", "TLSv1.1", "TLSv1.2", "TLSv1.3"}
	return []*state.NLBSecurityPolicy{
		{ID: "tls_cipher_policy_1_0", TLSVersions: versions[:3], Ciphers: old},
		{ID: "tls_cipher_policy_1_1", TLSVersions: versions[1:3], Ciphers: old},
		{ID: "tls_cipher_policy_1_2", TLSVersions: versions[2:3], Ciphers: old},
		{ID: "tls_cipher_policy_1_2_strict", TLSVersions: versions[2:3], Ciphers: strict},
		{ID: "tls_cipher_policy_1_2_strict_with_1_3", TLSVersions: versions[2:], Ciphers: latest},
	}
}

func policyExists(c *api.Context, id string) bool {
	return c.State.NLBSecurityPolicies[id] != nil ||
		slices.ContainsFunc(systemPolicies(), func(p *state.NLBSecurityPolicy) bool { return p.ID == id })
}

func createPolicy(c *api.Context) (*change, *api.Error) {
	p := &state.NLBSecurityPolicy{ResourceGroupID: cmp.Or(c.Get("ResourceGroupId"), state.DefaultResourceGroup), Tags: tags.FilterOf(c)}
	p.TLSVersions, p.Ciphers = systemPolicies()[0].TLSVersions, systemPolicies()[0].Ciphers
	switch {
	case !setPolicy(c, p) || !validTags(p.Tags):
		return nil, fail(illegal)
	case !checkResourceGroup(c, "ResourceGroupId"):
		return nil, fail("OperationFailed.NotExist.ResourceGroup")
	}
	return &change{kind: kindPolicy, begin: func() string {
		p.ID = c.NewID("tls-")
		p.Number = c.State.Sequence
		c.State.NLBSecurityPolicies[p.ID] = p
		return p.ID
	}}, nil
}

// setPolicy sets what the parameters of a call say, and reports whether a policy can be so.
func setPolicy(c *api.Context, p *state.NLBSecurityPolicy) bool {
	c.Keep("", &p.Spelling)
	c.SetText("SecurityPolicyName", &p.Name)
	if versions := c.List("TlsVersions"); len(versions) > 0 {
		p.TLSVersions = versions
	}
	if ciphers := c.List("Ciphers"); len(ciphers) > 0 {
		p.Ciphers = ciphers
	}
	return p.Name == "" || validName(p.Name)
}

func policy(c *api.Context) (*state.NLBSecurityPolicy, *api.Error) {
	if p := c.State.NLBSecurityPolicies[c.Get("SecurityPolicyId")]; p != nil {
		return p, nil
	}
	return nil, fail(noPolicy)
}

func updatePolicy(c *api.Context, p *state.NLBSecurityPolicy) (*change, *api.Error) {
	updated := *p
	if !setPolicy(c, &updated) {
		return nil, fail(illegal)
	}
	return &change{kind: kindPolicy, id: p.ID, apply: func() { *p = updated }}, nil
}

func deletePolicy(c *api.Context, p *state.NLBSecurityPolicy) (*change, *api.Error) {
	if policyUsed(c, p.ID) {
		return nil, fail("ResourceInUse.securitypolicy")
	}
	return &change{kind: kindPolicy, id: p.ID}, nil
}

func policyUsed(c *api.Context, id string) bool {
	for _, l := range c.State.NLBListeners {
		if l.SecurityPolicyID == id {
			return true
		}
	}
	return false
}

// finishPolicy completes a job of a TLS policy. A listener that began to use the policy meanwhile keeps it alive.
func finishPolicy(c *api.Context, j *state.NLBJob) {
	made, gone := j.Action == "CreateSecurityPolicy", j.Action == "DeleteSecurityPolicy"
	if made && j.Status == failed || gone && j.Status == succeeded && !policyUsed(c, j.ResourceID) {
		delete(c.State.NLBSecurityPolicies, j.ResourceID)
	}
}

func showPolicy(p *state.NLBSecurityPolicy) api.Object {
	return api.Object{"SecurityPolicyId", p.ID, "TlsVersion", strings.Join(p.Spelling.All("TlsVersions", p.TLSVersions),
		","), "Ciphers", strings.Join(p.Ciphers, ",")}
}

func listSystemPolicies(*api.Context) (any, *api.Error) {
	return api.Object{"SecurityPolicies", api.Objects(systemPolicies(), showPolicy)}, nil
}

func listPolicies(c *api.Context) (any, *api.Error) {
	names, wanted := c.List("SecurityPolicyNames"), tags.FilterOf(c)
	return list[state.NLBSecurityPolicy]{
		name: "SecurityPolicies", ids: "SecurityPolicyIds", all: c.State.NLBSecurityPolicies, place: (*state.NLBSecurityPolicy).Place,
		match: func(p *state.NLBSecurityPolicy) bool {
			return listing.Among(names, p.Name) && listing.Match(c.Get("ResourceGroupId"), p.ResourceGroupID) && wanted.Match(p.Tags)
		},
		show: func(p *state.NLBSecurityPolicy) api.Object {
			status := available
			if busy(c, kindPolicy, p.ID) {
				status = configuring
			}
			related := []api.Object{}
			for _, l := range c.State.NLBListeners {
				if l.SecurityPolicyID == p.ID {
					related = append(related, api.Object{
						"ListenerId", l.ID, "ListenerPort", l.Port, "ListenerProtocol", l.Spelling.Of("ListenerProtocol", l.Protocol),
						"LoadBalancerId", l.NLBID,
					})
				}
			}
			return append(showPolicy(p), "RegionId", c.Region, "SecurityPolicyName", p.Name, "SecurityPolicyStatus", status,
				"ResourceGroupId", p.ResourceGroupID, "RelatedListeners", related, "Tags", twiceNamed(p.Tags))
		},
	}.answer(c)
}
