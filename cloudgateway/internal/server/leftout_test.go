package server

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"alicloud-controllers.dev/proto/method"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/flow"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/rampolicy"
)

// source is the tree, as far as it says what a resource of the gateway is made of.
type source struct {
	t    *testing.T
	said map[string]bool // of what it was said that it is missing
}

func (s source) read(file string) string {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", file))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// all is the text of the files that a pattern finds, without tests.
func (s source) all(pattern string) (text string) {
	s.t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "..", pattern))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			text += s.read(strings.TrimPrefix(filepath.ToSlash(file), "../../../"))
		}
	}
	return text
}

// has names the place in a file where something is missing, which comes after a line that is there.
func (s source) has(file, text, after, why string) {
	s.t.Helper()
	content := s.read(file)
	if strings.Contains(content, text) || s.said[text] {
		return
	}
	s.said[text] = true
	line := 1 + strings.Count(content[:max(0, strings.LastIndex(content, after))], "\n")
	s.t.Errorf("%s:%d: %s is missing, for %s", file, line, text, why)
}

// TestNothingIsLeftOut names file and line in which a method of the API, or an action that the gateway calls, is missing.
// It takes no time, so that who adds a resource can run it after each step.
func TestNothingIsLeftOut(t *testing.T) {
	s := source{t, map[string]bool{}}
	const server, asks = "cloudgateway/internal/server/server.go", "cloudgateway/internal/server/own_writes_test.go"
	operations := s.all("cloudgateway/writetest/*.go")
	kinds := kindsOfOwners()
	for _, m := range method.All() {
		product, service, _ := strings.Cut(m.Service, ".v1.")
		why := m.FullName()
		s.has("proto/client/client.go", product+"v1.New"+service+"Client(cc)", "v1.New", why)
		s.has(server, product+"v1.Register"+service+"Server(r", product+"v1.Register", why)
		if product != "common" {
			s.has("docs/gateway-api.md", "| `"+m.Service+"` |", "| `"+product+".v1.", why)
		}
		if m.Reads() && m.Descriptor.Input().Fields().ByName("max_age") != nil {
			s.has(asks, product+"v1."+service+"_"+m.Name+"_FullMethodName", product+"v1.", why+", in questions()")
		}
		if !m.Reads() && !strings.Contains(operations, "v1."+m.Name+"Request{") {
			t.Errorf("cloudgateway/writetest: an operation with %s is missing", m.FullName())
		}
		for _, owner := range m.Options.GetOwners() {
			if kind := owner.GetKind(); owner.GetField() != "" && kind != "" && !slices.Contains(kinds, kind) {
				s.has(server, "the Owner() of "+kind, "s.owners = append(", why)
			}
		}
	}
	for _, service := range method.ToolServices() {
		// What tools do with NLB instances lbcontroller does, too.
		if service != "nlb.v1.LoadBalancerService" && len(rampolicy.Of(rampolicy.Feature(service))) == 0 {
			t.Errorf("cloudgateway/internal/rampolicy/actions.csv: a row with the feature %s is missing", service)
		}
	}
	limits, err := flow.Limits()
	if err != nil {
		t.Fatal(err)
	}
	features := rampolicy.Features()
	for _, row := range rampolicy.Rows() {
		if _, ok := limits[string(row.Product)+"/"+row.Action]; !ok && row.Product != openapi.Quotas { // The doctor has no budget.
			s.has("cloudgateway/internal/flow/limits.csv", string(row.Product)+","+row.Action+",", string(row.Product)+",", "actions.csv")
		}
		for _, f := range row.Features {
			if !slices.Contains(features, f) {
				t.Errorf("cloudgateway/internal/rampolicy/actions.csv: %s has the feature %s, which nothing knows", row.Name(), f)
			}
		}
	}
	s.packages()
	s.sends()
	s.checks()
}

// checks looks whether each request that a resource has rules for in its check.go has a case in the tests of these. What the options of the
// API say of a field is tested for all resources, by TestEveryFieldIsChecked.
func (s source) checks() {
	files, err := filepath.Glob(filepath.Join("..", "*", "*", "check.go"))
	if err != nil || len(files) == 0 {
		s.t.Fatal("no resource has rules", err)
	}
	for _, file := range files {
		dir := "cloudgateway/internal/" + strings.TrimPrefix(filepath.ToSlash(filepath.Dir(file)), "../")
		test, err := os.ReadFile(filepath.Join(filepath.Dir(file), "check_test.go"))
		if err != nil {
			s.t.Errorf("%s/check_test.go is missing, with a case for each rule of check.go", dir)
			continue
		}
		for _, found := range regexp.MustCompile(`\*(\w+v1\.\w+Request)\b`).FindAllStringSubmatch(s.read(dir+"/check.go"), -1) {
			if request := found[1]; !strings.Contains(string(test), request+"{") {
				s.t.Errorf("%s/check_test.go: a case with %s is missing", dir, request)
			}
		}
	}
}

// kindsOfOwners are the names of the kinds that scopes can look at.
func kindsOfOwners() (kinds []string) {
	for _, owner := range New(Config{Shared: cloud.Shared{Logger: slog.New(slog.DiscardHandler)}}).owners {
		kinds = append(kinds, owner.Kind())
	}
	return kinds
}

// packages looks at the package of each resource: its checks are in force, and each field that its message has is decoded.
func (s source) packages() {
	dirs, err := filepath.Glob(filepath.Join("..", "*", "*", "service.go"))
	if err != nil || len(dirs) == 0 {
		s.t.Fatal("no resources", err)
	}
	kind := regexp.MustCompile(`cloud\.Kind\[(\w+)v1\.(\w+)\]\{`)
	for _, file := range dirs {
		dir := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(file)), "../")
		text := s.all("cloudgateway/internal/" + dir + "/*.go")
		if strings.Contains(text, "func Checks() []check.Rule") {
			product, resource, _ := strings.Cut(dir, "/")
			if called := resource + ".Checks()"; !strings.Contains(s.read("cloudgateway/internal/server/server.go"), product+called) {
				s.has("cloudgateway/internal/server/server.go", called, "return check.NewTable(", dir+"/check.go")
			}
		}
		for _, found := range kind.FindAllStringSubmatch(text, -1) {
			for _, field := range fieldsOf(found[1], found[2]) {
				if !regexp.MustCompile(`[.\s{]` + field + `\b`).MatchString(text) {
					s.t.Errorf("cloudgateway/internal/%s/codec.go: the field %s of %s is not decoded", dir, field, found[2])
				}
			}
		}
	}
}

// fieldsOf are the names in Go of the fields of a message of a product.
func fieldsOf(product, name string) (names []string) {
	for _, m := range method.All() {
		out := m.Descriptor.Output()
		for i := range out.Fields().Len() {
			item := out.Fields().Get(i).Message()
			if item == nil || item.FullName() != protoreflect.FullName("cloudgateway."+product+".v1."+name) {
				continue
			}
			for j := range item.Fields().Len() {
				names = append(names, goName(string(item.Fields().Get(j).Name())))
			}
			return names
		}
	}
	return []string{fmt.Sprintf("(no answer has a %s)", name)}
}

// goName is what protoc-gen-go calls a field.
func goName(field string) (name string) {
	for part := range strings.SplitSeq(field, "_") {
		name += strings.ToUpper(part[:1]) + part[1:]
	}
	return name
}
