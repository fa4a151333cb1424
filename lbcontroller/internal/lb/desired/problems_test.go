package desired_test

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/backend"
)

// TestProblems lists Services that can't be built; every problem names the field or annotation.
func TestProblems(t *testing.T) {
	t.Parallel()
	sctp := port("x", 80, intstr.FromInt32(1))
	sctp.Protocol = corev1.ProtocolSCTP
	noNodePort := port("x", 80, intstr.FromInt32(1))
	noNodePort.NodePort = 0
	for name, test := range map[string]struct {
		cfg         Config
		annotations map[string]string
		ports       []corev1.ServicePort
		want        []string
	}{
		"no domain": {annotations: map[string]string{
			annotation.DomainExtensions: "a_b.example.com:cert-1"}, want: []string{"domain-extensions"}},
		"two certificates for a domain": {annotations: map[string]string{
			annotation.DomainExtensions: "a.example.com:cert-1,A.example.com:cert-2"}, want: []string{"a.example.com"}},
		"sctp":               {ports: []corev1.ServicePort{sctp}, want: []string{"spec.ports[0].protocol"}},
		"no node port":       {ports: []corev1.ServicePort{noNodePort}, want: []string{"spec.ports[0].nodePort"}},
		"https without cert": {annotations: map[string]string{annotation.ProtocolPort: "https:80"}, want: []string{"cert-id"}},
		"bad port":           {annotations: map[string]string{annotation.ProtocolPort: "http:0"}, want: []string{"protocol-port"}},
		"bad protocol":       {annotations: map[string]string{annotation.ProtocolPort: "quic:80"}, want: []string{"protocol-port"}},
		"two protocols": {annotations: map[string]string{annotation.ProtocolPort: "http:80,tcp:80"},
			want: []string{"protocol-port"}},
		"forward from tcp": {annotations: map[string]string{annotation.ForwardPort: "80:443"}, want: []string{"forward-port"}},
		"forward to nowhere": {annotations: map[string]string{annotation.ForwardPort: "80:443",
			annotation.ProtocolPort: "http:80"}, want: []string{"forward-port"}},
		"bad forward": {annotations: map[string]string{annotation.ForwardPort: "a:b"}, want: []string{"forward-port"}},
		"sticky without type": {annotations: map[string]string{annotation.ProtocolPort: "http:80",
			annotation.StickySession: "on"}, want: []string{"sticky-session-type"}},
		"insert without time": {annotations: map[string]string{annotation.ProtocolPort: "http:80",
			annotation.StickySession: "on", annotation.StickySessionType: "insert"}, want: []string{"cookie-timeout"}},
		"server without cookie": {annotations: map[string]string{annotation.ProtocolPort: "http:80",
			annotation.StickySession: "on", annotation.StickySessionType: "server"}, want: []string{"cookie"}},
		"sch for http": {annotations: map[string]string{annotation.ProtocolPort: "http:80",
			annotation.Scheduler: "sch"}, want: []string{"scheduler"}},
		"qch for tcp": {annotations: map[string]string{annotation.Scheduler: "qch"}, want: []string{"scheduler"}},
		"access lists not in force": {annotations: map[string]string{annotation.ACLID: "acl-1",
			annotation.ACLType: "white"}, want: []string{"acl-status"}},
		"access control without lists": {
			annotations: map[string]string{annotation.ACLStatus: "on"}, want: []string{"acl-id", "acl-type"},
		},
		"private address of a public load balancer": {
			annotations: map[string]string{annotation.Address: "10.0.0.9"}, want: []string{"address-type"},
		},
		"IPv4 address of an IPv6 load balancer": {annotations: map[string]string{annotation.Address: "10.0.0.9",
			annotation.AddressType: "intranet", annotation.IPVersion: "ipv6"},
			want: []string{"address-type", "ip-version"}},
		"by bandwidth without one": {annotations: map[string]string{annotation.ChargeType: "paybybandwidth",
			annotation.InstanceChargeType: "PayBySpec"}, want: []string{"alibaba-cloud-loadbalancer-bandwidth"}},
		"by bandwidth and by usage": {annotations: map[string]string{annotation.ChargeType: "paybybandwidth",
			annotation.Bandwidth: "5"}, want: []string{"paybytraffic"}},
		"reserved over udp": {ports: []corev1.ServicePort{{Name: "vxlan", Port: 4789, NodePort: 30089,
			Protocol: corev1.ProtocolUDP}}, want: []string{"4789"}},
		"reserved tag": {annotations: map[string]string{annotation.AdditionalTags: "acs:x=1,ack.aliyun.com=2"},
			want: []string{"acs:x", "ack.aliyun.com"}},
		"vpc for a public load balancer": {annotations: map[string]string{annotation.NetworkType: "vpc"}, want: []string{"network-type"}},
		"no server group port": {annotations: map[string]string{annotation.ID: "lb-1",
			annotation.VGroupPort: "rsp-1:http"}, want: []string{"vgroup-port"}},
		"two groups for a port": {annotations: map[string]string{annotation.ID: "lb-1",
			annotation.VGroupPort: "rsp-1:80,rsp-2:80"}, want: []string{"vgroup-port"}},
		"one group for two ports": {annotations: map[string]string{annotation.ID: "lb-1", annotation.VGroupPort: "rsp-1:80,rsp-1:81"},
			ports: []corev1.ServicePort{port("a", 80, intstr.FromInt32(1)), port("b", 81, intstr.FromInt32(2))}, want: []string{"vgroup-port"}},
		"all at once": {annotations: map[string]string{annotation.Scheduler: "x", annotation.Bandwidth: "y"},
			ports: []corev1.ServicePort{sctp}, want: []string{"bandwidth", "scheduler", "spec.ports[0]"}},
		"twice the same port": {ports: []corev1.ServicePort{port("a", 80, intstr.FromInt32(1)),
			port("b", 80, intstr.FromInt32(2))}, want: []string{"spec.ports[1]"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.cfg.ClusterID == "" {
				test.cfg = testConfig()
			}
			_, err := Build(test.cfg, Input{View: test.cfg.View(service(test.annotations, test.ports...)), Nodes: backend.New(nil)})
			invalid, ok := errors.AsType[*InvalidError](err)
			if !ok || len(invalid.Problems) != len(test.want) {
				t.Fatalf("got %v, want %d problems", err, len(test.want))
			}
			for i, want := range test.want {
				if !strings.Contains(invalid.Problems[i], want) {
					t.Errorf("problem %q doesn't name %q", invalid.Problems[i], want)
				}
			}
		})
	}
}
