package nlb_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/cloudgateway/writetest"
	"alicloud-controllers.dev/services/logging"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/backend"
	"alicloud-controllers.dev/lbcontroller/internal/certificate"
	"alicloud-controllers.dev/lbcontroller/internal/clb"
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
	"alicloud-controllers.dev/lbcontroller/internal/nlb"
)

// TestSecretsOfOtherNamespaces: what becomes of a listener on port 443 that names Secret red/web, beside one on port 80.
func TestSecretsOfOtherNamespaces(t *testing.T) {
	t.Parallel()
	pair, err := writetest.NewKeyPair("web")
	if err != nil {
		t.Fatal(err)
	}
	good := certificate.Secret{Chain: pair.GetCertificatePem(), Key: logging.Secret(pair.GetPrivateKeyPem())}
	kinds := map[annotation.LoadBalancer]struct {
		kind     desired.Configurer
		protocol string
		further  []string
	}{
		annotation.CLB: {clb.Product{}, "https", []string{annotation.DomainExtensions, "a.example.com:secret/red/web"}},
		annotation.NLB: {nlb.Product{VPCID: "vpc-test", VSwitchIDs: []string{"vsw-h", "vsw-i"}}, "tcpssl",
			[]string{annotation.AdditionalCertIDs, "secret/red/web"}},
	}
	for name, c := range map[string]struct {
		claim     certificate.Claim
		forbidden bool
		listeners int    // that there are
		waits     string // what the one waits for
		refused   string // ports, by the text
		wrong     string // all of the Service, by the text
	}{
		"proven":           {claim: certificate.Proven, listeners: 2},
		"proven, not read": {claim: certificate.Proven, forbidden: true, wrong: "may not read the Secrets of namespace red"},
		"unproven":         {claim: certificate.Unproven, listeners: 2, waits: "nothing proves that a Gateway may use it"},
		"withdrawn":        {claim: certificate.Withdrawn, listeners: 1, refused: "Secret red/web may not be used any more"},
		"refused": {claim: certificate.Refused, wrong: "Secret red/web is in another namespace, and only the Service that is made for a " +
			"Gateway may name it; name a Secret of namespace default, or use a Gateway that names it in certificateRefs, with a " +
			"ReferenceGrant in namespace red"},
	} {
		for kindName, kind := range kinds {
			for where, pairs := range map[string][]string{
				"for all ports": {annotation.TLSSecret, "red/web"}, "for one port": {annotation.TLSSecret, "443:red/web"},
				"beside another": append([]string{annotation.CertID, "1-cn-hangzhou"}, kind.further...),
			} {
				t.Run(name+", "+string(kindName)+" "+where, func(t *testing.T) {
					t.Parallel()
					svc := web(annotated(pairs...), annotated(annotation.ProtocolPort, kind.protocol+":443"), func(svc *corev1.Service) {
						svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: "s", Port: 443, NodePort: 30443,
							Protocol: corev1.ProtocolTCP})
					})
					cfg := desired.Config{ClusterID: clusterID, VPCID: "vpc-test", Parser: annotation.NewParser(kindName),
						DottedNames: kindName == annotation.NLB}
					secret := good
					if c.claim != certificate.Proven {
						secret = certificate.Secret{} // It isn't read.
					}
					secret.Claim, secret.Forbidden = &c.claim, c.forbidden
					result, err := desired.Build(cfg, desired.Input{View: cfg.View(svc), Nodes: backend.New(nil), Now: time.Now(),
						Secrets: map[string]certificate.Secret{"red/web": secret}}, kind.kind)
					if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
						t.Fatalf("%v, want %q", err, c.wrong)
					}
					if err != nil {
						return
					}
					d := result.Desired
					if text := strings.Join(d.Refused, "; "); len(d.Listeners) != c.listeners || (text == "") != (c.refused == "") ||
						!strings.Contains(text, c.refused) {
						t.Errorf("%d listeners, refused: %q", len(d.Listeners), text)
					}
					if lacks := strings.Join(result.Lacking, "; "); (lacks == "") != (c.waits == "") || !strings.Contains(lacks, c.waits) {
						t.Errorf("lacking: %q", lacks)
					}
					if (len(result.Certificates) > 0) != (c.claim == certificate.Proven) {
						t.Errorf("certificates: %v", result.Certificates)
					}
				})
			}
		}
	}
}

// TestWithdrawnAlone: a Service whose only listener may not have its certificate any more has none, and is not wrong as a
// whole: what is there goes.
func TestWithdrawnAlone(t *testing.T) {
	t.Parallel()
	svc := web(annotated(annotation.TLSSecret, "red/web", annotation.ProtocolPort, "tcpssl:80"))
	cfg := desired.Config{ClusterID: clusterID, VPCID: "vpc-test", Parser: annotation.NewParser(annotation.NLB), DottedNames: true}
	result, err := desired.Build(cfg, desired.Input{View: cfg.View(svc), Nodes: backend.New(nil),
		Secrets: map[string]certificate.Secret{"red/web": {Claim: new(certificate.Withdrawn)}}},
		nlb.Product{VPCID: "vpc-test", VSwitchIDs: []string{"vsw-h", "vsw-i"}})
	if err != nil || len(result.Desired.Listeners) > 0 || len(result.Desired.Groups) > 0 || len(result.Desired.Refused) != 1 {
		t.Errorf("%+v, %v", result.Desired, err)
	}
}
