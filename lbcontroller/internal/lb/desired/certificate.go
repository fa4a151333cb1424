package desired

import (
	"fmt"

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
	switch {
	case s.Forbidden:
		b.Problem("annotation %s is refused: the controller may not read the Secrets of namespace %s; list the namespace in "+
			"tlsSecretNamespaces of the configuration (in the chart components.lbcontroller.config.tlsSecretNamespaces)",
			b.Values.Name(key), b.View.Service.Namespace)
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
