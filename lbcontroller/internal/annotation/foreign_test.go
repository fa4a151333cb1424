package annotation

import (
	"strings"
	"testing"
)

// TestUnrestricted: no word about who may connect is passed over: not one of the other kind, a slip, an empty switch, nor one in a wrong
// place. What asks for no restriction is.
func TestUnrestricted(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		kind                LoadBalancer
		annotations, labels map[string]string
		// want are parts of the only text; nil for none.
		want []string
	}{
		"lists of a CLB on an NLB": {NLB, map[string]string{Prefix + ACLID: "acl-1"}, nil,
			[]string{Prefix + ACLID, "is for CLBs", "spec.loadBalancerSourceRanges", Prefix + SecurityGroupIDs}},
		"under the older prefix": {NLB, map[string]string{LegacyPrefix + ACLType: "white"}, nil, []string{LegacyPrefix + ACLType, "is for CLBs"}},
		"groups of an NLB on a CLB": {CLB, map[string]string{Prefix + SecurityGroupIDs: "sg-1"}, nil,
			[]string{"is for NLBs", "spec.loadBalancerSourceRanges", Prefix + ACLStatus}},
		"both, which ask for nothing": {NLB, map[string]string{Prefix + ACLStatus: "off", Prefix + ACLID: "acl-1"}, nil, nil},
		"none of the other":           {CLB, map[string]string{Prefix + SecurityGroupIDs: "none"}, nil, nil},
		"a slip": {NLB, map[string]string{Prefix + "security-groups-ids": "sg-1"}, nil,
			[]string{"security-groups-ids is not known", "did you mean " + Prefix + SecurityGroupIDs + "?"}},
		"a slip in the other kind's":   {NLB, map[string]string{Prefix + "acl-ids": "acl-1"}, nil, []string{"acl-ids is not known"}},
		"a slip beside the right word": {CLB, map[string]string{Prefix + "acl-statuss": "on", Prefix + ACLStatus: "off"}, nil, nil},
		"a slip in something else":     {NLB, map[string]string{Prefix + "schedulr": "wrr"}, nil, nil},
		"an empty switch":              {NLB, map[string]string{Prefix + SecurityGroupIDs: ""}, nil, []string{"has no value"}},
		"an empty switch of a CLB":     {CLB, map[string]string{Prefix + ACLStatus: " "}, nil, nil}, // Its value is refused.
		"an empty list of a CLB":       {CLB, map[string]string{Prefix + ACLID: ""}, nil, nil},
		"another prefix": {
			CLB, map[string]string{"service.kubernetes.io/alibaba-cloud-loadbalancer-acl-id": "acl-1"}, nil, []string{"is not known"},
		},
		"a label":                 {NLB, nil, map[string]string{Prefix + SecurityGroupIDs: "sg-1"}, []string{"label", "annotation"}},
		"ranges by an annotation": {NLB, map[string]string{rangesOfOthers: "10.0.0.0/8"}, nil, []string{"spec.loadBalancerSourceRanges"}},
		"what is right": {
			CLB, map[string]string{Prefix + ACLStatus: "on", Prefix + ACLID: "acl-1", Prefix + ACLType: "white"}, nil, nil,
		},
		"something of another controller": {CLB, map[string]string{"example.com/acl-id": "x"}, nil, nil},
	} {
		got := NewParser(test.kind).Unrestricted(test.annotations, test.labels, nil)
		if len(got) != min(len(test.want), 1) {
			t.Errorf("%s: got %q, want one text with %q", name, got, test.want)
			continue
		}
		for _, text := range test.want {
			if !strings.Contains(got[0], text) {
				t.Errorf("%s: %q doesn't say %q", name, got[0], text)
			}
		}
	}
}

// TestWordsOfTheOtherKind: what is for the other kind isn't unknown.
func TestWordsOfTheOtherKind(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		Prefix + ZoneMaps: true, LegacyPrefix + ZoneMaps: true, Prefix + "zone-map": false, Prefix + Hostname: false,
	} {
		if kind, is := NewParser(CLB).ForOther(name); is != want || kind != NLB {
			t.Errorf("%s is for %s: %t, want %t", name, kind, is, want)
		}
	}
}

// TestContradictions: an item that contradicts another of its list is refused by name, and one that is there twice counts once.
func TestContradictions(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind             LoadBalancer
		key, value, want string
		good             string
	}{
		{kind: CLB, key: AdditionalTags, value: "team=a,team=b", want: "the key team twice"},
		{kind: NLB, key: AdditionalTags, value: "team=a, x=y, team=", want: "the key team twice"},
		{kind: CLB, key: AdditionalTags, value: "team=a,team=a", good: "team\x00a"},
		{kind: CLB, key: BackendLabel, value: "a=1,a=2", want: "the key a twice"},
		{kind: CLB, key: ForwardPort, value: "80:443,80:444", want: "the key 80 twice"},
		{kind: CLB, key: ProtocolPort, value: "http:80,http:81", good: "http\x0080,http\x0081"},
		{kind: CLB, key: ACLID, value: "acl-1,acl-2,acl-1", good: "acl-1,acl-2"},
		{kind: NLB, key: SecurityGroupIDs, value: "none,sg-1", want: "none alone"},
		{kind: NLB, key: AdditionalCertIDs, value: "a,none", want: "none alone"},
	} {
		values, problems := NewParser(test.kind).Parse(map[string]string{Prefix + test.key: test.value})
		if test.want == "" {
			if got := values.settings[test.key].value; len(problems) > 0 || got != test.good {
				t.Errorf("%s=%s: got %q, problems %v", test.key, test.value, got, problems)
			}
			continue
		}
		if len(problems) != 1 || !strings.Contains(problems[0].String(), test.want) || !strings.Contains(problems[0].String(), Prefix+test.key) {
			t.Errorf("%s=%s: problems are %v, want %q", test.key, test.value, problems, test.want)
		}
	}
}
