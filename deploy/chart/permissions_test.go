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
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"

	ours "alicloud-controllers.dev/deploy/chart"
)

// TestLeastPrivilege: a controller may do through the gateway exactly what it does. What its calls need is read off their place in
// its sources and the row of the method in the gateway's table of policies.
func TestLeastPrivilege(t *testing.T) {
	t.Parallel()
	policies := policies(t)
	documents := render(t, "kube-system", nil)
	for _, component := range ours.Components()[1:] { // The gateway does not call itself.
		used := map[string]bool{}
		for _, method := range gatewayCalls(t, component, policies) {
			used[policies[method]] = true
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

// policies reads "verb resource" by service and method, e.g. "EipService_ListEips", from the gateway's table.
func policies(t *testing.T) map[string]string {
	t.Helper()
	file := parse(t, "../../cloudgateway/internal/server/policy.go")
	names := map[string]string{} // the table's constants
	rows := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			for i, name := range n.Names[:min(len(n.Names), len(n.Values))] {
				names[name.Name] = text(n.Values[i], nil)
			}
		case *ast.KeyValueExpr:
			method, ok := n.Key.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			row, ok := n.Value.(*ast.CallExpr)
			if ok && len(row.Args) == 1 { // slow(write(…))
				row, ok = row.Args[0].(*ast.CallExpr)
			}
			if !ok || len(row.Args) < 2 {
				t.Fatalf("the row of %s is not understood", method.Sel.Name)
			}
			rows[strings.TrimSuffix(method.Sel.Name, "_FullMethodName")] = text(row.Args[1], names) + " " + text(row.Args[0], names)
		}
		return true
	})
	if len(rows) == 0 {
		t.Fatal("no table of policies was found")
	}
	return rows
}

// gatewayCalls finds the methods of the gateway that the sources of a controller, and what it has of services, call:
// client.LoadBalancers.GetLoadBalancer.
func gatewayCalls(t *testing.T, component string, policies map[string]string) []string {
	t.Helper()
	clients := clientFields(t)
	found := map[string]bool{}
	inspect := func(n ast.Node) bool {
		if call, ok := n.(*ast.SelectorExpr); ok {
			if client, ok := call.X.(*ast.SelectorExpr); ok {
				if method := clients[client.Sel.Name] + "_" + call.Sel.Name; policies[method] != "" {
					found[method] = true
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

// clientFields gives the services by the fields of gateway.Client that call them.
func clientFields(t *testing.T) map[string]string {
	t.Helper()
	fields := map[string]string{}
	ast.Inspect(parse(t, "../../services/gateway/client.go"), func(n ast.Node) bool {
		if spec, ok := n.(*ast.TypeSpec); ok && spec.Name.Name == "Client" {
			for _, field := range spec.Type.(*ast.StructType).Fields.List {
				kind, ok := field.Type.(*ast.SelectorExpr)
				if !ok {
					t.Fatalf("the type of %s is not understood", field.Names)
				}
				for _, name := range field.Names {
					fields[name.Name] = strings.TrimSuffix(kind.Sel.Name, "Client")
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

// text evaluates a literal or a constant.
func text(e ast.Expr, constants map[string]string) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if value, err := strconv.Unquote(e.Value); err == nil {
			return value
		}
	case *ast.Ident:
		return constants[e.Name]
	}
	return ""
}
