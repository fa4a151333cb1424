package server

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"alicloud-controllers.dev/proto/method"

	"alicloud-controllers.dev/cloudgateway/internal/flow"
	"alicloud-controllers.dev/cloudgateway/internal/rampolicy"
)

// TestNothingIsLeftOut names the file in which a method of the API, or an action that the gateway calls, is missing. It
// takes no time, so that who adds a resource can run it after each step.
func TestNothingIsLeftOut(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	read := func(parts ...string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(append([]string{root}, parts...)...))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	client, questions, page := read("proto", "client", "client.go"), read("cloudgateway", "internal", "server",
		"own_writes_test.go"), read("docs", "gateway-api.md")
	operations := ""
	files, err := filepath.Glob(filepath.Join(root, "cloudgateway", "writetest", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		operations += string(text)
	}
	for _, m := range method.All() {
		product, service, _ := strings.Cut(m.Service, ".v1.")
		missing := func(file, what string) { t.Errorf("%s: %s is missing, for %s", file, what, m.FullName()) }
		if constructor := product + "v1.New" + service + "Client(cc)"; !strings.Contains(client, constructor) {
			missing("proto/client/client.go", constructor)
		}
		if product != "common" && !strings.Contains(page, "| `"+m.Service+"` |") {
			missing("docs/gateway-api.md", "the row of "+m.Service)
		}
		switch aged := m.Descriptor.Input().Fields().ByName("max_age") != nil; {
		case m.Reads() && aged && !strings.Contains(questions, product+"v1."+service+"_"+m.Name+"_FullMethodName"):
			missing("cloudgateway/internal/server/own_writes_test.go", "a question with "+m.Name+" in questions()")
		case !m.Reads() && !strings.Contains(operations, "v1."+m.Name+"Request{"):
			missing("cloudgateway/writetest", "an operation with "+m.Name)
		}
	}
	limits, err := flow.Limits()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rampolicy.Rows() {
		if _, ok := limits[string(row.Product)+"/"+row.Action]; !ok {
			t.Errorf("cloudgateway/internal/flow/limits.csv: the row of %s/%s is missing", row.Product, row.Action)
		}
		for _, f := range row.Features {
			if !slices.Contains(rampolicy.Features(), f) {
				t.Errorf("cloudgateway/internal/rampolicy/actions.csv: %s has the feature %s, which nothing knows", row.Name(), f)
			}
		}
	}
}
