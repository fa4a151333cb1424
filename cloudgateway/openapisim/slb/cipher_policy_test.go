package slb

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func newPolicy(name string) params {
	return params{"Name": name, "TLSVersions.1": "TLSv1.2", "Ciphers.1": "AES128-SHA256"}
}

// policy makes a cipher policy and returns its id.
func (c *cloud) policy(name string) string {
	c.testing.Helper()
	return c.call("CreateTLSCipherPolicy", newPolicy(name)).text("TLSCipherPolicyId")
}

func TestCipherPolicyCodes(t *testing.T) {
	t.Parallel()
	ok := newPolicy("one")
	tests := []codeTest{
		{"ok", ok, ""},
		{"versions in another case", ok.with("TLSVersions.1", "tlsv1.2"), ""},
		{"old cipher of a newer version", ok.with("Ciphers.2", "DES-CBC3-SHA"), ""},
		{"two versions", ok.with("TLSVersions.2", "TLSv1.3", "Ciphers.2", "TLS_AES_128_GCM_SHA256"), ""},
		{"Chinese name", ok.with("Name", "策略-1"), ""},
		{"no name", ok.with("Name", ""), "MissingParameter"},
		{"no versions", ok.with("TLSVersions.1", ""), "MissingParameter"},
		{"no ciphers", ok.with("Ciphers.1", ""), "MissingParameter"},
		{"short name", ok.with("Name", "a"), "InvalidParameter"},
		{"long name", ok.with("Name", strings.Repeat("a", 201)), "InvalidParameter"},
		{"name that begins with a digit", ok.with("Name", "1a"), "InvalidParameter"},
		{"name with a space", ok.with("Name", "a b"), "InvalidParameter"},
		{"unknown version", ok.with("TLSVersions.1", "TLSv1.4"), "InvalidParameter"},
		{"unknown cipher", ok.with("Ciphers.1", "RC4"), "InvalidParameter"},
		{"cipher of a newer version", ok.with("TLSVersions.1", "TLSv1.1"), "InvalidParameter"},
		{"1.3 without a cipher", ok.with("TLSVersions.2", "TLSv1.3"), "InvalidParameter"},
	}
	testCodes(t, "CreateTLSCipherPolicy", tests)
	testCodes(t, "SetTLSCipherPolicyAttribute", []codeTest{{"unknown", ok.with("TLSCipherPolicyId", "tls-x"), "InvalidTLSPolicyId.NotExist"}})
	testCodes(t, "DeleteTLSCipherPolicy", []codeTest{{"unknown", params{"TLSCipherPolicyId": "tls-x"}, "InvalidTLSPolicyId.NotExist"}})
	testCodes(t, "ListTLSCipherPolicies", []codeTest{
		{"ok", params{}, ""},
		{"no items", params{"MaxItems": "0"}, "InvalidParameter"},
		{"foreign token", params{"NextToken": "x"}, "InvalidParameter"},
	})
	for _, tt := range tests {
		t.Run("set "+tt.name, func(t *testing.T) {
			t.Parallel()
			c := newCloud(t)
			id := c.policy("former")
			if got := c.code("SetTLSCipherPolicyAttribute", tt.params.with("TLSCipherPolicyId", id)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	t.Run("too many ciphers", func(t *testing.T) {
		t.Parallel()
		p := ok.with()
		for i := range 33 {
			p["Ciphers."+strconv.Itoa(i+1)] = "AES128-SHA256"
		}
		if got := newCloud(t).code("CreateTLSCipherPolicy", p); got != "InvalidParameter" {
			t.Errorf("got %q", got)
		}
	})
}

func TestCipherPoliciesAreListed(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	ids := map[string]bool{c.policy("one"): true, c.policy("two"): true, c.policy("three"): true}
	seen := map[string]bool{}
	for token := ""; ; {
		page := c.call("ListTLSCipherPolicies", params{"MaxItems": "2", "NextToken": token})
		if page["TotalCount"] != 3.0 {
			t.Errorf("%v in all, want 3", page["TotalCount"])
		}
		for _, id := range page.texts("TLSCipherPolicies", "InstanceId") {
			seen[id] = true
		}
		if token = page.text("NextToken"); (token != "") != (page["IsTruncated"] == true) {
			t.Errorf("IsTruncated is %v with the token %q", page["IsTruncated"], token)
		}
		if token == "" {
			break
		}
	}
	if diff := cmp.Diff(ids, seen); diff != "" {
		t.Errorf("the pages (-want +got):\n%s", diff)
	}
	for id := range ids {
		list := c.call("ListTLSCipherPolicies", params{"TLSCipherPolicyId": id})
		if got := list.texts("TLSCipherPolicies", "InstanceId"); len(got) != 1 || got[0] != id {
			t.Errorf("by its id: %v", got)
		}
	}
	for name, want := range map[string]int{"two": 1, "tw": 0} {
		if got := c.call("ListTLSCipherPolicies", params{"Name": name}).list("TLSCipherPolicies"); len(got) != want {
			t.Errorf("%d with the name %s, want %d", len(got), name, want)
		}
	}
}

// An HTTPS listener takes the id of a policy, which can't be deleted as long as one does.
func TestListenerUsesCipherPolicy(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	id := c.policy("one")
	key := params{"LoadBalancerId": "lb-1", "ListenerPort": "443"}
	set := func(policy string) string {
		return c.code(action("Set", protoHTTPS), key.with("TLSCipherPolicy", policy))
	}
	shown := func() any { return c.call(action("Describe", protoHTTPS), key)["TLSCipherPolicy"] }
	if got := set("tls-x"); got != "InvalidTLSPolicyId.NotExist" {
		t.Errorf("a policy that does not exist: %q", got)
	}
	if got := set(id); got != "" || shown() != id {
		t.Fatalf("%q, and the listener shows %v, want %s", got, shown(), id)
	}
	if got := c.code("DeleteTLSCipherPolicy", params{"TLSCipherPolicyId": id}); got != policyInUse {
		t.Errorf("deletion of a used policy: %q", got)
	}
	for include, want := range map[string]int{"": 0, "true": 1} {
		list := c.call("ListTLSCipherPolicies", params{"IncludeListener": include})
		if got := list.list("TLSCipherPolicies.0.RelateListeners"); len(got) != want {
			t.Errorf("IncludeListener %q: %v, want %d", include, got, want)
		}
	}
	listener := c.call("ListTLSCipherPolicies", params{"IncludeListener": "true"}).at("TLSCipherPolicies.0.RelateListeners.0")
	if diff := cmp.Diff(map[string]any{"LoadBalancerId": "lb-1", "Port": 443.0, "Protocol": "https"}, listener); diff != "" {
		t.Errorf("the listener (-want +got):\n%s", diff)
	}
	if got := set("TLS_cipher_policy_1_2"); got != "" {
		t.Errorf("a policy of the cloud in another case: %q", got)
	}
	c.call("DeleteTLSCipherPolicy", params{"TLSCipherPolicyId": id})
	create := newListener(protoHTTPS).with("TLSCipherPolicy", c.policy("two"))
	if got := c.code(action("Create", protoHTTPS), create); got != "" {
		t.Errorf("a new listener: %q", got)
	}
	create = create.with("ListenerPort", "1001", "TLSCipherPolicy", id)
	if got := c.code(action("Create", protoHTTPS), create); got != "InvalidTLSPolicyId.NotExist" {
		t.Errorf("a new listener with a policy that is gone: %q", got)
	}
}

// A change takes as long as one of a listener: until then the policy is neither given to listeners nor changed nor deleted.
func TestCipherPolicyIsConfiguring(t *testing.T) {
	t.Parallel()
	c := slowCloud(t)
	id := c.policy("one")
	status := func() string { return c.call("ListTLSCipherPolicies", params{}).text("TLSCipherPolicies.0.Status") }
	change := newPolicy("two").with("TLSCipherPolicyId", id)
	c.call("SetTLSCipherPolicyAttribute", change)
	if got := status(); got != configuring {
		t.Errorf("a changed policy is %s", got)
	}
	use := newListener(protoHTTPS).with("TLSCipherPolicy", id)
	key := params{"TLSCipherPolicyId": id}
	refused := map[string]params{
		action("Create", protoHTTPS): use, action("Set", protoHTTPS): {"LoadBalancerId": "lb-1", "ListenerPort": "443", "TLSCipherPolicy": id},
		"SetTLSCipherPolicyAttribute": change, "DeleteTLSCipherPolicy": key,
	}
	for name, p := range refused {
		if got := c.code(name, p); got != cipherPolicyBusy {
			t.Errorf("%s meanwhile: %q", name, got)
		}
	}
	c.pass(c.settings.ListenerSet)
	if got := status(); got != "normal" {
		t.Errorf("later it is %s", got)
	}
	c.call(action("Create", protoHTTPS), use)
}
