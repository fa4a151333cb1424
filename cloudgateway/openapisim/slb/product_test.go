package slb

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// Every action that the existing CCM, terraform or our gateway uses is there, and the tables hold together.
func TestProduct(t *testing.T) {
	t.Parallel()
	p := Product()
	if p.Name != "slb" || p.Code != "Slb" || p.Version != "2014-05-15" {
		t.Errorf("the product is %s, %s, %s", p.Name, p.Code, p.Version)
	}
	names := map[string]bool{}
	for _, a := range p.Actions {
		if names[a.Name] {
			t.Errorf("the action %s is there twice", a.Name)
		}
		names[a.Name] = true
		if read := strings.HasPrefix(a.Name, "Describe") || strings.HasPrefix(a.Name, "List"); a.Mutating == read {
			t.Errorf("%s: Mutating is %t", a.Name, a.Mutating)
		}
		seen := map[string]bool{}
		for _, param := range a.Params {
			if name := strings.ToLower(param.Name); seen[name] {
				t.Errorf("%s: the parameter %s is there twice", a.Name, param.Name)
			} else {
				seen[name] = true
			}
			if param.Min > param.Max {
				t.Errorf("%s: the range of %s is empty", a.Name, param.Name)
			}
		}
		for i, code := range a.Codes {
			if slices.Contains(a.Codes[:i], code) {
				t.Errorf("%s: the code %s is there twice", a.Name, code)
			}
		}
	}
	for name := range strings.FieldsSeq(`
		CreateLoadBalancer DescribeLoadBalancers DescribeLoadBalancerAttribute DeleteLoadBalancer SetLoadBalancerName SetLoadBalancerStatus
		SetLoadBalancerDeleteProtection SetLoadBalancerModificationProtection ModifyLoadBalancerInstanceSpec ModifyLoadBalancerInternetSpec
		ModifyLoadBalancerInstanceChargeType MoveResourceGroup DescribeAvailableResource DescribeZones DescribeRegions
		CreateLoadBalancerTCPListener CreateLoadBalancerUDPListener CreateLoadBalancerHTTPListener CreateLoadBalancerHTTPSListener
		SetLoadBalancerTCPListenerAttribute SetLoadBalancerUDPListenerAttribute SetLoadBalancerHTTPListenerAttribute
		SetLoadBalancerHTTPSListenerAttribute DescribeLoadBalancerTCPListenerAttribute DescribeLoadBalancerUDPListenerAttribute
		DescribeLoadBalancerHTTPListenerAttribute DescribeLoadBalancerHTTPSListenerAttribute DescribeLoadBalancerListeners
		StartLoadBalancerListener StopLoadBalancerListener DeleteLoadBalancerListener SetListenerAccessControlStatus
		DescribeListenerAccessControlAttribute CreateVServerGroup
		DescribeVServerGroups DescribeVServerGroupAttribute SetVServerGroupAttribute AddVServerGroupBackendServers
		RemoveVServerGroupBackendServers ModifyVServerGroupBackendServers DeleteVServerGroup AddBackendServers SetBackendServers
		RemoveBackendServers DescribeHealthStatus TagResources UntagResources ListTagResources AddTags RemoveTags DescribeTags CreateRules
		DeleteRules DescribeRules DescribeRuleAttribute SetRule CreateAccessControlList DeleteAccessControlList DescribeAccessControlLists
		DescribeAccessControlListAttribute SetAccessControlListAttribute AddAccessControlListEntry RemoveAccessControlListEntry
		UploadServerCertificate DeleteServerCertificate DescribeServerCertificates SetServerCertificateName UploadCACertificate
		DeleteCACertificate DescribeCACertificates CreateDomainExtension DeleteDomainExtension SetDomainExtensionAttribute
		DescribeDomainExtensions DescribeDomainExtensionAttribute CreateTLSCipherPolicy SetTLSCipherPolicyAttribute DeleteTLSCipherPolicy
		ListTLSCipherPolicies CreateMasterSlaveServerGroup DescribeMasterSlaveServerGroups DescribeMasterSlaveServerGroupAttribute
		DeleteMasterSlaveServerGroup ModifyLoadBalancerPayType`) {
		if !names[name] {
			t.Errorf("the action %s is missing", name)
		}
	}
}

// The answers have members that clients know, in the types that they decode, at the places where they look.
func TestShapes(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("testdata/shapes.txt")
	if err != nil {
		t.Fatal(err)
	}
	shapes := map[string]shape{}
	for line := range strings.SplitSeq(strings.TrimSpace(string(raw)), "\n") {
		if name, text, ok := strings.Cut(line, " "); ok && !strings.HasPrefix(line, "#") {
			p := shapeParser{t: t, rest: "{" + text + "}"}
			shapes[name] = p.parse()
		}
	}
	cert, key := newPair(t)
	lb, group := params{"LoadBalancerId": "lb-1"}, params{"VServerGroupId": "rsp-1"}
	four, one, three := lb.with("ListenerPort", "80"), `[{"ServerId":"i-1","Port":"30080"}]`, `[{"ServerId":"i-3","Port":"30080"}]`
	c := newCloud(t)
	c.call("TagResources", params{"ResourceType": "listener", "ResourceId.1": "lb-1_tcp_80", "Tag.1.Key": "k", "Tag.1.Value": "v"})
	c.call("SetRule", params{"RuleId": c.ruleID(), "ListenerSync": off, "HealthCheck": on, "StickySession": off})
	pair := c.pair()
	c.call(action("Create", protoUDP), newListener(protoUDP).with("VServerGroupId", "", "MasterSlaveServerGroupId", pair))
	calls := map[string]params{
		"CreateLoadBalancer":                         {"InstanceChargeType": payByCLCU},
		"DescribeLoadBalancers":                      {},
		"DescribeLoadBalancerAttribute":              lb,
		"DescribeLoadBalancerListeners":              {},
		"DescribeLoadBalancerTCPListenerAttribute":   four,
		"DescribeLoadBalancerUDPListenerAttribute":   lb.with("ListenerPort", "53"),
		"DescribeLoadBalancerHTTPListenerAttribute":  lb.with("ListenerPort", "81"),
		"DescribeLoadBalancerHTTPSListenerAttribute": lb.with("ListenerPort", "443"),
		"CreateVServerGroup":                         lb.with("BackendServers", one),
		"DescribeVServerGroups":                      lb.with("IncludeListener", "true", "IncludeRule", "true"),
		"DescribeVServerGroupAttribute":              group, "AddVServerGroupBackendServers": group.with("BackendServers", three),
		"SetVServerGroupAttribute":         group.with("BackendServers", one),
		"ModifyVServerGroupBackendServers": group.with("OldBackendServers", one, "NewBackendServers", one),
		"RemoveVServerGroupBackendServers": group.with("BackendServers", `[{"ServerId":"i-x","Port":"1"}]`),
		"AddBackendServers":                lb.with("BackendServers", `[{"ServerId":"i-1"}]`),
		"SetBackendServers":                {"LoadBalancerId": "lb-vpc"},
		"RemoveBackendServers":             {"LoadBalancerId": "lb-vpc", "BackendServers": `[{"ServerId":"i-1"}]`},
		"DescribeHealthStatus":             lb,
		"ListTagResources":                 {"ResourceType": "instance", "ResourceId.1": "lb-1"},
		"DescribeTags":                     {},
		"CreateRules": lb.with("ListenerPort", "81", "RuleList",
			`[{"RuleName":"n","Domain":"x.example.com","VServerGroupId":"rsp-1"}]`),
		"DescribeRules":                           lb.with("ListenerPort", "81"),
		"DescribeRuleAttribute":                   {"RuleId": c.ruleID()},
		"CreateAccessControlList":                 {"AclName": "n"},
		"SetAccessControlListAttribute":           {"AclId": "acl-1", "AclName": "n"},
		"DescribeAccessControlLists":              {},
		"DescribeAccessControlListAttribute":      {"AclId": "acl-1"},
		"UploadServerCertificate":                 {"ServerCertificate": cert, "PrivateKey": key},
		"UploadCACertificate":                     {"CACertificate": cert},
		"DescribeServerCertificates":              {},
		"DescribeCACertificates":                  {},
		"CreateDomainExtension":                   lb.with("ListenerPort", "443", "Domain", "x.example.com", "ServerCertificateId", "cert-1"),
		"DescribeDomainExtensions":                lb.with("ListenerPort", "443"),
		"DescribeDomainExtensionAttribute":        {"DomainExtensionId": c.domainID()},
		"DescribeAvailableResource":               {},
		"DescribeZones":                           {},
		"DescribeRegions":                         {},
		"ModifyLoadBalancerInstanceSpec":          {"LoadBalancerId": "lb-vpc", "LoadBalancerSpec": "slb.s1.small"},
		"ModifyLoadBalancerInternetSpec":          {"LoadBalancerId": "lb-old", "Bandwidth": "5"},
		"ModifyLoadBalancerPayType":               {"LoadBalancerId": c.bySpec(), "PayType": prePay, "PricingCycle": "month", "Duration": "1"},
		"CreateTLSCipherPolicy":                   newPolicy("shape"),
		"SetTLSCipherPolicyAttribute":             newPolicy("shape").with("TLSCipherPolicyId", c.policy("one")),
		"CreateMasterSlaveServerGroup":            lb.with("MasterSlaveBackendServers", twoServers),
		"DescribeMasterSlaveServerGroups":         lb.with("IncludeListener", "true"),
		"DescribeMasterSlaveServerGroupAttribute": {"MasterSlaveServerGroupId": pair},
		"ListTLSCipherPolicies":                   {"IncludeListener": "true"},
	}
	for name, s := range shapes {
		p, ok := calls[name]
		if !ok {
			t.Errorf("no call of %s", name)
			continue
		}
		for _, problem := range s.check(name, map[string]any(c.call(name, p))) {
			t.Error(problem)
		}
	}
}

// shape is the form of a JSON value.
type shape struct {
	kind    string // "s", "i", "b", "object", "list", or "any"
	members map[string]shape
	item    *shape
}

// newer are members that the cloud shows although the clients' structs, which lag behind it, do not have them.
func newer(path string) bool {
	return strings.HasSuffix(path, "TCPListenerAttribute.HealthCheckSwitch")
}

func (s shape) check(path string, v any) []string {
	switch v := v.(type) {
	case map[string]any:
		if s.kind != "object" {
			break
		}
		var problems []string
		for name, member := range v {
			want, ok := s.members[name]
			if !ok && !newer(path+"."+name) {
				problems = append(problems, fmt.Sprintf("%s.%s: clients do not know it", path, name))
				continue
			}
			if ok {
				problems = append(problems, want.check(path+"."+name, member)...)
			}
		}
		return problems
	case []any:
		if s.kind != "list" {
			break
		}
		var problems []string
		for i, item := range v {
			problems = append(problems, s.item.check(fmt.Sprintf("%s[%d]", path, i), item)...)
		}
		return problems
	case string:
		if s.kind == "s" {
			return nil
		}
	case float64:
		if s.kind == "i" {
			return nil
		}
	case bool:
		if s.kind == "b" {
			return nil
		}
	}
	if s.kind == "any" {
		return nil
	}
	return []string{fmt.Sprintf("%s: %v is no %s", path, v, s.kind)}
}

// shapeParser reads {Name:s, Other:{…}, List:[…]}.
type shapeParser struct {
	t    *testing.T
	rest string
}

func (p *shapeParser) parse() shape {
	p.t.Helper()
	switch {
	case p.skip("{"):
		s := shape{kind: "object", members: map[string]shape{}}
		for !p.skip("}") {
			name := p.word()
			if !p.skip(":") {
				p.t.Fatalf("no colon before %q", p.rest)
			}
			s.members[name] = p.parse()
			p.skip(",")
		}
		return s
	case p.skip("["):
		item := p.parse()
		if !p.skip("]") {
			p.t.Fatalf("no bracket before %q", p.rest)
		}
		return shape{kind: "list", item: &item}
	}
	switch word := p.word(); word {
	case "s", "b", "i":
		return shape{kind: word}
	case "i64":
		return shape{kind: "i"}
	case "":
		p.t.Fatalf("no shape before %q", p.rest)
	}
	return shape{kind: "any"}
}

func (p *shapeParser) skip(text string) bool {
	rest, ok := strings.CutPrefix(strings.TrimLeft(p.rest, " "), text)
	if ok {
		p.rest = rest
	}
	return ok
}

func (p *shapeParser) word() string {
	p.rest = strings.TrimLeft(p.rest, " ")
	end := strings.IndexFunc(p.rest, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	word := p.rest[:end]
	p.rest = p.rest[end:]
	return word
}
