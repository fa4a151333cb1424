package desired_test

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/backend"
)

// TestExamplesOfTheDocs: every example of docs/services.md is what it says, and every annotation of the table is in one, or in the text.
func TestExamplesOfTheDocs(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../../docs/services.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(page, -1)
	if len(examples) < 10 {
		t.Fatalf("%d examples", len(examples))
	}
	for i, example := range examples {
		svc := service(nil)
		if err := yaml.UnmarshalStrict(example[1], svc); err != nil {
			t.Errorf("example %d: %v\n%s", i, err, example[1])
			continue
		}
		for j := range svc.Spec.Ports {
			p := &svc.Spec.Ports[j]
			p.NodePort, p.Protocol = 30000+p.Port, cmp.Or(p.Protocol, corev1.ProtocolTCP)
			if p.TargetPort == (intstr.IntOrString{}) {
				p.TargetPort = intstr.FromInt32(8080)
			}
		}
		ends := slice(map[string]int32{}, pod("10.0.0.1", "a"))
		if strings.Contains(string(example[1]), "ip-version: ipv6") {
			ends.AddressType, ends.Endpoints[0].Addresses = discoveryv1.AddressTypeIPv6, []string{"fd00::1"}
		}
		for _, p := range svc.Spec.Ports {
			ends.Ports = append(ends.Ports, discoveryv1.EndpointPort{Name: &p.Name, Port: new(int32(8080))})
		}
		cfg := testConfig()
		view := cfg.View(svc)
		if unknown := view.Unknown(); len(unknown) > 0 {
			t.Errorf("example %d: there is no %v", i, unknown)
		}
		in := Input{View: view, Slices: []*discoveryv1.EndpointSlice{ends},
			Nodes: backend.New([]*corev1.Node{node("a", labelled("pool", "edge"))})}
		result, err := Build(cfg, in)
		if err != nil || len(result.Warnings) > 0 {
			t.Errorf("example %d: %v, warnings %q\n%s", i, err, result.Warnings, example[1])
			continue
		}
		for _, group := range result.Desired.Groups {
			if len(group.Servers) != 1 {
				t.Errorf("example %d: server group %s has the servers %+v", i, group.Name, group.Servers)
			}
		}
	}
	for _, spec := range annotation.Table() {
		if !spec.Refused && !regexp.MustCompile(fmt.Sprintf("[`-]%s[`:]", regexp.QuoteMeta(spec.Key))).Match(page) {
			t.Errorf("nothing about %s", spec.Key)
		}
	}
}
