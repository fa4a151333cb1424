package rampolicy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/cas"
	"alicloud-controllers.dev/cloudgateway/openapisim/ecs"
	"alicloud-controllers.dev/cloudgateway/openapisim/nlb"
	"alicloud-controllers.dev/cloudgateway/openapisim/quotas"
	"alicloud-controllers.dev/cloudgateway/openapisim/slb"
	"alicloud-controllers.dev/cloudgateway/openapisim/vpc"
)

// TestTableIsWhatTheSourceCalls compares the table with the texts in the source of the products that are names of actions, or
// make such names ("CreateLoadBalancer" + protocol + "Listener"): an action without a row would be refused at run time, and a
// row without a call would be a permission too many.
func TestTableIsWhatTheSourceCalls(t *testing.T) {
	for _, product := range []struct {
		name      openapi.Product
		simulated api.Product
		packages  []string
	}{
		{openapi.SLB, slb.Product(), []string{"slb", "cloud"}},
		{openapi.VPC, vpc.Product(), []string{"vpc", "cloud"}},
		{openapi.ECS, ecs.Product(), []string{"ecs", "cloud"}},
		{openapi.NLB, nlb.Product(), []string{"nlb", "cloud"}},
		{openapi.CAS, cas.Product(), []string{"cas", "cloud"}},
		{openapi.Quotas, quotas.Product(nil), []string{"doctor"}},
	} {
		t.Run(string(product.name), func(t *testing.T) {
			var texts []*regexp.Regexp
			for _, name := range product.packages {
				texts = append(texts, textsOf(t, filepath.Join("..", name))...)
			}
			var table []string
			for _, r := range Rows() {
				if r.Product == product.name {
					table = append(table, r.Action)
				}
			}
			for _, action := range table {
				if !slices.ContainsFunc(texts, func(text *regexp.Regexp) bool { return text.MatchString(action) }) {
					t.Errorf("cloudgateway/internal/rampolicy/actions.csv has %s, which nothing calls", action)
				}
			}
			for _, known := range product.simulated.Actions {
				for _, text := range texts {
					member := known.Name == "DeletionProtection" // also of answers
					if text.MatchString(known.Name) && !member && !slices.Contains(table, known.Name) {
						t.Errorf("cloudgateway/internal/rampolicy/actions.csv: %s is missing, which the source calls", known.Name)
					}
				}
			}
		})
	}
}

// textsOf returns the texts of the packages in a directory as patterns: literals as they are, and sums of literals and
// other values with anything in place of the latter.
func textsOf(t *testing.T, dir string) []*regexp.Regexp {
	t.Helper()
	var found []*regexp.Regexp
	for _, name := range sourcesOf(t, dir) {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			expr, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			pattern := pattern(expr)
			if strings.Trim(pattern, ".*") == "" {
				return true
			}
			found = append(found, regexp.MustCompile("^"+pattern+"$"))
			return false // the parts of a sum are no texts by themselves
		})
	}
	return found
}

// sourcesOf are the files of the packages in a directory.
func sourcesOf(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			files = append(files, path)
		}
		return err
	})
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %d files, %v", dir, len(files), err)
	}
	return files
}

// pattern is what an expression may be as a text; ".*" for everything that is no literal.
func pattern(expr ast.Expr) string {
	const anything = ".*"
	switch e := expr.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); e.Kind == token.STRING && err == nil {
			return regexp.QuoteMeta(text)
		}
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			return pattern(e.X) + pattern(e.Y)
		}
	case *ast.ParenExpr:
		return pattern(e.X)
	}
	return anything
}
