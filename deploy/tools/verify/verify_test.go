package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func messages(problems []error) []string {
	var out []string
	for _, p := range problems {
		out = append(out, p.Error())
	}
	return out
}

func TestCheckImports(t *testing.T) {
	t.Parallel()
	const sdk = "github.com/aliyun/alibaba-cloud-sdk-go/sdk"
	tests := []struct {
		name string
		pkg  pkg
		want []string
	}{
		{
			name: "a controller may import services",
			pkg:  pkg{ImportPath: prefix + "lbcontroller/internal/app", Imports: []string{prefix + "services/kube", "fmt"}},
		},
		{
			name: "a controller may not import another, not even in a test",
			pkg:  pkg{ImportPath: prefix + "lbcontroller/internal/app", TestImports: []string{prefix + "nodecontroller/internal/app"}},
			want: []string{prefix + "lbcontroller/internal/app imports " + prefix +
				"nodecontroller/internal/app: the modules are layered, see docs/architecture.md"},
		},
		{
			name: "the SDK has one home",
			pkg:  pkg{ImportPath: prefix + "cloudgateway/internal/openapi", Imports: []string{sdk}},
		},
		{
			name: "the SDK elsewhere",
			pkg:  pkg{ImportPath: prefix + "cloudgateway/internal/slb", Imports: []string{sdk}},
			want: []string{prefix + "cloudgateway/internal/slb imports " + sdk + ": the SDK stays under cloudgateway/internal/openapi"},
		},
		{
			name: "the SDK's second generation elsewhere",
			pkg:  pkg{ImportPath: prefix + "cloudgateway/internal/slb", Imports: []string{"github.com/alibabacloud-go/tea/tea"}},
			want: []string{prefix + "cloudgateway/internal/slb imports github.com/alibabacloud-go/tea/tea: the SDK stays under cloudgateway/internal/openapi"},
		},
		{
			name: "the simulator's tests may use the SDK",
			pkg:  pkg{ImportPath: prefix + "cloudgateway/openapisim", XTestImports: []string{sdk}},
		},
		{
			name: "the simulator may not use the SDK",
			pkg:  pkg{ImportPath: prefix + "cloudgateway/openapisim", Imports: []string{sdk}},
			want: []string{prefix + "cloudgateway/openapisim imports " + sdk + ": the SDK stays under cloudgateway/internal/openapi"},
		},
		{
			name: "the tests of third-party clients may use the SDK and the simulator",
			pkg:  pkg{ImportPath: prefix + "cloudgateway/openapisim/thirdparty", TestImports: []string{sdk, prefix + "cloudgateway/openapisim"}},
		},
		{
			name: "the simulator shares nothing",
			pkg:  pkg{ImportPath: prefix + "cloudgateway/openapisim/slb", Imports: []string{prefix + "services/nodes", prefix + "cloudgateway/openapisim/api"}},
			want: []string{prefix + "cloudgateway/openapisim/slb imports " + prefix + "services/nodes: the modules are layered, see docs/architecture.md"},
		},
		{
			name: "the simulator shares nothing with the gateway, not even in a test",
			pkg:  pkg{ImportPath: prefix + "cloudgateway/openapisim/slb", TestImports: []string{prefix + "cloudgateway/writetest"}},
			want: []string{prefix + "cloudgateway/openapisim/slb imports " + prefix + "cloudgateway/writetest: the modules are layered, see docs/architecture.md"},
		},
		{
			name: "the gateway's tests may use the simulator",
			pkg:  pkg{ImportPath: prefix + "cloudgateway/internal/server", TestImports: []string{prefix + "cloudgateway/openapisim"}},
		},
		{
			name: "the gateway does not contain the simulator, not even by way of others",
			pkg: pkg{ImportPath: prefix + "cloudgateway/internal/server", Imports: []string{prefix + "cloudgateway/writetest"},
				Deps: []string{"fmt", prefix + "cloudgateway/openapisim/state", prefix + "cloudgateway/writetest"}},
			want: []string{prefix + "cloudgateway/internal/server imports " + prefix +
				"cloudgateway/openapisim/state: the simulated cloud is for tests, no process of ours contains it"},
		},
		{
			name: "a plan does not link a client",
			pkg:  pkg{ImportPath: prefix + "routecontroller/internal/plan", Deps: []string{"fmt", "k8s.io/client-go/rest"}},
			want: []string{prefix + "routecontroller/internal/plan imports k8s.io/client-go/rest: packages that decide do no I/O"},
		},
		{
			name: "a module that nobody thought of",
			pkg:  pkg{ImportPath: prefix + "extra/x"},
			want: []string{prefix + `extra/x: module "extra" has no row in the table of siblings`},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, messages(checkImports(tt.pkg))); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheckVersions(t *testing.T) {
	t.Parallel()
	modules := []module{
		{Dir: "a", Go: "1.26.0", Require: []requirement{{"google.golang.org/grpc", "v1.85.0"}, {"golang.org/x/net", "v0.1.0"}}},
		{Dir: "b", Go: "1.26.0", Require: []requirement{{"google.golang.org/grpc", "v1.84.0"}, {"golang.org/x/net", "v0.2.0"}}},
		{Dir: "c", Go: "1.25.0"},
	}
	want := []string{
		"b has google.golang.org/grpc v1.84.0, a has v1.85.0: run make tidy",
		"c has go 1.25.0, a has 1.26.0: run make tidy",
	}
	if diff := cmp.Diff(want, messages(checkVersions(modules))); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}
