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

const bindingsRole = "ClusterRole alicloud:lbcontroller:server-group-bindings"

func withBindings(enabled bool) map[string]any {
	return map[string]any{"components": map[string]any{"lbcontroller": map[string]any{
		"config": map[string]any{"serverGroupBindings": map[string]any{"enabled": enabled}},
	}}}
}

// TestRightsForBindings: lbcontroller may make Services only where it serves ServerGroupBindings, and Gateways are
// another option.
func TestRightsForBindings(t *testing.T) {
	t.Parallel()
	for enabled, want := range map[bool]bool{false: false, true: true} {
		documents := render(t, "kube-system", withBindings(enabled))
		_, role := documents[bindingsRole]
		_, binding := documents["ClusterRoleBinding alicloud:lbcontroller:server-group-bindings"]
		_, others := documents[gatewayRole]
		if role != want || binding != want || others {
			t.Errorf("enabled %t: role %t, binding %t, role for Gateways %t", enabled, role, binding, others)
		}
	}
}

// TestBindingsNeedTheirRights: what the package calls is what it may do.
func TestBindingsNeedTheirRights(t *testing.T) {
	t.Parallel()
	granted := map[string]bool{}
	for _, rule := range decode[rbacv1.ClusterRole](t, render(t, "kube-system", withBindings(true))[bindingsRole]).Rules {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				granted[verb+" "+resource] = true
			}
		}
	}
	// Of the finalizers nothing is called: the API server asks for the right where owner references are checked.
	if !granted["update servergroupbindings/finalizers"] {
		t.Error("owner references may be refused")
	}
	delete(granted, "update servergroupbindings/finalizers")
	used := map[string]bool{"list servergroupbindings": true, "watch servergroupbindings": true}
	names := map[string]string{"services": "services", "slicesOf": "endpointslices", "bindings": "servergroupbindings"}
	calls := regexp.MustCompile(`\b(services|slicesOf|bindings)\.(Create|Update|UpdateStatus|Delete|Patch)\(ctx`)
	for _, file := range []string{"groupbinding/write.go", "shadow/write.go"} {
		source, err := os.ReadFile("../../lbcontroller/internal/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range calls.FindAllStringSubmatch(string(source), -1) {
			switch resource, verb := names[m[1]], strings.ToLower(m[2]); {
			case verb == "updatestatus":
				used["update "+resource+"/status"] = true
			case verb == "patch" && resource == "services": // By the common role, as reading Services is.
			default:
				used[verb+" "+resource] = true
			}
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(used)), slices.Sorted(maps.Keys(granted))); diff != "" {
		t.Errorf("(-what it does +what it may):\n%s", diff)
	}
}
