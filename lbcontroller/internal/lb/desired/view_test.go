package desired_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	kind "alicloud-controllers.dev/lbcontroller/internal/clb"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
)

// TestHashOfWhatIsPublished: a change of the address to publish is a change of the configuration, or nothing would publish it.
func TestHashOfWhatIsPublished(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for name, annotations := range map[string]map[string]string{
		"nothing said": {}, "a name": {annotation.Hostname: "a.example.com"}, "another name": {annotation.Hostname: "b.example.com"},
		"EIP": {annotation.ExternalIPType: "eip"}, "mode": {annotation.IPMode: "Proxy"}, "another mode": {annotation.IPMode: "VIP"},
		"EIP and mode": {annotation.ExternalIPType: "eip", annotation.IPMode: "Proxy"},
	} {
		result := mustBuild(t, testConfig(), service(annotations), nil)
		hash, err := result.Hash()
		if err != nil || seen[hash] != "" || len(hash) > 63 {
			t.Errorf("%s has the hash %s of %q, %v", name, hash, seen[hash], err)
		}
		seen[hash] = name
		if config, err := result.Desired.ConfigHash(); err != nil || (config == hash) != (name == "nothing said") {
			t.Errorf("%s: the hash of the load balancer alone is %s, of all %s, %v", name, config, hash, err)
		}
	}
}

// TestPodsByIPv6: it takes both annotations and the permission of the configuration, and else says why it has no effect.
func TestPodsByIPv6(t *testing.T) {
	t.Parallel()
	six := &discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv6, Endpoints: []discoveryv1.Endpoint{pod("fd00::1", "a")}}
	for name, test := range map[string]struct {
		backends, clb string
		ignored       bool
		want          string
		warned        bool
	}{
		"both":                  {"ipv6", "ipv6", false, "fd00::1:8080=100", false},
		"load balancer by IPv4": {"ipv6", "", false, "10.0.0.1:8080=100", true},
		"pods by IPv4":          {"ipv4", "ipv6", false, "10.0.0.1:8080=100", false},
		"nothing of the pods":   {"", "ipv6", false, "10.0.0.1:8080=100", false},
		"not permitted":         {"ipv6", "ipv6", true, "10.0.0.1:8080=100", true},
	} {
		cfg := testConfig()
		cfg.IgnoreBackendIPv6 = test.ignored
		svc := service(map[string]string{annotation.BackendType: "eni", annotation.BackendIPVersion: test.backends,
			annotation.IPVersion: test.clb})
		result := mustBuild(t, cfg, svc, []*discoveryv1.EndpointSlice{slice(nil, pod("10.0.0.1", "a")), six}, node("a"))
		if got := strings.Join(servers(result.Desired), " "); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
		if warned := slices.ContainsFunc(result.WithoutEffect,
			func(w string) bool { return strings.Contains(w, "backend-ip-version has no effect") }); warned != test.warned {
			t.Errorf("%s: without effect %q", name, result.WithoutEffect)
		}
	}
}

// TestClaims: what a Service may have on CLBs of users is what is noted and what it says now.
func TestClaims(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		annotations map[string]string
		want        string
	}{
		"nothing":               {nil, ""},
		"noted":                 {map[string]string{annotation.Claims: "lb-9/rsp-9"}, "lb-9,lb-9/rsp-9"},
		"named":                 {map[string]string{annotation.ID: "lb-1"}, "lb-1"},
		"named, with listeners": {map[string]string{annotation.ID: "lb-1", annotation.ForceOverride: "on"}, "lb-1,lb-1/listeners"},
		"named, with its groups": {map[string]string{annotation.ID: "lb-1", annotation.VGroupPort: "rsp-1:80",
			annotation.Claims: "lb-1/rsp-0"}, "lb-1,lb-1/rsp-0,lb-1/rsp-1"},
		"both": {map[string]string{annotation.ID: "lb-1", annotation.Claims: "lb-9"}, "lb-1,lb-9"},
	} {
		if got := testConfig().View(service(test.annotations)).Claims().String(); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// TestApplied: while a change is put in place, the note has what was there before, too, so that a crash in between forgets nothing.
func TestApplied(t *testing.T) {
	t.Parallel()
	view := testConfig().View(service(map[string]string{annotation.Applied: "name,scheduler", annotation.Scheduler: "wrr",
		annotation.DeleteProtection: "off"}))
	after, meanwhile := view.Applied(false)
	if want := "delete-protection,scheduler"; sorted(after) != want || meanwhile != "delete-protection,name,scheduler" {
		t.Errorf("after %q, meanwhile %q", after, meanwhile)
	}
	if _, meanwhile := testConfig().View(service(nil)).Applied(false); meanwhile != "" {
		t.Errorf("nothing is noted as %q", meanwhile)
	}
}

func sorted(list string) string {
	items := strings.Split(list, ",")
	slices.Sort(items)
	return strings.Join(items, ",")
}

// TestAnnotationsWithoutEffect: the warning comes where the CLB is of the kind that the annotation means nothing for.
func TestAnnotationsWithoutEffect(t *testing.T) {
	t.Parallel()
	both := map[string]string{annotation.InstanceSpec: "slb.s1.small", annotation.VSwitchID: "vsw-1"}
	clb := func(charge slbv1.InstanceChargeType, address slbv1.AddressType) *slbv1.LoadBalancer {
		return &slbv1.LoadBalancer{InstanceChargeType: charge, AddressType: address}
	}
	const (
		byUsage, bySpec  = slbv1.InstanceChargeType_INSTANCE_CHARGE_TYPE_PAY_BY_CLCU, slbv1.InstanceChargeType_INSTANCE_CHARGE_TYPE_PAY_BY_SPEC
		public, intranet = slbv1.AddressType_ADDRESS_TYPE_INTERNET, slbv1.AddressType_ADDRESS_TYPE_INTRANET
	)
	for name, test := range map[string]struct {
		annotations map[string]string
		clb         *slbv1.LoadBalancer
		want        []string
	}{
		"of no use":     {both, clb(byUsage, public), []string{annotation.InstanceSpec, annotation.VSwitchID}},
		"of use":        {both, clb(bySpec, intranet), nil},
		"spec of use":   {both, clb(bySpec, public), []string{annotation.VSwitchID}},
		"switch of use": {both, clb(byUsage, intranet), []string{annotation.InstanceSpec}},
		"nothing said":  {nil, clb(byUsage, public), nil},
	} {
		got := kind.Product{}.WithoutEffect(testConfig().View(service(test.annotations)), model.Observed{Instance: test.clb})
		if len(got) != len(test.want) {
			t.Errorf("%s: %q", name, got)
			continue
		}
		for i, key := range test.want {
			if !strings.Contains(got[i], annotation.Prefix+key+" has no effect") {
				t.Errorf("%s: %q doesn't name %s", name, got[i], key)
			}
		}
	}
}

// TestUnknownAnnotations: the text about a misspelt one names the likely one, and that about any other says what to do.
func TestUnknownAnnotations(t *testing.T) {
	t.Parallel()
	got := testConfig().View(service(map[string]string{"schedular": "wrr", "nothing-like-this": "x", annotation.Scheduler: "wrr"})).Unknown()
	want := []string{
		"annotation " + annotation.Prefix + "nothing-like-this is not known and has no effect; correct or remove it",
		"annotation " + annotation.Prefix + "schedular is not known and has no effect; did you mean " + annotation.Prefix + "scheduler?",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestDroppedTags: only tags that were put on this CLB for the Service go, and none that only the controller or the cloud can have set.
func TestDroppedTags(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		id, recorded, note string
		want               []string
	}{
		"none":              {note: ""},
		"asked for no more": {note: "a,b,c", want: []string{"b", "c"}},
		"of ours and the cloud": {note: "b," + ownership.TagService + "," + ownership.TagCluster + "," + ownership.TagReused +
			",acs:x,Aliyun.x", want: []string{"b"}},
		"of another load balancer":      {note: "b", id: "lb-1", recorded: "lb-2"},
		"of the load balancer it names": {note: "b", id: "lb-1", recorded: "lb-1", want: []string{"b"}},
		"of a load balancer of its own": {note: "b", recorded: "lb-2", want: []string{"b"}},
	} {
		svc := service(map[string]string{annotation.AdditionalTags: "a=1", annotation.OwnTags: test.note, annotation.ID: test.id})
		svc.Labels = map[string]string{ownership.LabelLoadBalancerID: test.recorded}
		if diff := cmp.Diff(test.want, mustBuild(t, testConfig(), svc, nil).Desired.Instance.DroppedTags); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestProtocolOfTheOtherTransport: where a number is used once, the annotation may name a protocol of the other transport.
func TestProtocolOfTheOtherTransport(t *testing.T) {
	t.Parallel()
	udp := corev1.ServicePort{Name: "dns", Port: 53, NodePort: 30053, Protocol: corev1.ProtocolUDP}
	tcp := port("http", 80, udp.TargetPort)
	d := mustBuild(t, testConfig(), service(map[string]string{annotation.ProtocolPort: "udp:80,tcp:53"}, tcp, udp,
		port("https", 443, udp.TargetPort)), nil).Desired
	var got []model.Protocol
	for _, l := range d.Listeners {
		got = append(got, l.Key.Protocol)
	}
	// The annotation counts, though the Service says otherwise, as with the existing CCM.
	if diff := cmp.Diff([]model.Protocol{model.TCP, model.UDP, model.TCP}, got); diff != "" {
		t.Errorf("53, 80 and 443 (-want +got):\n%s", diff)
	}
}
