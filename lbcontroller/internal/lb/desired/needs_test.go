package desired_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// TestNothingLacksInSilence sets each annotation that needs others, without them and with them.
func TestNothingLacksInSilence(t *testing.T) {
	t.Parallel()
	for _, kind := range []annotation.LoadBalancer{annotation.CLB, annotation.NLB} {
		for _, spec := range annotation.TableFor(kind) {
			for _, protocol := range protocolsFor(kind, spec) {
				needs := slices.DeleteFunc(slices.Clone(spec.Needs), func(n annotation.Need) bool {
					return len(n.Protocols) > 0 && !slices.Contains(n.Protocols, protocol)
				})
				for lacking := range needs {
					t.Run(fmt.Sprintf("%s/%s/%s/%s", kind, protocol, spec.Key, needs[lacking].Key), func(t *testing.T) {
						t.Parallel()
						around := whole(kind, protocol, spec)
						told := toldOf(t, kind, around, spec.Key)
						if told != "" {
							t.Fatalf("with all that it needs: %s", told)
						}
						need := needs[lacking]
						delete(around, need.Key)
						if slices.Contains(need.Values, annotation.NotSet) {
							around[need.Key] = otherThan(kind, need)
						}
						if told = toldOf(t, kind, around, spec.Key); !strings.Contains(told, need.Key) {
							t.Errorf("without %s: %q", need.Key, told)
						}
					})
				}
			}
		}
	}
}

// protocolsFor are the protocols with which an annotation is tried.
func protocolsFor(kind annotation.LoadBalancer, spec annotation.Spec) []string {
	all := []string{"tcp", "udp", "http", "https"}
	if kind == annotation.NLB {
		all = []string{"tcp", "udp", "tcpssl"}
	}
	return slices.DeleteFunc(all, func(p string) bool { return len(spec.Protocols) > 0 && !slices.Contains(spec.Protocols, p) })
}

// whole are an annotation and all that it needs, and that these need in turn.
func whole(kind annotation.LoadBalancer, protocol string, spec annotation.Spec) map[string]string {
	one, two := choicesOf(spec)
	switch {
	case spec.Kind == annotation.Pairs:
		one = "id-1:80"
	case spec.Key == annotation.HealthCheckType && protocol != "udp": // One by UDP is for that alone.
		one = two
	}
	around := map[string]string{annotation.ProtocolPort: protocol + ":80", spec.Key: one}
	if protocol == "https" || protocol == "tcpssl" {
		around[annotation.CertID] = "cert-1"
	}
	for _, n := range spec.Needs {
		if len(n.Protocols) == 0 || slices.Contains(n.Protocols, protocol) {
			if around[n.Key] = "id-1:80"; n.Key == annotation.ID {
				around[n.Key] = "lb-1"
			}
			if len(n.Values) > 0 {
				around[n.Key] = n.Values[0]
			}
		}
	}
	for key, also := range map[string][2]string{
		annotation.StickySession: {annotation.StickySessionType, "insert"}, annotation.StickySessionType: {annotation.CookieTimeout, "60"},
		annotation.ACLStatus: {annotation.ACLID, "acl-1"}, annotation.ACLID: {annotation.ACLType, "white"},
		annotation.CACert: {annotation.CACertID, "ca-1"}, annotation.ALPN: {annotation.ALPNPolicy, "HTTP2Only"},
		annotation.ChargeType: {annotation.InstanceChargeType, "PayBySpec"}, annotation.EIPAllocate: {annotation.AddressType, "intranet"},
	} {
		if _, isThere := around[key]; isThere {
			around[also[0]] = cmp.Or(around[also[0]], also[1])
		}
	}
	if around[annotation.ChargeType] != "" {
		around[annotation.Bandwidth] = cmp.Or(around[annotation.Bandwidth], "5")
	}
	if around[annotation.StickySessionType] == "server" {
		around[annotation.Cookie] = cmp.Or(around[annotation.Cookie], "id")
	}
	return around
}

// otherThan is a value that a need doesn't take.
func otherThan(kind annotation.LoadBalancer, need annotation.Need) string {
	for _, spec := range annotation.TableFor(kind) {
		if spec.Key != need.Key {
			continue
		}
		for _, value := range append(slices.Clone(spec.Values), "on", "off") {
			if !slices.Contains(need.Values, value) {
				return value
			}
		}
	}
	return ""
}

// toldOf is what is told of an annotation in vain.
func toldOf(t *testing.T, kind annotation.LoadBalancer, around map[string]string, key string) string {
	t.Helper()
	number := port("x", 80, intstr.FromInt32(1))
	if strings.HasPrefix(around[annotation.ProtocolPort], "udp") {
		number.Protocol = corev1.ProtocolUDP
	}
	result, err := buildKind(kind, service(around, number))
	if err != nil { // What is refused isn't silent.
		return err.Error()
	}
	for _, text := range result.WithoutEffect {
		if strings.HasPrefix(text, "annotation "+annotation.Prefix+key+" ") {
			return text
		}
	}
	return ""
}

// TestBackendsInVain sets annotations about backends that the Service doesn't have.
func TestBackendsInVain(t *testing.T) {
	t.Parallel()
	local := func(svc *corev1.Service) { svc.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal }
	for name, test := range map[string]struct {
		annotations map[string]string
		with        func(*corev1.Service)
		want        []string
	}{
		"pods in capitals": {annotations: map[string]string{annotation.BackendType: "ENI"}, want: []string{`backend-type: value "ENI"`}},
		"pods misspelt":    {annotations: map[string]string{annotation.BackendType: "pod"}, want: []string{`backend-type: value "pod"`}},
		"nodes":            {annotations: map[string]string{annotation.BackendType: "ecs", annotation.MaxNodes: "3"}},
		"nodes, for pods": {annotations: map[string]string{annotation.BackendType: "eni", annotation.MaxNodes: "3",
			annotation.BackendLabel: "a=b", annotation.RemoveUnscheduled: "on"},
			want: []string{annotation.BackendLabel, annotation.RemoveUnscheduled, annotation.MaxNodes}},
		"all nodes, for Local": {annotations: map[string]string{annotation.MaxNodes: "3", annotation.DefaultWeight: "5",
			annotation.BackendLabel: "a=b"}, with: local, want: []string{annotation.MaxNodes, annotation.DefaultWeight}},
	} {
		for _, kind := range []annotation.LoadBalancer{annotation.CLB, annotation.NLB} {
			svc := service(test.annotations)
			if test.with != nil {
				test.with(svc)
			}
			result, err := buildKind(kind, svc)
			if err != nil || len(result.WithoutEffect) != len(test.want) {
				t.Errorf("%s, %s: %v, %q", name, kind, err, result.WithoutEffect)
				continue
			}
			for i, want := range test.want {
				if !strings.Contains(result.WithoutEffect[i], want) {
					t.Errorf("%s, %s: %q doesn't name %s", name, kind, result.WithoutEffect[i], want)
				}
			}
		}
	}
}

// TestOtherTransport asks for listeners that never reach the port of a node.
func TestOtherTransport(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind     annotation.LoadBalancer
		protocol string
		over     corev1.Protocol
		backends string
		told     bool
	}{
		{annotation.CLB, "http", corev1.ProtocolUDP, "ecs", true},
		{annotation.CLB, "udp", corev1.ProtocolTCP, "ecs", true},
		{annotation.CLB, "http", corev1.ProtocolTCP, "ecs", false},
		{annotation.CLB, "http", corev1.ProtocolUDP, "eni", false},
		{annotation.NLB, "tcp", corev1.ProtocolUDP, "ecs", true},
		{annotation.NLB, "udp", corev1.ProtocolTCP, "ecs", true},
		{annotation.NLB, "udp", corev1.ProtocolUDP, "ecs", false},
		{annotation.NLB, "tcp", corev1.ProtocolUDP, "eni", false},
	} {
		number := port("x", 53, intstr.FromInt32(53))
		number.Protocol = test.over
		annotations := map[string]string{annotation.ProtocolPort: test.protocol + ":53", annotation.BackendType: test.backends}
		result, err := buildKind(test.kind, service(annotations, number))
		if err != nil {
			t.Fatal(err)
		}
		told := strings.Join(result.WithoutEffect, "; ")
		if (told != "") != test.told || test.told && !strings.Contains(told, annotation.Prefix+annotation.ProtocolPort) {
			t.Errorf("%v: %q", test, told)
		}
	}
}
