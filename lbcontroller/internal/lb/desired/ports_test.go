package desired_test

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/backend"
	"alicloud-controllers.dev/lbcontroller/internal/clb"
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
	"alicloud-controllers.dev/lbcontroller/internal/nlb"
)

var updateTable = flag.Bool("update", false, "rewrite the table of values by port; read the change before you commit it")

// buildKind is what a Service asks of a kind of load balancers.
func buildKind(kind annotation.LoadBalancer, svc *corev1.Service) (desired.Result, error) {
	cfg := desired.Config{ClusterID: "c", VPCID: "vpc-1", ServiceFields: true, Parser: annotation.NewParser(kind),
		DottedNames: kind == annotation.NLB}
	cfg.Fields = clb.Product{}.Fields
	var configurer desired.Configurer = clb.Product{VSwitchIDs: []string{"vsw-a"}}
	if kind == annotation.NLB {
		cfg.Fields, configurer = nlb.Product{}.Fields, nlb.Product{VPCID: "vpc-1", VSwitchIDs: []string{"vsw-a", "vsw-b"}}
	}
	return desired.Build(cfg, desired.Input{View: cfg.View(svc), Nodes: backend.New(nil)}, configurer)
}

// portsOf are the attributes of each port of a Service, of its listener and of its server group.
func portsOf(result desired.Result) map[int32]string {
	ports := map[int32]string{}
	for _, l := range result.Desired.Listeners {
		text := attributes(l.Config)
		for _, e := range l.Further {
			text += " further:" + e.For() + "=" + strings.Join(e.Certificates, ",")
		}
		for _, g := range result.Desired.Groups {
			if g.Name == l.Group {
				text += " " + attributes(g.Config)
			}
		}
		ports[l.Key.Port] = text
	}
	return ports
}

// attributes writes a message on one line, without the space that protojson changes at random.
func attributes(m proto.Message) string {
	if m == nil {
		return ""
	}
	text, err := protojson.Marshal(m)
	if err != nil {
		return err.Error()
	}
	var compact bytes.Buffer
	for part := range strings.SplitSeq(strings.Trim(string(text), "{}"), ",") {
		compact.WriteString(" " + strings.ReplaceAll(strings.TrimSpace(part), " ", ""))
	}
	return compact.String()
}

// without takes the words of one text out of another.
func without(text, words string) string {
	known := strings.Fields(words)
	return cmp.Or(strings.Join(slices.DeleteFunc(strings.Fields(text), func(w string) bool { return slices.Contains(known, w) }), " "), "-")
}

// choicesOf are two good values of a row, that differ from the default.
func choicesOf(s annotation.Spec) (one, two string) {
	switch s.Key {
	case annotation.DomainExtensions:
		return "a.example.com:cert-1", "b.example.com:cert-2"
	case annotation.TLSSecret:
		return "one", "two" // It isn't known: what is lacking is said.
	case annotation.Scheduler:
		return "wrr", "wlc"
	case annotation.HealthCheckDomain:
		return "a.example.com", "b.example.com"
	case annotation.HealthCheckURI:
		return "/one", "/two"
	case annotation.HealthCheckInterval:
		return "9", "11"
	case annotation.HealthyThreshold, annotation.UnhealthyThreshold:
		return "4", "5"
	}
	switch s.Kind {
	case annotation.Switch:
		return "on", "off"
	case annotation.Choice, annotation.Choices:
		return s.Values[len(s.Values)-1], s.Values[0]
	case annotation.Number:
		return strconv.Itoa(max(s.Min, 10) + 1), strconv.Itoa(min(max(s.Min, 10)+2, s.Max))
	case annotation.List, annotation.Text, annotation.Pairs:
	}
	return "id-1", "id-2"
}

// beside are the annotations without which one means nothing.
func beside(kind annotation.LoadBalancer, s annotation.Spec) map[string]string {
	around := map[string]string{}
	secure := "https"
	if kind == annotation.NLB {
		secure = "tcpssl"
	}
	if len(s.Protocols) > 0 && !slices.Contains(s.Protocols, "tcp") {
		protocol := s.Protocols[len(s.Protocols)-1]
		if protocol == "https" || protocol == "tcpssl" {
			protocol = secure
		}
		around[annotation.ProtocolPort] = fmt.Sprintf("%[1]s:80,%[1]s:443,%[1]s:8080", protocol)
		if protocol == secure && s.Key != annotation.TLSSecret {
			around[annotation.CertID] = "cert-0"
		}
	}
	if s.Scope == annotation.Health && kind == annotation.NLB {
		around[annotation.HealthCheckFlag] = "on"
	}
	for key, needs := range map[string]map[string]string{
		annotation.ConnectionDrainTimeout: {annotation.ConnectionDrain: "on"},
		annotation.CACertID:               {annotation.CACert: "on"},
		annotation.CACert:                 {annotation.CACertID: "ca-0"},
		annotation.ALPNPolicy:             {annotation.ALPN: "on"},
		annotation.ALPN:                   {annotation.ALPNPolicy: "HTTP2Only"},
		annotation.PPv2EndpointID:         {annotation.ProxyProtocol: "on"},
		annotation.PPv2EndpointService:    {annotation.ProxyProtocol: "on"},
		annotation.PPv2VPCID:              {annotation.ProxyProtocol: "on"},
		annotation.StickySession:          {annotation.StickySessionType: "insert", annotation.CookieTimeout: "60"},
		annotation.StickySessionType:      {annotation.Cookie: "id", annotation.CookieTimeout: "60"},
		annotation.HealthCheckURI:         {annotation.HealthCheckType: "http"},
		annotation.HealthCheckHTTPCode:    {annotation.HealthCheckType: "http"},
	} {
		for k, v := range needs {
			if key == s.Key {
				around[k] = v
			}
		}
	}
	return around
}

// TestValuesByPort is the table of all annotations that take a value for one port, with each of the ways in which one may be there and go.
func TestValuesByPort(t *testing.T) {
	t.Parallel()
	var table strings.Builder
	table.WriteString("# What each annotation asks of the ports 80, 443 and 8080, and after it is removed for one.\n" +
		"# Written by TestValuesByPort -update: what is the same without the annotation is left out, - stands for nothing.\n")
	for _, kind := range []annotation.LoadBalancer{annotation.CLB, annotation.NLB} {
		for _, spec := range annotation.TableFor(kind) {
			if !spec.ByPort() {
				continue
			}
			one, two := choicesOf(spec)
			both, most := spec.ForPort(443, two), spec.ForPort(443, two)+","+spec.ForPort(80, two)
			for _, c := range []struct{ name, value, applied string }{
				{"for all", one, ""},
				{"for one", both, ""},
				{"for all and for one", one + "," + both, ""},
				{"for two", most, ""},
				{"removed for one of two", spec.ForPort(80, two), spec.Key + ":443," + spec.Key + ":80"},
				{"removed for one, one for all", one, spec.Key + "," + spec.Key + ":443"},
				{"removed for all, not for one", both, spec.Key + "," + spec.Key + ":443"},
				{"removed for the only one", "", spec.Key + ":443"},
				{"removed", "", spec.Key + "," + spec.Key + ":443"},
			} {
				fmt.Fprintf(&table, "\n%s %s: %s: %s\n", kind, spec.Key, c.name, c.value)
				annotations := beside(kind, spec)
				svc := func() *corev1.Service {
					return service(annotations, port("a", 80, intstr.FromInt32(1)), port("b", 443, intstr.FromInt32(2)),
						port("c", 8080, intstr.FromInt32(3)))
				}
				plain := map[int32]string{}
				if bare, err := buildKind(kind, svc()); err == nil {
					plain = portsOf(bare)
				}
				if c.value != "" {
					annotations[spec.Key] = c.value
				}
				if c.applied != "" {
					annotations[annotation.Applied] = c.applied
				}
				result, err := buildKind(kind, svc())
				if invalid := (*desired.InvalidError)(nil); errors.As(err, &invalid) {
					for _, problem := range invalid.Problems {
						fmt.Fprintf(&table, "  refused: %s\n", strings.ReplaceAll(problem, annotation.Prefix, ""))
					}
					continue
				}
				ports := portsOf(result)
				for _, number := range []int32{80, 443, 8080} {
					fmt.Fprintf(&table, "  %4d %s\n", number, without(ports[number], plain[number]))
				}
				for _, text := range slices.Concat(result.WithoutEffect, result.Lacking) {
					fmt.Fprintf(&table, "  told: %s\n", strings.ReplaceAll(text, annotation.Prefix, ""))
				}
				for _, kept := range annotationsOf(kind, svc()).Kept() {
					fmt.Fprintf(&table, "  stays: %s\n", strings.ReplaceAll(kept, annotation.Prefix, ""))
				}
			}
		}
	}
	const file = "testdata/ports.txt"
	if *updateTable {
		if err := os.WriteFile(file, []byte(table.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(string(want), table.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func annotationsOf(kind annotation.LoadBalancer, svc *corev1.Service) annotation.Values {
	values, _ := annotation.NewParser(kind).Parse(svc.Annotations)
	return values
}

// TestSharedGroups: ports that lead to one server group can't have two values of what the group has. Those of their listeners may differ.
func TestSharedGroups(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, key, value string
		refused          bool
	}{
		{"a check", annotation.HealthCheckFlag, "on,443:off", true},
		{"a scheduler", annotation.Scheduler, "443:sch", true},
		{"the same", annotation.Scheduler, "sch,443:sch", false},
		{"a listener", annotation.IdleTimeout, "30,443:40", false},
		{"a time that doesn't count", annotation.ConnectionDrainTimeout, "30,443:40", false},
	} {
		svc := service(map[string]string{annotation.BackendType: "eni", test.key: test.value},
			port("a", 80, intstr.FromInt32(8080)), port("b", 443, intstr.FromInt32(8080)))
		_, err := buildKind(annotation.NLB, svc)
		want := "annotation " + annotation.Prefix + test.key + ": ports 80 and 443 can't have different values"
		if (err != nil) != test.refused || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want refused %t with %q", test.name, err, test.refused, want)
		}
		if _, err := buildKind(annotation.CLB, service(map[string]string{annotation.BackendType: "eni", annotation.Scheduler: "wrr,443:wlc"},
			port("a", 80, intstr.FromInt32(8080)), port("b", 443, intstr.FromInt32(8080)))); err != nil {
			t.Errorf("a CLB, whose listeners have all of these: %v", err)
		}
	}
}

// TestFieldBesideValuesByPort: a field of the spec asks for the ports for which no annotation does.
func TestFieldBesideValuesByPort(t *testing.T) {
	t.Parallel()
	svc := service(map[string]string{annotation.PersistenceTimeout: "443:60"},
		port("a", 80, intstr.FromInt32(1)), port("b", 443, intstr.FromInt32(2)))
	svc.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
	result, err := buildKind(annotation.CLB, svc)
	if err != nil {
		t.Fatal(err)
	}
	ports := portsOf(result)
	if !strings.Contains(ports[80], `"persistenceTimeout":3600`) || !strings.Contains(ports[443], `"persistenceTimeout":60`) {
		t.Errorf("%q", ports)
	}
}

// TestPortsThatAreNotThere: a value for a port that the Service doesn't have, or that has another protocol, is told and asks for nothing.
func TestPortsThatAreNotThere(t *testing.T) {
	t.Parallel()
	for kind, key := range map[annotation.LoadBalancer]string{annotation.CLB: annotation.HTTP2, annotation.NLB: annotation.ALPN} {
		svc := service(map[string]string{annotation.ProxyProtocol: "8443:on", key: "80:off"}, port("a", 80, intstr.FromInt32(1)))
		result, err := buildKind(kind, svc)
		if err != nil {
			t.Fatal(err)
		}
		told := strings.Join(result.WithoutEffect, "\n")
		for _, want := range []string{annotation.ProxyProtocol + " has no effect for port 8443, which the Service doesn't have",
			key + " has no effect for port 80: it is for"} {
			if !strings.Contains(told, want) {
				t.Errorf("%s: %s, want %q", kind, told, want)
			}
		}
	}
}
