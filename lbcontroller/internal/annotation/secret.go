package annotation

import (
	"slices"
	"strings"
)

// secretPrefix stands before the name of a Secret where else the id of a certificate would stand.
const secretPrefix = "secret/"

// SecretName is the Secret that stands in place of the id of a certificate.
func SecretName(certificate string) (name string, ok bool) {
	return strings.CutPrefix(certificate, secretPrefix)
}

// Secrets are the names of the Secrets with certificates that a Service names for any port, in its namespace.
func Secrets(annotations map[string]string) []string {
	var names []string
	for _, value := range partsOf(annotations, CLB, TLSSecret) { // NLBs share the row.
		names = append(names, strings.TrimSpace(value.raw))
	}
	for _, value := range partsOf(annotations, NLB, AdditionalCertIDs) {
		for _, certificate := range splitList(value.raw) {
			if name, ok := SecretName(certificate); ok {
				names = append(names, name)
			}
		}
	}
	for _, value := range partsOf(annotations, CLB, DomainExtensions) {
		for _, pair := range splitList(value.raw) {
			_, certificate, _ := strings.Cut(pair, ":")
			if name, ok := SecretName(strings.TrimSpace(certificate)); ok {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// partsOf is the value of an annotation of a kind, taken apart.
func partsOf(annotations map[string]string, kind LoadBalancer, key string) []part {
	_, value, ok := lookup(annotations, key)
	at := slices.IndexFunc(TableFor(kind), func(s Spec) bool { return s.Key == key })
	if !ok || at < 0 {
		return nil
	}
	return TableFor(kind)[at].split(value)
}
