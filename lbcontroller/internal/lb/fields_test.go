package lb_test

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// quiet is what a field says that has no effect on the load balancer: nothing, neither by a call nor by a warning.
const quiet = "nothing"

// fieldCase is a field of the Service for one kind of load balancers: what follows when it is set at creation, when it is
// changed, and when it is removed. Each is a merge patch of the spec, and a text that is told then. No patch: the API
// server allows no such change.
type fieldCase struct {
	field, kind string
	steps       [3][2]string
}

const clbKind, nlbKind = "CLB", "NLB"

// both is a case that is the same for both kinds.
func both(field string, made, changed, removed [2]string) []fieldCase {
	steps := [3][2]string{made, changed, removed}
	return []fieldCase{{field, clbKind, steps}, {field, nlbKind, steps}}
}

// without is a case of a field that has no effect.
func withoutFieldEffect(field, made, changed, removed string) []fieldCase {
	return both(field, [2]string{made, quiet}, [2]string{changed, quiet}, [2]string{removed, quiet})
}

// port is a list of ports with one, with what is said of it.
func onePort(text string) string {
	return "{ports: [{name: http, port: 80, nodePort: 30001" + text + "}]}"
}

func fieldCases() []fieldCase {
	var none [2]string
	const filled = "{sessionAffinity: ClientIP, sessionAffinityConfig: {clientIP: {timeoutSeconds: 10800}}}"
	return slices.Concat(
		both("ports", [2]string{onePort(""), "CreateListener"},
			[2]string{"{ports: [{name: http, port: 80, nodePort: 30001}, {name: more, port: 81, nodePort: 30002}]}", "create listener 81/tcp"},
			[2]string{onePort(""), "delete listener 81/tcp"}),
		withoutFieldEffect("name", onePort(""), "{ports: [{name: web, port: 80, nodePort: 30001}]}", "{ports: [{port: 80, nodePort: 30001}]}"),
		both("protocol", [2]string{onePort(", protocol: UDP"), "create listener 80/udp"},
			[2]string{onePort(", protocol: TCP"), "create listener 80/tcp"}, [2]string{onePort(""), quiet}),
		withoutFieldEffect("appProtocol", onePort(", appProtocol: http"), onePort(", appProtocol: https"), onePort("")),
		both("port", [2]string{"{ports: [{name: http, port: 8080, nodePort: 30001}]}", "create listener 8080/tcp"},
			[2]string{"{ports: [{name: http, port: 8081, nodePort: 30001}]}", "create listener 8081/tcp"}, none),
		withoutFieldEffect("targetPort", onePort(", targetPort: 8080"), onePort(", targetPort: web"), onePort("")), // Nodes are the servers.
		both("nodePort", [2]string{onePort(""), "servers=[i-1:30001=100]"},
			[2]string{"{ports: [{name: http, port: 80, nodePort: 30009}]}", "servers=[i-1:30009=100]"},
			[2]string{"{ports: [{name: http, port: 80}]}", "spec.ports[0].nodePort: missing"}),
		withoutFieldEffect("selector", "{selector: {app: web}}", "{selector: {app: api}}", "{selector: null}"),
		withoutFieldEffect("clusterIP", "{clusterIP: 10.96.0.9}", "{clusterIP: 10.96.0.10}", "{clusterIP: None}"),
		withoutFieldEffect("clusterIPs", "{clusterIPs: [10.96.0.9]}", "{clusterIPs: [10.96.0.9, 'fd00::9']}", "{clusterIPs: null}"),
		[]fieldCase{
			{"type", clbKind, [3][2]string{{"{type: LoadBalancer}", "create load balancer"}, {"{type: NodePort}", "delete load balancer"}, none}},
			{"type", nlbKind, [3][2]string{{"{type: LoadBalancer}", "create load balancer"}, {"{type: NodePort}", "delete load balancer"}, none}},
		},
		withoutFieldEffect("externalIPs", "{externalIPs: [192.0.2.1]}", "{externalIPs: [192.0.2.2]}", "{externalIPs: null}"),
		withoutFieldEffect("externalName", "{externalName: a.example.com}", "{externalName: b.example.com}", "{externalName: null}"),
		both("externalTrafficPolicy", [2]string{"{externalTrafficPolicy: Local}", "UnAvailableLoadBalancer"},
			[2]string{"{externalTrafficPolicy: Cluster}", "add=[i-1:30001=100]"}, none),
		withoutFieldEffect("healthCheckNodePort", "{healthCheckNodePort: 31000}", "{healthCheckNodePort: 31001}", "{healthCheckNodePort: null}"),
		withoutFieldEffect("publishNotReadyAddresses", "{publishNotReadyAddresses: true}", "{publishNotReadyAddresses: false}",
			"{publishNotReadyAddresses: null}"),
		withoutFieldEffect("internalTrafficPolicy", "{internalTrafficPolicy: Local}", "{internalTrafficPolicy: Cluster}",
			"{internalTrafficPolicy: null}"),
		withoutFieldEffect("trafficDistribution", "{trafficDistribution: PreferSameZone}", "{trafficDistribution: PreferSameNode}",
			"{trafficDistribution: null}"),
		both("allocateLoadBalancerNodePorts",
			[2]string{"{allocateLoadBalancerNodePorts: false, ports: [{name: http, port: 80}]}", "set spec.allocateLoadBalancerNodePorts to true"},
			[2]string{"{allocateLoadBalancerNodePorts: true, ports: [{name: http, port: 80, nodePort: 30001}]}", "create listener 80/tcp"}, none),
		[]fieldCase{
			{"loadBalancerClass", clbKind, [3][2]string{{"{loadBalancerClass: alibabacloud.com/clb}", "create load balancer"}, none, none}},
			{"loadBalancerClass", nlbKind, [3][2]string{{"{loadBalancerClass: alibabacloud.com/nlb}", "create load balancer"}, none, none}},
			{"loadBalancerSourceRanges", clbKind, [3][2]string{{"{loadBalancerSourceRanges: [10.0.0.0/8]}", "entries=[cidr=10.0.0.0/8]"},
				{"{loadBalancerSourceRanges: [10.0.0.0/9]}", "10.0.0.0/9"}, {"{loadBalancerSourceRanges: null}", "aclEnabled=false"}}},
			{"loadBalancerSourceRanges", nlbKind, [3][2]string{{"{loadBalancerSourceRanges: [10.0.0.0/8]}", "call    CreateSecurityGroup"},
				{"{loadBalancerSourceRanges: [10.0.0.0/9]}", "10.0.0.0/9"}, {"{loadBalancerSourceRanges: null}", "DeleteSecurityGroup"}}},

			{"loadBalancerIP", clbKind, [3][2]string{{"{loadBalancerIP: 192.168.0.100}", "address=192.168.0.100"},
				{"{loadBalancerIP: 192.168.0.101}",
					`spec.loadBalancerIP asks for "192.168.0.101" but the CLB has "192.168.0.100", which can't be changed`},
				{"{loadBalancerIP: null}", "AnnotationKept"}}},
			{"loadBalancerIP", nlbKind, [3][2]string{{"{loadBalancerIP: 192.168.0.100}", "spec.loadBalancerIP has no effect on an NLB"},
				{"{loadBalancerIP: 192.168.0.101}", "GetLoadBalancer"}, {"{loadBalancerIP: null}", "GetLoadBalancer"}}},
			{"sessionAffinity", clbKind, [3][2]string{{filled, "persistenceTimeout=3600"},
				{"{sessionAffinity: None, sessionAffinityConfig: null}", "persistenceTimeout=0"}, none}},
			{"sessionAffinity", nlbKind, [3][2]string{{filled, "scheduler=sch"},
				{"{sessionAffinity: None, sessionAffinityConfig: null}", "scheduler=Wrr"}, none}},
			{"sessionAffinityConfig", clbKind, [3][2]string{{filled, "for 3600 seconds, the most that a CLB has, in place of 10800"},
				{"{sessionAffinityConfig: {clientIP: {timeoutSeconds: 60}}}", "persistenceTimeout=60"},
				{"{sessionAffinity: None, sessionAffinityConfig: null}", "persistenceTimeout=0"}}},
			{"sessionAffinityConfig", nlbKind, [3][2]string{{filled, "scheduler=sch"},
				{"{sessionAffinityConfig: {clientIP: {timeoutSeconds: 60}}}", "spec.sessionAffinityConfig has no effect on an NLB"},
				{"{sessionAffinity: None, sessionAffinityConfig: null}", "scheduler=Wrr"}}},
			{"ipFamilies", clbKind, [3][2]string{{"{ipFamilyPolicy: PreferDualStack, ipFamilies: [IPv6, IPv4]}", "ipVersion=ipv6"},
				{"{ipFamilies: [IPv6], ipFamilyPolicy: SingleStack}", "kube-proxy takes the Service's traffic by IPv6 only"},
				{"{ipFamilies: [IPv4], ipFamilyPolicy: SingleStack}", "AnnotationKept"}}},
			{"ipFamilies", nlbKind, [3][2]string{{"{ipFamilyPolicy: PreferDualStack, ipFamilies: [IPv4, IPv6]}", "ipVersion=dual_stack"},
				{"{ipFamilies: [IPv6], ipFamilyPolicy: SingleStack}", "an NLB always has IPv4 addresses"},
				{"{ipFamilies: [IPv4], ipFamilyPolicy: SingleStack}", "AnnotationKept"}}},
			{"ipFamilyPolicy", clbKind, [3][2]string{{"{ipFamilyPolicy: RequireDualStack, ipFamilies: [IPv4, IPv6]}",
				"spec.ipFamilyPolicy: RequireDualStack can't be"},
				{"{ipFamilyPolicy: PreferDualStack}", "spec.ipFamilies: only IPv4, the first, has an effect"},
				{"{ipFamilyPolicy: SingleStack, ipFamilies: [IPv4]}", "GetLoadBalancer"}}},
			{"ipFamilyPolicy", nlbKind, [3][2]string{{"{ipFamilyPolicy: SingleStack, ipFamilies: [IPv4]}", "create load balancer"},
				{"{ipFamilyPolicy: RequireDualStack, ipFamilies: [IPv4, IPv6]}", `spec.ipFamilies asks for "DualStack" but the NLB has "ipv4"`},
				{"{ipFamilyPolicy: SingleStack, ipFamilies: [IPv4]}", "Synced=True"}}},
		},
		nil)
}

// TestEveryField: each field of a Service has the effect that docs/services.md says, or an event, when it is set at creation,
// when it is changed and when it is removed.
func TestEveryField(t *testing.T) {
	t.Parallel()
	for _, tt := range fieldCases() {
		t.Run(tt.field+"/"+tt.kind, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, tt.play)
		})
	}
}

func (tt fieldCase) play(t *testing.T) {
	made, says := tt.steps[0][0], tt.steps[0][1]
	s := newStory(t, nil)
	defer s.stop()
	told := tt.create(s, made)
	if says == quiet {
		plain := newStory(t, nil)
		defer plain.stop()
		if diff := cmp.Diff(tt.create(plain, "{}"), told); diff != "" {
			t.Errorf("%s at creation (-without +with):\n%s", made, diff)
		}
	} else {
		tt.check(t, made, says, told)
	}
	for _, step := range tt.steps[1:] {
		if step[0] != "" {
			s.do("edit web {spec: " + step[0] + "}")
			tt.check(t, step[0], step[1], s.happened())
		}
	}
}

// create makes the Service, and tells what happens.
func (tt fieldCase) create(s *story, patch string) []string {
	spec, annotations := map[string]any{"type": "LoadBalancer"}, map[string]any{}
	s.unmarshal(onePort(""), &spec)
	if tt.kind == nlbKind {
		spec["loadBalancerClass"] = "alibabacloud.com/nlb"
		annotations[annotation.Prefix+annotation.ZoneMaps] = "cn-hangzhou-h:vsw-a,cn-hangzhou-i:vsw-b"
	}
	if tt.field == "loadBalancerIP" {
		annotations[annotation.Prefix+annotation.AddressType] = "intranet"
	}
	s.unmarshal(patch, &spec)
	text, err := yaml.Marshal(map[string]any{"apiVersion": "v1", "kind": "Service",
		"metadata": map[string]any{"name": "web", "annotations": annotations}, "spec": spec})
	s.must(err)
	s.files["web.yaml"] = string(text)
	s.do("nodes 1")
	s.do(`console vsw-a {ipv6Cidr: "2001:db8::/64"}`)
	s.do(`console vsw-b {ipv6Cidr: "2001:db8:1::/64"}`)
	s.happened()
	s.do("apply web.yaml")
	told := s.happened()
	slices.Sort(told) // An NLB and its server groups are made at the same time.
	return told
}

func (tt fieldCase) check(t *testing.T, patch, says string, told []string) {
	t.Helper()
	text := strings.Join(told, "\n")
	if says == quiet {
		if strings.Contains(text, "plan ") || strings.Contains(text, "Warning") {
			t.Errorf("%s has an effect:\n%s", patch, text)
		}
	} else if !strings.Contains(text, says) {
		t.Errorf("%s: nobody says %q:\n%s", patch, says, text)
	}
}

// jsonFields are the names of the fields of a type.
func jsonFields(of reflect.Type) []string {
	var names []string
	for field := range of.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// TestFieldsAreAll: the cases above and the table of docs/services.md are about every field that the Kubernetes API has for a Service.
func TestFieldsAreAll(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/services.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n## Fields of the Service\n")
	table, _, _ = strings.Cut(table, "\n## ")
	has := map[string]bool{}
	for _, tt := range fieldCases() {
		has[tt.field+tt.kind] = true
	}
	spec, port := jsonFields(reflect.TypeFor[corev1.ServiceSpec]()), jsonFields(reflect.TypeFor[corev1.ServicePort]())
	for _, field := range slices.Concat(spec, port) {
		name := field
		if slices.Contains(port, field) {
			name = "ports[]." + field
		}
		if !has[field+clbKind] || !has[field+nlbKind] {
			t.Errorf("no case about %s", name)
		}
		if row := regexp.MustCompile("(?m)^[|] [^|]*`" + regexp.QuoteMeta(name) + "`"); !row.MatchString(table) {
			t.Errorf("docs/services.md has no row about %s", name)
		}
	}
}
