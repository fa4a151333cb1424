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
	for _, value := range partsOf(annotations, TLSSecret) {
		names = append(names, strings.TrimSpace(value.raw))
	}
	for _, value := range partsOf(annotations, DomainExtensions) {
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

// partsOf is the value of an annotation of CLBs, taken apart.
func partsOf(annotations map[string]string, key string) []part {
	_, value, ok := lookup(annotations, key)
	at := slices.IndexFunc(Table(), func(s Spec) bool { return s.Key == key })
	if !ok || at < 0 {
		return nil
	}
	return Table()[at].split(value)
}
