package annotation

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// secretPrefix stands before the name of a Secret where else the id of a certificate would stand.
const secretPrefix = "secret/"

// SecretName is the Secret that stands in place of the id of a certificate.
func SecretName(certificate string) (name string, ok bool) {
	return strings.CutPrefix(certificate, secretPrefix)
}

// SecretIn says which Secret a name means on a Service in a namespace. One of another namespace is NAMESPACE/NAME.
func SecretIn(namespace, named string) types.NamespacedName {
	if other, name, ok := strings.Cut(named, "/"); ok {
		return types.NamespacedName{Namespace: other, Name: name}
	}
	return types.NamespacedName{Namespace: namespace, Name: named}
}

// NameSecret names a Secret on a Service in a namespace, as SecretIn reads it.
func NameSecret(namespace string, secret types.NamespacedName) string {
	if secret.Namespace == namespace {
		return secret.Name
	}
	return secret.String()
}

// Terminate adds to the values of annotations, by key, what a Service in a namespace says of a listener at which TLS ends: with a
// certificate of the cloud, if it has an id, or with Secrets. It is what Secrets and the Parser read.
func Terminate(said map[string][]string, namespace string, port int32, isNLB bool, id string, secrets []types.NamespacedName) {
	add := func(key, value string) { said[key] = append(said[key], fmt.Sprintf("%d:%s", port, value)) }
	protocol := "https"
	if isNLB {
		protocol = "tcpssl"
	}
	said[ProtocolPort] = append(said[ProtocolPort], fmt.Sprintf("%s:%d", protocol, port))
	if id != "" {
		add(CertID, id)
	}
	for i, secret := range secrets {
		if i == 0 {
			add(TLSSecret, NameSecret(namespace, secret))
		} else {
			add(AdditionalCertIDs, secretPrefix+NameSecret(namespace, secret))
		}
	}
}

// SameSecrets reports whether two Services name the same Secrets, at the same ports.
func SameSecrets(a, b map[string]string) bool {
	return !slices.ContainsFunc([]string{TLSSecret, AdditionalCertIDs, DomainExtensions}, func(key string) bool {
		_, one, _ := lookup(a, key)
		_, other, _ := lookup(b, key)
		return one != other
	})
}

// Secrets are the names of the Secrets with certificates that a Service names for any port, for SecretIn.
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
