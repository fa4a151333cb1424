package desired

import (
	"fmt"
	"slices"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/certificate"
)

// OfSecret gives the placeholder for the id of the certificate of annotation tls-secret, or as text for users why there is none yet.
// Without the annotation ok is false.
func (b *Builder) OfSecret() (id, lacks string, ok bool) {
	if !b.Values.Has(annotation.TLSSecret) {
		return "", "", false
	}
	if b.Values.Has(annotation.CertID) {
		b.Problem("annotation %s can't be used together with annotation %s: remove one of the two", b.Values.Name(annotation.TLSSecret),
			b.Values.Name(annotation.CertID))
	}
	id, lacks = b.FromSecret(annotation.TLSSecret, b.Values.Text(annotation.TLSSecret))
	return id, lacks, true
}

// FromSecret gives the placeholder for the id of the certificate in a Secret that an annotation names. Without one the reason, as text for
// users, is reported as what is lacking: the certificate of before stays.
func (b *Builder) FromSecret(key, secret string) (id, lacks string) {
	s, known := b.secrets[secret]
	name := annotation.SecretIn(b.View.Service.Namespace, secret)
	switch {
	case !s.May() && *s.Claim == certificate.Refused:
		b.Problem("annotation %s is refused: Secret %s is in another namespace, and only the Service that is made for a Gateway may name "+
			"it; name a Secret of namespace %s, or use a Gateway that names it in certificateRefs, with a ReferenceGrant in namespace %s",
			b.Values.Name(key), secret, b.View.Service.Namespace, name.Namespace)
		return "", ""
	case !s.May() && *s.Claim == certificate.Withdrawn:
		return "", withdrawn(secret)
	case !s.May():
		s.Problem = "it is in another namespace, and just now nothing proves that a Gateway may use it"
	case s.Forbidden:
		b.Problem("annotation %s is refused: the controller may not read the Secrets of namespace %s; list the namespace in "+
			"tlsSecretNamespaces of the configuration (in the chart components.lbcontroller.config.tlsSecretNamespaces)",
			b.Values.Name(key), name.Namespace)
		return "", ""
	case !known:
		s.Problem = "it isn't known yet"
	}
	c, problem := certificate.Of(s, b.now)
	if problem != "" {
		lacks = fmt.Sprintf("Secret %s of annotation %s can't be used: %s; correct it, or name another one", secret, b.Values.Name(key), problem)
		b.lacking = once(b.lacking, lacks)
		return "", lacks
	}
	if b.certificates == nil {
		b.certificates = map[string]certificate.Certificate{}
	}
	b.certificates[c.Placeholder()] = c
	return c.Placeholder(), ""
}

// withdrawn says, as text for users, why a port has no listener.
func withdrawn(secret string) string {
	return fmt.Sprintf("Secret %s may not be used any more: no listener of the Gateway names it with a ReferenceGrant; see the "+
		"conditions of its listeners", secret)
}

// RefuseWithdrawn refuses the port of an index if a certificate that is asked for it may not be used any more: its listener
// goes, and all others are served.
func (b *Builder) RefuseWithdrawn(index int, at annotation.Values) bool {
	certificates := slices.Clone(at.List(annotation.AdditionalCertIDs))
	for _, p := range at.Pairs(annotation.DomainExtensions) {
		certificates = append(certificates, p.Value)
	}
	names := []string{at.Text(annotation.TLSSecret)}
	for _, c := range certificates {
		if name, ok := annotation.SecretName(c); ok {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if s := b.secrets[name]; s.Claim != nil && *s.Claim == certificate.Withdrawn {
			b.RefusePort(index, "%s", withdrawn(name))
			b.withdrawn = true
			return true
		}
	}
	return false
}
