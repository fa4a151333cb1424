package desired_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/backend"
	"alicloud-controllers.dev/lbcontroller/internal/clb"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
)

// TestWeightsOfTheUserStay: weights that were set by hand are overwritten unless the Service says to ignore them, and
// not as long as what it says of weights is wrong. It is so in all groups, the default one, too.
func TestWeightsOfTheUserStay(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		annotations map[string]string
		want        bool
	}{
		"nothing said":   {nil, false},
		"ignored":        {map[string]string{annotation.IgnoreWeightUpdate: "on"}, true},
		"wrong weight":   {map[string]string{annotation.DefaultWeight: "101"}, true},
		"wrong and more": {map[string]string{annotation.DefaultWeight: "101", annotation.IgnoreWeightUpdate: "on"}, true},
	} {
		svc := service(test.annotations)
		svc.Annotations[annotation.Prefix+annotation.DefaultServerGroup] = "on"
		result, err := Build(testConfig(), Input{View: testConfig().View(svc), Nodes: backend.New([]*corev1.Node{node("a")})})
		d := result.Desired
		if invalid, ok := errors.AsType[*InvalidError](err); ok {
			d = invalid.Backends
		}
		if len(d.Groups) != 2 {
			t.Fatalf("%s: %d groups, %v", name, len(d.Groups), err)
		}
		for _, g := range d.Groups {
			if g.KeepWeights != test.want {
				t.Errorf("%s: group %s keeps weights: %t", name, g.Name, g.KeepWeights)
			}
		}
	}
}

// TestZonesAreAskedForByEitherAnnotation: a CLB in another zone than the asked one is reported, whichever of its two zones is asked for.
func TestZonesAreAskedForByEitherAnnotation(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]bool{annotation.MasterZone: true, annotation.SlaveZone: true, annotation.Name: false} {
		if asked, ok := mustBuild(t, testConfig(), service(map[string]string{key: "z1"}),
			nil).Desired.Instance.Asked.(clb.Asked); !ok || asked.Zones != want {
			t.Errorf("%s: zones are asked for: %t", key, asked.Zones)
		}
	}
}

// TestNetworkOfACLBThatExists: a CLB keeps the network it has, so that an annotation that only a new one could not follow keeps no Service
// from working that has its CLB: by its label, its address, or because the user named it.
func TestNetworkOfACLBThatExists(t *testing.T) {
	t.Parallel()
	address := []corev1.LoadBalancerIngress{{IP: "1.2.3.4"}}
	for name, test := range map[string]struct {
		id, label string
		ingress   []corev1.LoadBalancerIngress
		wrong     bool
	}{
		"new":                   {wrong: true},
		"recorded, no address":  {label: "lb-1"},
		"address, not recorded": {ingress: address},
		"a user's":              {id: "lb-1"},
		"all":                   {id: "lb-1", label: "lb-1", ingress: address},
	} {
		svc := service(map[string]string{annotation.NetworkType: "vpc"})
		if test.id != "" {
			svc.Annotations[annotation.Prefix+annotation.ID] = test.id
		}
		if test.label != "" {
			svc.Labels = map[string]string{ownership.LabelLoadBalancerID: test.label}
		}
		svc.Status.LoadBalancer.Ingress = test.ingress
		if _, err := Build(testConfig(), Input{View: testConfig().View(svc), Nodes: backend.New(nil)}); (err != nil) != test.wrong {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOnlyTheAskedPortIsForwarded: other listeners keep their backends, that of the same number over UDP and that of another http port.
func TestOnlyTheAskedPortIsForwarded(t *testing.T) {
	t.Parallel()
	udp := port("dns", 80, intstr.FromInt32(53))
	udp.Protocol = corev1.ProtocolUDP
	ports := []corev1.ServicePort{port("http", 80, intstr.FromInt32(1)), udp, port("https", 443, intstr.FromInt32(2)),
		port("admin", 8080, intstr.FromInt32(3))}
	svc := service(map[string]string{
		annotation.ProtocolPort: "http:80,udp:80,https:443,http:8080", annotation.CertID: "cert-1", annotation.ForwardPort: "80:443",
	}, ports...)
	forwarded := model.ListenerKey{Port: 80, Protocol: model.HTTP}
	listeners := mustBuild(t, testConfig(), svc, nil).Desired.Listeners
	if len(listeners) != len(ports) {
		t.Fatalf("%d listeners", len(listeners))
	}
	for _, l := range listeners {
		if forwards := config(l.Config).ForwardPort != nil; forwards != (l.Key == forwarded) || forwards == (l.Group != "") {
			t.Errorf("%d %s: group %q, forwards: %t", l.Key.Port, l.Key.Protocol, l.Group, forwards)
		}
	}
}

// TestForwardWithAWrongPort: half of a redirection is no redirection, on a user's CLB neither.
func TestForwardWithAWrongPort(t *testing.T) {
	t.Parallel()
	for _, value := range []string{"80:https", "http:443", "0:443", "80:65536"} {
		svc := service(map[string]string{annotation.ID: "lb-1", annotation.ForceOverride: "on",
			annotation.ProtocolPort: "http:80", annotation.ForwardPort: value})
		if _, err := Build(testConfig(), Input{View: testConfig().View(svc), Nodes: backend.New(nil)}); err == nil ||
			!strings.Contains(err.Error(), "port:port,… with ports 1 to 65535") {
			t.Errorf("%q: %v", value, err)
		}
	}
}

// TestReverts: only an annotation that was applied and is there no more asks for its default. One that never was must not reset what a user
// set by hand.
func TestReverts(t *testing.T) {
	t.Parallel()
	view := testConfig().View(service(map[string]string{annotation.Applied: "scheduler,delete-protection",
		annotation.DeleteProtection: "off"}))
	var got []string
	for _, key := range []string{annotation.Scheduler, annotation.DeleteProtection, annotation.Bandwidth} {
		if view.Reverts(key) {
			got = append(got, key)
		}
	}
	if !slices.Equal(got, []string{annotation.Scheduler}) {
		t.Errorf("reverted are %v", got)
	}
}
