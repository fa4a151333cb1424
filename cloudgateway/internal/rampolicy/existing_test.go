package rampolicy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	_ "alicloud-controllers.dev/proto/cloudgateway/ecs/v1" // Registers its messages.
	_ "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	_ "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	_ "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
)

// TestFieldsOfTheExistingCCM: each field of a request that the existing cloud controller manager sets can be set by the gateway, too: its
// name stands in the source of the product, or of what all products share, outside of what reads answers, or is a filter of a list.
func TestFieldsOfTheExistingCCM(t *testing.T) {
	t.Parallel()
	list, err := os.ReadFile(filepath.Join("testdata", "existingfields.txt"))
	if err != nil {
		t.Fatal(err)
	}
	sent, counted := map[string][]*regexp.Regexp{}, map[string]int{}
	for line := range strings.Lines(string(list)) {
		words := strings.Fields(line)
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		product, action := words[0], words[1]
		if sent[product] == nil {
			sent[product] = slices.Concat(sentTexts(t, product), sentTexts(t, "cloud"), filters(product))
		}
		for _, word := range words[2:] {
			word, isLeftOut := strings.CutPrefix(word, "!")
			theirs, ours, isOther := strings.Cut(word, "=")
			if !isOther {
				ours = theirs
			}
			counted[product]++
			isSent := slices.ContainsFunc(sent[product], func(text *regexp.Regexp) bool { return text.MatchString(ours) })
			if isSent == isLeftOut {
				t.Errorf("%s %s: the existing CCM sends %s; %q in cloudgateway/internal/%s: %t", product, action, theirs, ours, product, isSent)
			}
		}
	}
	for _, product := range []string{"slb", "nlb", "vpc", "ecs"} {
		if counted[product] < 15 {
			t.Errorf("only %d fields of %s are compared", counted[product], product)
		}
	}
}

// sentTexts are the texts of packages, as textsOf has them, but those by which answers are read.
func sentTexts(t *testing.T, dir string) (texts []*regexp.Regexp) {
	t.Helper()
	for _, name := range sourcesOf(t, filepath.Join("..", dir)) {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if list, ok := n.(*ast.CompositeLit); ok {
				if of, ok := list.Type.(*ast.SelectorExpr); ok && of.Sel.Name == "Fields" {
					return false
				}
			}
			if expr, ok := n.(ast.Expr); ok {
				if text := pattern(expr); strings.Trim(text, ".*") != "" {
					// What is sent of a list has its number in the name, "Permissions.%d.%s".
					texts = append(texts, regexp.MustCompile("^"+regexp.MustCompile(`(\\\.%[ds])+$`).ReplaceAllString(text, "")+"$"))
					return false
				}
			}
			return true
		})
	}
	return texts
}

// filters are the parameters that the gateway makes of the fields by which lists are asked for: "vpc_ids" is VpcId.
func filters(product string) (names []*regexp.Regexp) {
	pkg := protoreflect.FullName("cloudgateway." + product + ".v1")
	protoregistry.GlobalFiles.RangeFilesByPackage(pkg, func(f protoreflect.FileDescriptor) bool {
		for i := range f.Messages().Len() {
			m := f.Messages().Get(i)
			if !strings.HasPrefix(string(m.Name()), "List") || !strings.HasSuffix(string(m.Name()), "Request") {
				continue
			}
			for i := range m.Fields().Len() {
				names = append(names, regexp.MustCompile("(?i)^"+strings.ReplaceAll(string(m.Fields().Get(i).Name()), "_", "")+"s?$"))
			}
		}
		return true
	})
	return names
}
