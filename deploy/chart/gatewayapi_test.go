package chart_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
)

const gatewayRole = "ClusterRole alicloud:lbcontroller:gateway-api"

func withGatewayAPI(enabled bool) map[string]any {
	return map[string]any{"components": map[string]any{"lbcontroller": map[string]any{
		"config": map[string]any{"gatewayAPI": map[string]any{"enabled": enabled}},
	}}}
}

// TestRightsForGateways: lbcontroller may make Services only where it serves Gateways.
func TestRightsForGateways(t *testing.T) {
	t.Parallel()
	for enabled, want := range map[bool]bool{false: false, true: true} {
		documents := render(t, "kube-system", withGatewayAPI(enabled))
		_, role := documents[gatewayRole]
		_, binding := documents["ClusterRoleBinding alicloud:lbcontroller:gateway-api"]
		if role != want || binding != want {
			t.Errorf("enabled %t: role %t, binding %t", enabled, role, binding)
		}
		for _, rule := range decode[rbacv1.ClusterRole](t, documents["ClusterRole alicloud:lbcontroller"]).Rules {
			if slices.Contains(rule.Resources, "services") && (slices.Contains(rule.Verbs, "create") || slices.Contains(rule.Verbs, "delete")) {
				t.Errorf("enabled %t: Services may be made or deleted by the common role", enabled)
			}
		}
	}
}

// TestGatewaysNeedTheirRights: what the package calls with its client of the Gateway API, and makes of Services and slices, is what it may
// do.
func TestGatewaysNeedTheirRights(t *testing.T) {
	t.Parallel()
	granted := map[string]bool{}
	for _, rule := range decode[rbacv1.ClusterRole](t, render(t, "kube-system", withGatewayAPI(true))[gatewayRole]).Rules {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				granted[verb+" "+resource] = true
			}
		}
	}
	// Of the finalizers of Gateways nothing is called: the API server asks for the right where owner references are checked.
	if !granted["update gateways/finalizers"] {
		t.Error("owner references may be refused")
	}
	delete(granted, "update gateways/finalizers")
	used := map[string]bool{"list namespaces": true, "watch namespaces": true}
	names := map[string]string{"services": "services", "slicesOf": "endpointslices", "Services": "services"}
	calls := regexp.MustCompile(`(?:\b(services|slicesOf)|(\w+)\([^()]*(?:\([^()]*\))?[^()]*\))\.` +
		`(Create|Update|UpdateStatus|Delete|Get|Patch)(?:\(ctx|\))`)
	for _, file := range []string{"gatewayapi/write.go", "gatewayapi/controller.go", "shadow/write.go"} {
		source, err := os.ReadFile("../../lbcontroller/internal/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range calls.FindAllStringSubmatch(string(source), -1) {
			resource := names[m[1]+m[2]]
			if resource == "" {
				resource = strings.ToLower(m[2])
			}
			switch verb := strings.ToLower(m[3]); {
			case verb == "updatestatus":
				used["update "+resource+"/status"] = true
			case verb == "patch" && resource == "services": // By the common role.
			default:
				used[verb+" "+resource] = true
			}
		}
		for _, m := range regexp.MustCompile(`v1\.(\w+)\(\)\.Informer\(\)`).FindAllStringSubmatch(string(source), -1) {
			used["list "+strings.ToLower(m[1])], used["watch "+strings.ToLower(m[1])] = true, true
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(used)), slices.Sorted(maps.Keys(granted))); diff != "" {
		t.Errorf("(-what it does +what it may):\n%s", diff)
	}
}
