package gatewayapi

import (
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/backend"
	"alicloud-controllers.dev/lbcontroller/internal/certificate"
	"alicloud-controllers.dev/lbcontroller/internal/shadow"
)

// claimed is a Gateway with a ListenerSet in a third namespace, which both name Secrets of others, and grants for them.
const claimed = `apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: gw, namespace: infra}
spec:
  gatewayClassName: nlb
  listeners:
  - {name: own, protocol: TLS, port: 443, tls: {certificateRefs: [{name: web, namespace: red}, {name: more, namespace: red}]}}
  - {name: tcp, protocol: TCP, port: 80}
  allowedListeners: {namespaces: {from: All}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {name: set, namespace: green}
spec:
  parentRef: {name: gw, namespace: infra}
  listeners:
  - {name: a, protocol: TLS, port: 8443, tls: {certificateRefs: [{name: db, namespace: blue}]}}
  - {name: b, protocol: TLS, port: 9443, tls: {certificateRefs: [{name: home}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: ReferenceGrant
metadata: {name: gateways, namespace: red}
spec:
  from: [{group: gateway.networking.k8s.io, kind: Gateway, namespace: infra}]
  to: [{group: "", kind: Secret}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: ReferenceGrant
metadata: {name: sets, namespace: blue}
spec:
  from: [{group: gateway.networking.k8s.io, kind: ListenerSet, namespace: green}]
  to: [{group: "", kind: Secret, name: db}]
`

// attack changes the cluster or the Service, which is the one that was made before.
type attack func(w *World, svc *corev1.Service)

// grants changes each ReferenceGrant.
func grants(change func(spec *gatewayv1.ReferenceGrantSpec)) attack {
	return func(w *World, _ *corev1.Service) {
		for _, g := range w.Grants {
			change(&g.Spec)
		}
	}
}

// gatewayIs changes the Gateway.
func gatewayIs(change func(g *gatewayv1.Gateway)) attack {
	return func(w *World, _ *corev1.Service) { change(w.Gateways[0]) }
}

// forged is what somebody writes on the Service.
func forged(key, value string) attack {
	return func(_ *World, svc *corev1.Service) { svc.Annotations[annotation.Prefix+key] = value }
}

// TestMayUse: who may use Secrets of other namespaces: red/web and red/more by the Gateway, blue/db and green/home by a
// ListenerSet of namespace green.
func TestMayUse(t *testing.T) {
	t.Parallel()
	common, err := os.ReadFile("testdata/common.yaml")
	if err != nil {
		t.Fatal(err)
	}
	const proven, unproven, withdrawn, refused = certificate.Proven, certificate.Unproven, certificate.Withdrawn, certificate.Refused
	nothing := gatewayIs(func(g *gatewayv1.Gateway) { g.Spec.TLS = &gatewayv1.GatewayTLSConfig{} })
	type claims struct{ web, more, db, home certificate.Claim }
	all := func(c certificate.Claim) claims { return claims{c, c, c, c} }
	for name, c := range map[string]struct {
		attack attack
		want   claims
	}{
		"as it is": {func(*World, *corev1.Service) {}, all(proven)},
		"a label and a node port more": {func(_ *World, svc *corev1.Service) {
			svc.Labels["mine"], svc.Spec.Ports[0].NodePort = "x", 30001
		}, all(proven)},

		// The Service is another one.
		"no owner":    {func(_ *World, svc *corev1.Service) { svc.OwnerReferences = nil }, all(withdrawn)},
		"no label":    {func(_ *World, svc *corev1.Service) { delete(svc.Labels, shadow.LabelManagedBy) }, all(refused)},
		"owner's UID": {func(_ *World, svc *corev1.Service) { svc.OwnerReferences[0].UID = "before" }, all(withdrawn)},
		"no controller": {func(_ *World, svc *corev1.Service) {
			svc.OwnerReferences[0].Controller = nil
		}, all(withdrawn)},
		"another name": {func(_ *World, svc *corev1.Service) { svc.Name = "mine" }, all(refused)},
		"the name for a CLB": {func(_ *World, svc *corev1.Service) {
			svc.Name = serviceName(types.NamespacedName{Namespace: "infra", Name: "gw"}, CLBController).Name
		}, all(refused)},
		"another namespace": {func(_ *World, svc *corev1.Service) { svc.Namespace = "red" }, all(withdrawn)},
		"a selector":        {func(_ *World, svc *corev1.Service) { svc.Spec.Selector = map[string]string{"a": "b"} }, all(unproven)},
		"a port more": {func(_ *World, svc *corev1.Service) {
			svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Port: 1})
		}, all(unproven)},
		"the certificate at all":  {forged(annotation.TLSSecret, "red/web"), all(unproven)},
		"another protocol":        {forged(annotation.ProtocolPort, "tcpssl:80"), all(unproven)},
		"a certificate elsewhere": {forged(annotation.AdditionalCertIDs, "80:secret/red/web"), all(unproven)},
		"a certificate by domain": {forged(annotation.DomainExtensions, "443:a.example.com:secret/green/home"), all(unproven)},
		"a certificate by an older name": {func(_ *World, svc *corev1.Service) {
			svc.Annotations[annotation.LegacyPrefix+annotation.DomainExtensions] = "443:a.example.com:secret/green/home"
		}, all(unproven)},
		"it is made at the moment": {func(_ *World, svc *corev1.Service) {
			svc.Annotations, svc.Spec.Ports = nil, svc.Spec.Ports[:1]
		}, all(unproven)},

		// The Gateway is another one, or none.
		"no Gateway":      {func(w *World, _ *corev1.Service) { w.Gateways = nil }, all(withdrawn)},
		"made anew":       {gatewayIs(func(g *gatewayv1.Gateway) { g.UID = "another" }), all(withdrawn)},
		"being deleted":   {gatewayIs(func(g *gatewayv1.Gateway) { g.DeletionTimestamp = new(metav1.Now()) }), all(unproven)},
		"other class":     {gatewayIs(func(g *gatewayv1.Gateway) { g.Spec.GatewayClassName = "other" }), all(unproven)},
		"for a CLB":       {gatewayIs(func(g *gatewayv1.Gateway) { g.Spec.GatewayClassName = "clb" }), all(refused)},
		"no such class":   {gatewayIs(func(g *gatewayv1.Gateway) { g.Spec.GatewayClassName = "gone" }), all(unproven)},
		"class is broken": {func(w *World, _ *corev1.Service) { w.Lacks = "tcproutes" }, all(unproven)},
		"NLBs are off":    {func(w *World, _ *corev1.Service) { w.NoNLB = true }, all(unproven)},
		"nothing is made": {nothing, all(unproven)},
		"nothing is made and granted": {func(w *World, svc *corev1.Service) {
			nothing(w, svc)
			w.Grants = nil
		}, claims{withdrawn, withdrawn, withdrawn, unproven}},

		"nothing is made, and all Secrets are others": {func(w *World, svc *corev1.Service) {
			nothing(w, svc)
			w.Gateways[0].Spec.Listeners[0].TLS.CertificateRefs = []gatewayv1.SecretObjectReference{{Name: "next"}}
			w.ListenerSets[0].Spec.Listeners[0].TLS.CertificateRefs = []gatewayv1.SecretObjectReference{{Name: "next"}}
		}, all(unproven)},

		// It names something else.
		"another Secret": {gatewayIs(func(g *gatewayv1.Gateway) { g.Spec.Listeners[0].TLS.CertificateRefs[1].Name = "next" }),
			all(unproven)},
		"another Secret, which the Service has": {func(w *World, svc *corev1.Service) {
			gatewayIs(func(g *gatewayv1.Gateway) { g.Spec.Listeners[0].TLS.CertificateRefs[1].Name = "next" })(w, svc)
			*svc = *made(w)
		}, claims{proven, unproven, proven, proven}},
		"TLS isn't ended": {gatewayIs(func(g *gatewayv1.Gateway) {
			g.Spec.Listeners[0].TLS.Mode = new(gatewayv1.TLSModePassthrough)
		}), all(unproven)},
		"no Secret": {gatewayIs(func(g *gatewayv1.Gateway) {
			g.Spec.Listeners[0].TLS.CertificateRefs[0].Kind = new(gatewayv1.Kind("ConfigMap"))
		}), all(unproven)},
		"the set is barred":    {gatewayIs(func(g *gatewayv1.Gateway) { g.Spec.AllowedListeners = nil }), all(unproven)},
		"the set is gone":      {func(w *World, _ *corev1.Service) { w.ListenerSets = nil }, all(unproven)},
		"the set is another's": {func(w *World, _ *corev1.Service) { w.ListenerSets[0].Spec.ParentRef.Name = "gw2" }, all(unproven)},
		"the set is gone, which the Service knows": {func(w *World, svc *corev1.Service) {
			w.ListenerSets = nil
			*svc = *made(w)
		}, claims{proven, proven, unproven, unproven}},

		// The grants are for others. What is left of the Service would be another one.
		"no grants": {func(w *World, _ *corev1.Service) { w.Grants = nil }, claims{withdrawn, withdrawn, withdrawn, unproven}},
		"grants of another namespace": {func(w *World, _ *corev1.Service) { w.Grants[0].Namespace, w.Grants[1].Namespace = "x", "x" },
			claims{withdrawn, withdrawn, withdrawn, unproven}},
		"from another kind": {grants(func(s *gatewayv1.ReferenceGrantSpec) { s.From[0].Kind = kindTCPRoute }),
			claims{withdrawn, withdrawn, withdrawn, unproven}},
		"from another group": {grants(func(s *gatewayv1.ReferenceGrantSpec) { s.From[0].Group = "example.com" }),
			claims{withdrawn, withdrawn, withdrawn, unproven}},
		"from another namespace": {grants(func(s *gatewayv1.ReferenceGrantSpec) { s.From[0].Namespace = "x" }),
			claims{withdrawn, withdrawn, withdrawn, unproven}},
		"to another kind": {grants(func(s *gatewayv1.ReferenceGrantSpec) { s.To[0].Kind = kindService }),
			claims{withdrawn, withdrawn, withdrawn, unproven}},
		"to another group": {grants(func(s *gatewayv1.ReferenceGrantSpec) { s.To[0].Group = "example.com" }),
			claims{withdrawn, withdrawn, withdrawn, unproven}},
		"to another name": {grants(func(s *gatewayv1.ReferenceGrantSpec) { s.To[0].Name = new(gatewayv1.ObjectName("more")) }),
			claims{withdrawn, unproven, withdrawn, unproven}},
		"for Gateways in place of ListenerSets": {func(w *World, _ *corev1.Service) {
			blue := slices.IndexFunc(w.Grants, func(g *gatewayv1.ReferenceGrant) bool { return g.Namespace == "blue" })
			w.Grants[blue].Spec.From[0].Kind, w.Grants[blue].Spec.From[0].Namespace = kindGateway, "infra"
		}, claims{unproven, unproven, withdrawn, unproven}},
		"for ListenerSets in place of Gateways": {func(w *World, _ *corev1.Service) {
			red := slices.IndexFunc(w.Grants, func(g *gatewayv1.ReferenceGrant) bool { return g.Namespace == "red" })
			w.Grants[red].Spec.From[0].Kind = kindListenerSet
		}, claims{withdrawn, withdrawn, unproven, unproven}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := worldOf(append(decode(t, common), decode(t, []byte(claimed))...), Options{})
			svc := made(w)
			if svc == nil {
				t.Fatal("there is no Service")
			}
			c.attack(w, svc)
			before := slices.Clone(w.Gateways)
			use := func(namespace, name string) certificate.Claim {
				return w.MayUse(svc, types.NamespacedName{Namespace: namespace, Name: name})
			}
			got := claims{use("red", "web"), use("red", "more"), use("blue", "db"), use("green", "home")}
			if got != c.want {
				t.Errorf("%v, want %v (refused, unproven, withdrawn, proven)", got, c.want)
			}
			for _, other := range []string{"red/other", "red/", "/web", "infra/web", "kube-system/web", "red/web/more"} {
				namespace, name, _ := strings.Cut(other, "/")
				if use(namespace, name) == proven {
					t.Errorf("%s may be used, and nobody names it", other)
				}
			}
			if !slices.Equal(before, w.Gateways) {
				t.Error("the World is another one now")
			}
		})
	}
}

// made is the Service that is made for the Gateway.
func made(w *World) *corev1.Service {
	for _, g := range w.Translate().Gateways {
		return g.Service.DeepCopy()
	}
	return nil
}

// TestMayUseWithoutAGateway: nobody may use anything of an empty cluster, whatever the Service says.
func TestMayUseWithoutAGateway(t *testing.T) {
	t.Parallel()
	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "gw-gw-ccf4c4e121",
		OwnerReferences: []metav1.OwnerReference{{Kind: kindGateway, Name: "gw", Controller: new(true)}}}}
	w, secret := worldOf([]runtime.Object{}, Options{}), types.NamespacedName{Namespace: "red", Name: "web"}
	if got := w.MayUse(svc, secret); got != certificate.Refused {
		t.Error(got)
	}
	svc.Labels = map[string]string{shadow.LabelManagedBy: backend.SlicesManager}
	if got := w.MayUse(svc, secret); got != certificate.Withdrawn {
		t.Error(got)
	}
}
