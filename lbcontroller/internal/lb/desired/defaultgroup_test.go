package desired_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/backend"
)

// TestDefaultGroup: it has every node once, with its highest weight and without a port, if the Service asks for it. Where it asks for it no
// more, only an instance of its own is looked at.
func TestDefaultGroup(t *testing.T) {
	t.Parallel()
	two := []corev1.ServicePort{port("http", 80, intstr.FromInt32(8080)), port("https", 443, intstr.FromInt32(8443))}
	for name, test := range map[string]struct {
		annotations map[string]string
		local       bool
		want        string // "none" for no wish
	}{
		"not asked":          {nil, false, "none"},
		"off":                {map[string]string{"default-server-group": "off"}, false, ""},
		"off, on a user's":   {map[string]string{"default-server-group": "off", "id": "lb-1"}, false, "none"},
		"removed":            {map[string]string{annotation.Applied: "default-server-group"}, false, ""},
		"removed, a user's":  {map[string]string{annotation.Applied: "default-server-group", "id": "lb-1"}, false, "none"},
		"on":                 {map[string]string{"default-server-group": "on", "default-weight": "30"}, false, "i-a:0=30 i-b:0=30"},
		"on, on a user's":    {map[string]string{"default-server-group": "true", "id": "lb-1"}, false, "i-a:0=100 i-b:0=100"},
		"no new connections": {map[string]string{"default-server-group": "on", "default-weight": "0"}, false, "i-a:0=0 i-b:0=0"},
		"local":              {map[string]string{"default-server-group": "on"}, true, "i-a:0=2"},
		"pods":               {map[string]string{"default-server-group": "on", annotation.BackendType: "eni"}, false, ""},
	} {
		svc := service(test.annotations, two...)
		if test.local {
			svc.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
		}
		ends := []*discoveryv1.EndpointSlice{
			slice(map[string]int32{"http": 8080}, pod("10.0.0.1", "a"), pod("10.0.0.2", "a")),
			slice(map[string]int32{"https": 8443}, pod("10.0.0.1", "a")),
		}
		result := mustBuild(t, testConfig(), svc, ends, node("a"), node("b"))
		got := "none"
		for _, g := range result.Desired.Groups {
			if g.ID != "default-server-group" {
				continue
			}
			var list []string
			for _, s := range g.Servers {
				list = append(list, fmt.Sprintf("%s%s:%d=%d", s.ID, s.IP, s.Port, s.Weight))
				if s.Description != "k8s/default/web/default/c" {
					t.Errorf("%s: description %q", name, s.Description)
				}
			}
			got = strings.Join(list, " ")
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
		warned := slices.ContainsFunc(result.WithoutEffect,
			func(w string) bool { return strings.Contains(w, "default-server-group has no effect") })
		if warned != (name == "pods") {
			t.Errorf("%s: warnings %q", name, result.WithoutEffect)
		}
	}
	svc := service(map[string]string{"id": "lb-1", "vgroup-port": "default-server-group:80"})
	if _, err := Build(testConfig(), Input{View: testConfig().View(svc), Nodes: backend.New(nil)}); err == nil ||
		!strings.Contains(err.Error(), "vgroup-port") {
		t.Errorf("its name is no id of a server group: %v", err)
	}
}
