package annotation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// accessWords are the keys that decide who may connect; the first one switches. Access is never opened by the lack of one, by a slip in
// one, or by one that is for the other kind of load balancers.
func accessWords(kind LoadBalancer) []string {
	if kind == NLB {
		return []string{SecurityGroupIDs}
	}
	return []string{ACLStatus, ACLID, ACLType}
}

// rangesOfOthers is the annotation that Kubernetes had before the field for source ranges, and that some other controllers read.
const rangesOfOthers = "service.beta.kubernetes.io/load-balancer-source-ranges"

// other is the other kind of load balancers.
func (l LoadBalancer) other() LoadBalancer {
	if l == NLB {
		return CLB
	}
	return NLB
}

// counterpart says how the access to a load balancer of the kind is restricted.
func (l LoadBalancer) counterpart() string {
	if l == NLB {
		return "the access to an NLB is restricted by spec.loadBalancerSourceRanges or annotation " + Prefix + SecurityGroupIDs
	}
	return "the access to a CLB is restricted by spec.loadBalancerSourceRanges, or by annotation " + Prefix + ACLStatus +
		" with acl-id and acl-type"
}

// asksNothing reports that a value restricts the access to nobody.
func asksNothing(key, value string) bool {
	if key == SecurityGroupIDs {
		return strings.TrimSpace(value) == None
	}
	on, known := parseSwitch(value)
	return key == ACLStatus && known && !on
}

// Unrestricted says, as text for users, which words about who may connect are on a Service and restrict nothing: those of the other kind,
// misspelt ones, those that stand in the wrong place, and a switch without a value. Nothing is made for such a Service. ranges are those of
// its spec.
func (p Parser) Unrestricted(annotations, labels map[string]string, ranges []string) []string {
	var texts []string
	own, foreign := accessWords(p.kind), accessWords(p.kind.other())
	if isOff := asksNothing(foreign[0], valueOf(annotations, foreign[0])); !isOff {
		for _, key := range foreign {
			if name, _, isSet := lookup(annotations, key); isSet {
				texts = append(texts, fmt.Sprintf("annotation %s is for %ss and restricts nothing here; %s", name, p.kind.other(),
					p.kind.counterpart()))
			}
		}
	}
	if name, value, isSet := lookup(annotations, own[0]); name != "" && !isSet && strings.TrimSpace(value) == "" {
		texts = append(texts, fmt.Sprintf("annotation %s has no value, and restricts nothing; give it one, or remove it", name))
	}
	for _, name := range slices.Sorted(maps.Keys(annotations)) {
		if key := p.misspelt(name); key != "" && !IsSet(annotations, key) && annotations[name] != "" {
			texts = append(texts, fmt.Sprintf("annotation %s is not known and restricts nothing; did you mean %s%s? %s", name, Prefix, key,
				p.kind.counterpart()))
		}
	}
	if annotations[rangesOfOthers] != "" && len(ranges) == 0 {
		texts = append(texts, fmt.Sprintf("annotation %s restricts nothing; %s", rangesOfOthers, p.kind.counterpart()))
	}
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		if wordAtTheEnd(name) != "" {
			texts = append(texts, fmt.Sprintf("label %s restricts nothing; it has to be an annotation: %s", name, p.kind.counterpart()))
		}
	}
	return texts
}

// misspelt returns the word about who may connect that an unknown annotation is most like; empty if it is like none.
func (p Parser) misspelt(name string) string {
	words := slices.Concat(accessWords(p.kind), accessWords(p.kind.other()))
	key, isOurs := strings.CutPrefix(name, Prefix)
	if !isOurs {
		key, isOurs = strings.CutPrefix(name, LegacyPrefix)
	}
	if !isOurs {
		return wordAtTheEnd(name)
	}
	if slices.Contains(p.keys(), key) || slices.Contains(words, key) {
		return ""
	}
	if near := nearest(key, append(p.keys(), words...)); slices.Contains(words, near) {
		return near
	}
	return ""
}

// wordAtTheEnd returns the word about who may connect with which a name of a load balancer's annotation ends, whatever its prefix.
func wordAtTheEnd(name string) string {
	for _, word := range slices.Concat(accessWords(CLB), accessWords(NLB)) {
		if strings.HasSuffix(name, "loadbalancer-"+word) || strings.HasSuffix(name, "load-balancer-"+word) {
			return word
		}
	}
	return ""
}

// valueOf is the value of an annotation, under either prefix.
func valueOf(annotations map[string]string, key string) string {
	_, value, _ := lookup(annotations, key)
	return value
}

// ForOther reports whether an annotation is one of the other kind of load balancers, and which that is.
func (p Parser) ForOther(name string) (LoadBalancer, bool) {
	key, isOurs := strings.CutPrefix(name, Prefix)
	if !isOurs {
		key, isOurs = strings.CutPrefix(name, LegacyPrefix)
	}
	other := p.kind.other()
	return other, isOurs && slices.ContainsFunc(TableFor(other), func(s Spec) bool { return s.Key == key })
}

// ClassOf is the class of load balancers that a Service asks for: in its spec, or by the annotation that is older than the field.
func ClassOf(field *string, annotations map[string]string) (class string, isAsked bool) {
	if field != nil {
		return *field, true
	}
	class = annotations[Class]
	return class, class != ""
}
