package chart_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"

	ours "alicloud-controllers.dev/deploy/chart"
	"alicloud-controllers.dev/proto/method"
)

// TestLeastPrivilege: a controller may do through the gateway exactly what it does. What its calls need is read off their place in
// its sources and the options of the method in the protocol.
func TestLeastPrivilege(t *testing.T) {
	t.Parallel()
	methods := methods()
	documents := render(t, "kube-system", map[string]any{"components": map[string]any{"lbcontroller": map[string]any{
		"config": map[string]any{"tlsSecretNamespaces": []any{"web"}}, // Without it, certificates are only read.
	}}})
	for _, component := range ours.Components()[1:] { // The gateway does not call itself.
		used := map[string]bool{}
		for _, called := range gatewayCalls(t, component, methods) {
			resource := methods[called].Options.GetResource()
			if narrow := methods[called].Options.GetNarrow(); narrow != nil {
				resource = narrow.GetResource() // Which controllers keep to, as the cluster's tests see.
			}
			used[methods[called].Verb()+" "+resource] = true
		}
		granted := map[string]bool{}
		for _, rule := range decode[rbacv1.ClusterRole](t, documents["ClusterRole alicloud:"+component]).Rules {
			if !slices.Contains(rule.APIGroups, "cloudgateway.alibabacloud.com") {
				continue
			}
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					granted[verb+" "+resource] = true
				}
			}
		}
		if len(used) == 0 {
			t.Errorf("%s: no call to the gateway was found", component)
		}
		if diff := cmp.Diff(slices.Sorted(maps.Keys(used)), slices.Sorted(maps.Keys(granted))); diff != "" {
			t.Errorf("%s (-what its calls need +what it may):\n%s", component, diff)
		}
	}
}

// TestMethodsOfToolsOnly: tool_only is what no controller calls, and nothing else. The gateway refuses such methods by default.
func TestMethodsOfToolsOnly(t *testing.T) {
	t.Parallel()
	methods, used := methods(), map[string]bool{"common.v1.StatusService_GetStatus": true} // by `cloudgateway top`
	for _, component := range ours.Components()[1:] {
		for _, called := range gatewayCalls(t, component, methods) {
			used[called] = true
		}
	}
	for name, m := range methods {
		if m.Options.GetToolOnly() == used[name] {
			t.Errorf("%s: a controller calls it: %t, so that tool_only has to be %t", m.FullName(), used[name], !used[name])
		}
	}
}

// methods are those of the gateway's API by service and name, e.g. "vpc.v1.EipService_ListEips".
func methods() map[string]method.Method {
	byName := map[string]method.Method{}
	for _, m := range method.All() {
		byName[m.Service+"_"+m.Name] = m
	}
	return byName
}

// gatewayCalls finds the methods of the gateway that the sources of a controller, and what it has of services, call:
// client.LoadBalancers.GetLoadBalancer.
func gatewayCalls(t *testing.T, component string, methods map[string]method.Method) []string {
	t.Helper()
	clients := clientFields(t)
	found := map[string]bool{}
	inspect := func(n ast.Node) bool {
		if call, ok := n.(*ast.SelectorExpr); ok {
			if client, ok := call.X.(*ast.SelectorExpr); ok {
				called := clients[client.Sel.Name] + "_" + call.Sel.Name
				if _, ok := methods[called]; ok {
					found[called] = true
				}
			}
		}
		return true
	}
	for _, dir := range []string{"../../" + component, "../../services/gateway"} {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() && entry.Name() == "gatewaytest" {
				return fs.SkipDir
			}
			if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
				ast.Inspect(parse(t, path), inspect)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return slices.Collect(maps.Keys(found))
}

// clientFields gives the services by the fields of client.Client that call them.
func clientFields(t *testing.T) map[string]string {
	t.Helper()
	fields := map[string]string{}
	ast.Inspect(parse(t, "../../proto/client/client.go"), func(n ast.Node) bool {
		if spec, ok := n.(*ast.TypeSpec); ok && spec.Name.Name == "Client" {
			for _, field := range spec.Type.(*ast.StructType).Fields.List {
				kind, ok := field.Type.(*ast.SelectorExpr)
				in, named := kind.X.(*ast.Ident)
				if !ok || !named {
					t.Fatalf("the type of %s is not understood", field.Names)
				}
				product := strings.TrimSuffix(in.Name, "v1") // Two products have services of the same name.
				for _, name := range field.Names {
					fields[name.Name] = product + ".v1." + strings.TrimSuffix(kind.Sel.Name, "Client")
				}
			}
		}
		return true
	})
	if len(fields) == 0 {
		t.Fatal("no typed clients were found")
	}
	return fields
}

func parse(t *testing.T, path string) *ast.File {
	t.Helper()
	source, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return file
}
