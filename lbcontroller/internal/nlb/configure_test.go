package nlb_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"google.golang.org/protobuf/encoding/prototext"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/backend"
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
	"alicloud-controllers.dev/lbcontroller/internal/nlb"
)

// build returns what a Service asks for, on pods if it has a range.
func build(svc *corev1.Service) (desired.Result, error) {
	product := nlb.Product{VPCID: "vpc-test", VSwitchIDs: []string{"vsw-h", "vsw-i"}}
	cfg := desired.Config{ClusterID: clusterID, VPCID: "vpc-test", Parser: annotation.NewParser(annotation.NLB), DottedNames: true}
	return desired.Build(cfg, desired.Input{View: cfg.View(svc), Nodes: backend.New(nil)}, product)
}

// twoPorts has a port for tcpssl and one for udp.
func twoPorts(svc *corev1.Service) {
	svc.Spec.Ports[0].Port = 443
	svc.Spec.Ports = append(svc.Spec.Ports, corev1.ServicePort{Name: "u", Port: 53, NodePort: 30053,
		Protocol: corev1.ProtocolUDP, TargetPort: intstr.FromInt32(53)})
	annotated(annotation.ProtocolPort, "tcpssl:443", annotation.CertID, "cert-1")(svc)
}

// settings are values of every annotation of NLBs that ends up in a request, two of each, and what shows the first one there.
func settings() map[string][3]string {
	return map[string][3]string{
		annotation.ZoneMaps: {"cn-h:vsw-1,cn-i:vsw-2:10.0.0.9:eip-1", "cn-h:vsw-1,cn-j:vsw-3",
			`private_ipv4_address:"10.0.0.9"`},
		annotation.AddressType:               {"intranet", "internet", "ADDRESS_TYPE_INTRANET"},
		annotation.Name:                      {"one", "two", `name:"one"`},
		annotation.AdditionalTags:            {"team=a", "team=b", `key:"team"`},
		annotation.SecurityGroupIDs:          {"sg-2,sg-1", "none", `security_group_ids:"sg-1"`},
		annotation.BandwidthPackageID:        {"cbwp-1", "none", `bandwidth_package_id:"cbwp-1"`},
		annotation.DeleteProtection:          {"on", "off", `deletion_protection:{enabled:true`},
		annotation.ModificationProtection:    {"ConsoleProtection", "NonProtection", `modification_protection:{enabled:true`},
		annotation.CrossZone:                 {"off", "on", "CrossZone:false"},
		annotation.ShiftedZones:              {"cn-h", "none", "ShiftedZones:[cn-h]"},
		annotation.CertID:                    {"cert-7", "cert-8", `certificate_ids:"cert-7"`},
		annotation.AdditionalCertIDs:         {"cert-3,cert-2", "none", "cert-2 cert-3"},
		annotation.CACertID:                  {"ca-1", "ca-2", `ca_certificate_ids:"ca-1"`},
		annotation.CACert:                    {"on", "off", "ca_enabled:true"},
		annotation.TLSCipherPolicy:           {"tls_cipher_policy_1_2", "tls-own", `security_policy_id:"tls_cipher_policy_1_2"`},
		annotation.ALPN:                      {"on", "off", "alpn_enabled:true"},
		annotation.ALPNPolicy:                {"HTTP2Only", "HTTP1Only", `alpn_policy:"HTTP2Only"`},
		annotation.IdleTimeout:               {"15", "900", "idle_timeout:15"},
		annotation.ProxyProtocol:             {"on", "off", "proxy_protocol_enabled:true"},
		annotation.PPv2EndpointID:            {"on", "off", "private_link_ep_id_enabled:true"},
		annotation.PPv2EndpointService:       {"on", "off", "private_link_eps_id_enabled:true"},
		annotation.PPv2VPCID:                 {"on", "off", "vpc_id_enabled:true"},
		annotation.ConnectionsPerSec:         {"100", "0", "cps:100"},
		annotation.Scheduler:                 {"sch", "wrr", `scheduler:"sch"`},
		annotation.ConnectionDrain:           {"on", "off", "connection_drain_enabled:true"},
		annotation.ConnectionDrainTimeout:    {"60", "0", "connection_drain_timeout:60"},
		annotation.HealthCheckFlag:           {"on", "off", "health_check:{enabled:true"},
		annotation.HealthCheckType:           {"http", "udp", "HEALTH_CHECK_TYPE_HTTP"},
		annotation.HealthCheckURI:            {"/a", "/b", `url:"/a"`},
		annotation.HealthCheckDomain:         {"a.example.com", "$SERVER_IP", `domain:"a.example.com"`},
		annotation.HealthCheckMethod:         {"HEAD", "GET", `http_method:"HEAD"`},
		annotation.HealthCheckHTTPCode:       {"http_2xx,http_3xx", "http_2xx", `http_codes:"http_3xx"`},
		annotation.HealthCheckConnectPort:    {"99", "0", "connect_port:99"},
		annotation.HealthCheckInterval:       {"9", "10", "interval:9"},
		annotation.HealthyThreshold:          {"4", "5", "healthy_threshold:4"},
		annotation.UnhealthyThreshold:        {"4", "5", "unhealthy_threshold:4"},
		annotation.HealthCheckConnectTimeout: {"6", "7", "connect_timeout:6"},
		annotation.ServerGroupType:           {"Ip", "Instance", "SERVER_GROUP_TYPE_IP"},
		annotation.ResourceGroupID:           {"rg-1", "rg-1", `resource_group_id:"rg-1"`},
		annotation.IPVersion:                 {"DualStack", "DualStack", "IP_VERSION_DUAL_STACK"},
		annotation.IPv6AddressType:           {"internet", "intranet", "IPv6AddressType:ADDRESS_TYPE_INTERNET"},
	}
}

// with has the first or second value of every setting but one, which has the other.
func with(second bool, but string) *corev1.Service {
	svc := web(twoPorts)
	for key, values := range settings() {
		value := values[0]
		if second != (key == but) != (key == annotation.AddressType) { // The first ones are those of a public NLB.
			value = values[1]
		}
		annotated(key, value)(svc)
	}
	if svc.Annotations[annotation.Prefix+annotation.AddressType] == "intranet" { // It has neither of these.
		annotated(annotation.BandwidthPackageID, "none", annotation.ZoneMaps, "cn-h:vsw-1,cn-i:vsw-2")(svc)
	}
	return svc
}

// text is all that is asked of the cloud.
func text(d *model.Desired) string {
	compact := func(s string) string {
		return strings.NewReplacer(": ", ":", "{ ", "{").Replace(strings.Join(strings.Fields(s), " "))
	}
	parts := []string{compact(prototext.Format(d.Instance.Spec))}
	asked, _ := d.Instance.Asked.(nlb.Asked)
	if asked.CrossZone != nil {
		parts = append(parts, fmt.Sprintf("CrossZone:%t", *asked.CrossZone))
	}
	parts = append(parts, fmt.Sprintf("IPv6AddressType:%s", asked.IPv6AddressType), fmt.Sprintf("ShiftedZones:%v", asked.ShiftedZones))
	for _, l := range d.Listeners {
		parts = append(parts, compact(prototext.Format(l.Config)), fmt.Sprint(l.Further))
	}
	for _, g := range d.Groups {
		parts = append(parts, compact(prototext.Format(g.Config)))
	}
	return strings.Join(parts, "\n")
}

// TestEverySetting: each annotation of the table ends up in a request, and without it nothing does.
func TestEverySetting(t *testing.T) {
	t.Parallel()
	bare, err := build(web(twoPorts))
	if err != nil {
		t.Fatal(err)
	}
	for key, values := range settings() {
		needs := map[string][]string{
			annotation.CACert: {annotation.CACertID, "ca-1"}, annotation.CACertID: {annotation.CACert, "on"},
			annotation.ALPN:       {annotation.ALPNPolicy, "HTTP2Only"},
			annotation.ALPNPolicy: {annotation.ALPN, "on"}, annotation.PPv2EndpointID: {annotation.ProxyProtocol, "on"},
			annotation.PPv2EndpointService: {annotation.ProxyProtocol, "on"}, annotation.PPv2VPCID: {annotation.ProxyProtocol, "on"},
			annotation.ConnectionDrainTimeout: {annotation.ConnectionDrain, "on"}, annotation.IPv6AddressType: {annotation.IPVersion, "DualStack"},
		}[key]
		if strings.HasPrefix(key, "health") || strings.HasPrefix(key, "unhealthy") {
			needs = []string{annotation.HealthCheckFlag, "on"}
		}
		got, err := build(web(twoPorts, annotated(needs...), annotated(key, values[0])))
		if err != nil {
			t.Errorf("%s: %v", key, err)
			continue
		}
		if !strings.Contains(text(got.Desired), values[2]) {
			t.Errorf("%s=%s: no request has %s:\n%s", key, values[0], values[2], text(got.Desired))
		}
		isDefault := slices.Contains([]string{annotation.DeleteProtection, annotation.ModificationProtection}, key)
		if !isDefault && strings.Contains(text(bare.Desired), values[2]) {
			t.Errorf("%s: a request has %s though nothing asks for it", key, values[2])
		}
		if hash, _ := got.Hash(); hash == must(bare.Hash()) {
			t.Errorf("%s: the hash is that of a Service without it", key)
		}
	}
	elsewhere := []string{
		annotation.ID, annotation.ForceOverride, annotation.PreserveOnDelete, annotation.ProtocolPort,
		annotation.ListenerPortRange, annotation.PreserveClientIP,
		annotation.VGroupPort, annotation.BackendIPVersion, annotation.SyncPolicy, annotation.BackendLabel,
		annotation.RemoveUnscheduled, annotation.Weight,
		annotation.DefaultWeight, annotation.IgnoreWeightUpdate, annotation.MaxNodes, annotation.DrainTerminating, annotation.NodeHealthCheck,
		annotation.TLSSecret, annotation.AllowHealthChecks,
	}
	for _, spec := range annotation.TableFor(annotation.NLB) {
		if _, ok := settings()[spec.Key]; !ok && !slices.Contains(elsewhere, spec.Key) {
			t.Errorf("%s: nothing tests it", spec.Key)
		}
	}
}

func must[T any](v T, _ error) T { return v }

// carriedOut is what is there after a plan.
func carriedOut(p plan.Plan, o model.Observed) model.Observed {
	o = o.Clone()
	made := 0
	for a := range p.Actions() {
		made++
		a.Effect(&o, plan.Result{GroupID: fmt.Sprint("sgp-", len(o.Groups), made), ListenerID: fmt.Sprint("lsn-", made), Instance: answer(a)})
	}
	return o
}

// answer is what the cloud says of an NLB that it makes.
func answer(a plan.Action) model.LoadBalancer {
	create, ok := a.(nlb.CreateInstance)
	if !ok {
		return nil
	}
	made := model.Observed{}
	create.Effect(&made, plan.Result{})
	balancer, _ := made.Instance.(nlb.Balancer)
	balancer.LoadBalancerId = "nlb-1"
	return balancer
}

// TestDiffEnds: whatever changes, the plan brings about what is asked for, and then there is nothing left to do.
func TestDiffEnds(t *testing.T) {
	t.Parallel()
	keys := append(slices.Sorted(maps.Keys(settings())), "")
	for _, second := range []bool{false, true} {
		for _, key := range keys {
			first, err := build(with(second, ""))
			if err != nil {
				t.Fatal(err)
			}
			there := carriedOut(plan.Diff(nlb.Product{}, first.Desired, model.Nothing()), model.Nothing())
			if rest := plan.Diff(nlb.Product{}, first.Desired, there); !rest.Empty() {
				t.Fatalf("after the creation there is left: %s", rest)
			}
			next, err := build(with(second, key))
			if err != nil {
				t.Fatal(err)
			}
			p := plan.Diff(nlb.Product{}, next.Desired, there)
			values := settings()[key]
			// With the second values much is switched off that others need.
			if changes := !p.Empty() || len(p.Refused) > 0; !second && changes != (values[0] != values[1]) {
				t.Errorf("%s (%t): the plan is %q", key, second, p)
			}
			if rest := plan.Diff(nlb.Product{}, next.Desired, carriedOut(p, there)); !rest.Empty() {
				t.Errorf("%s (%t): after %s there is left: %s", key, second, p, rest)
			}
		}
	}
}

// TestFixed: what can't be changed is refused, and the rest goes on.
func TestFixed(t *testing.T) {
	t.Parallel()
	first, err := build(web())
	if err != nil {
		t.Fatal(err)
	}
	there := carriedOut(plan.Diff(nlb.Product{}, first.Desired, model.Nothing()), model.Nothing())
	next, err := build(web(annotated(annotation.IPVersion, "DualStack", annotation.ResourceGroupID, "rg-2", annotation.Name, "other")))
	if err != nil {
		t.Fatal(err)
	}
	p := plan.Diff(nlb.Product{}, next.Desired, there)
	check(t, "refused", 3, len(p.Refused))
	check(t, "plan", "1. change load balancer: name\n", strings.SplitAfter(p.String(), "\n")[0])
}

// TestProblems: everything that is wrong is said at once.
func TestProblems(t *testing.T) {
	t.Parallel()
	_, err := build(web(twoPorts, withoutAnnotation(annotation.CertID), annotated(annotation.ALPN, "on",
		annotation.ZoneMaps, "a:b", annotation.Scheduler, "qch")))
	invalid, ok := errors.AsType[*desired.InvalidError](err)
	if !ok || len(invalid.Problems) != 4 {
		t.Errorf("got %v, want four problems", err)
	}
}

// TestSecrets: what a tcpssl listener has of Secrets. Until one is good the listener waits, and further certificates stay as they are.
func TestSecrets(t *testing.T) {
	t.Parallel()
	secret := annotated(annotation.TLSSecret, "web-tls")
	_, err := build(web(twoPorts, secret))
	if err == nil || !strings.Contains(err.Error(), "tls-secret can't be used together with") {
		t.Errorf("a Secret and a certificate: %v", err)
	}
	further := annotated(annotation.AdditionalCertIDs, "1-cn-hangzhou,secret/more")
	got, err := build(web(twoPorts, withoutAnnotation(annotation.CertID), secret, further))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range got.Desired.Listeners {
		if isSecure := l.Key.Protocol == model.TCPSSL; isSecure != strings.Contains(l.Waits, "Secret web-tls of annotation") {
			t.Errorf("listener %s waits: %q", plan.KeyText(l.Key), l.Waits)
		} else if isSecure && (len(l.Further) != 1 || len(l.Further[0].Certificates) > 0) {
			t.Errorf("further certificates: %v", l.Further)
		}
	}
	_, err = build(web(twoPorts, withoutAnnotation(annotation.CertID)))
	if err == nil || !strings.Contains(err.Error(), annotation.CertID+" is missing") {
		t.Errorf("no certificate: %v", err)
	}
}
