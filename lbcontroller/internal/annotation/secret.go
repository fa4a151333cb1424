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

// Secrets are the names of the Secrets with certificates that a Service names, in its namespace.
func Secrets(annotations map[string]string) []string {
	var names []string
	if _, value, ok := lookup(annotations, TLSSecret); ok {
		names = append(names, strings.TrimSpace(value))
	}
	_, value, _ := lookup(annotations, DomainExtensions)
	for _, pair := range splitList(value) {
		_, certificate, _ := strings.Cut(pair, ":")
		if name, ok := SecretName(strings.TrimSpace(certificate)); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
