package migrate

import (
	_ "embed"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

const everything = `{"Global": {
  "uid": "1", "accessKeyID": "TFRBSTV0", "accessKeySecret": "c2VjcmV0IHdvcmQ=", "clusterID": "c-1",
  "kubernetesClusterTag": "team", "region": "cn-hangzhou",
  "vpcid": "vpc-1", "zoneid": "cn-hangzhou-h", "vswitchid": "cn-hangzhou-h:vsw-1,:vsw-2",
  "resourceGroupID": "rg-1", "serviceMaxConcurrentReconciles": 7,
  "serviceBackendType": "eni", "disablePublicSLB": true, "nodeMaxConcurrentReconciles": 2, "nodeMonitorPeriod": 1, "nodeAddrSyncPeriod": 1,
  "routeMaxConcurrentReconciles": 1, "routeTableIDs": "vtb-1, vtb-2", "privateZoneId": "p", "privateZoneRecordTTL": 1,
  "featureGates": "IPv6DualStack=true,EndpointSlice=true,FilterServiceOnNodeChange=false,LoadBalancerTypeAnnotation=true"}}`

//go:embed testdata/everything.yaml
var golden string

func TestConvert(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, file, flags, env string
		want                   string // the values
	}{
		{
			name: "everything", file: everything,
			flags: `cloud-controller-manager --kubeconfig=/k --cloud-config=/c --metrics-bind-addr=0
  --configure-cloud-routes --cluster-cidr 10.0.0.0/16,fd00::/56
  --route-reconciliation-period=10s --skip-disable-source-dest-check --network=public
  --concurrent-service-syncs=3 --node-event-aggregation-wait-seconds=2 -v=5`,
			want: golden,
		},
		{
			name: "the sample of version 2", file: `{"Global": {"clusterID": "c-2", "vswitchid": "vsw-3"}}`,
			flags: `["--kubeconfig=/k", "--configure-cloud-routes=false", "--metrics-bind-addr=0"]`,
			want:  "{clusterID: c-2, vswitchIDs: [vsw-3], network: {mode: terway}}",
		},
		{
			name: "the sample of version 1",
			flags: `- --cloud-provider=alicloud - --allocate-node-cidrs=true - --cluster-cidr=172.20.0.0/16 - ` +
				`--feature-gates=IPv6DualStack=false - --port=10258`,
			want: `
clusterID: clusterid
network: {mode: flannel, clusterCIDRs: [172.20.0.0/16]}
components: {nodecontroller: {config: {ipv6: false}}}
`,
		},
		{
			name: "some controllers", file: "Global: {clusterID: c-3, serviceBackendType: ecs}",
			flags: "--controllers=node --cluster-cidr=10.0.0.0/8",
			want:  "{clusterID: c-3, network: {mode: terway}, components: {lbcontroller: {enabled: false}}}",
		},
		{
			name: "command and arguments, and an environment", file: "Global: {clusterID: c-4}",
			flags: `["/ccm","--cluster-cidr=10.0.0.0/8"] ["--network=vpc"]`,
			env: `[{"name":"SERVICE_FORCE_BACKEND_ENI","value":"true"},{"name":"SLB_ENDPOINT",` +
				`"value":"https://slb.example.com"}] [{"name":"POD_NAME","valueFrom":{}}]`,
			want: `
clusterID: c-4
network: {mode: flannel, clusterCIDRs: [10.0.0.0/8]}
components: {lbcontroller: {config: {backendType: eni}}, cloudgateway: {config: {endpoints: {slb: slb.example.com}}}}
`,
		},
		{
			name: "the environment overrides the file", file: "Global: {clusterID: c-5, serviceBackendType: eni}",
			flags: "--configure-cloud-routes=false",
			env:   `[{"name":"SERVICE_FORCE_BACKEND_ENI","value":"false"}]`,
			want:  "{clusterID: c-5, network: {mode: terway}, components: {lbcontroller: {config: {backendType: node}}}}",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			words, err := Words(tt.flags)
			if err != nil {
				t.Fatal(err)
			}
			env, err := Environment(tt.env)
			if err != nil {
				t.Fatal(err)
			}
			got, err := Convert([]byte(tt.file), words, env)
			if err != nil {
				t.Fatal(err)
			}
			text, err := yaml.Marshal(got.Values)
			if err != nil {
				t.Fatal(err)
			}
			var values, want any
			if err := yaml.Unmarshal(text, &values); err != nil {
				t.Fatal(err)
			}
			if err := yaml.Unmarshal([]byte(tt.want), &want); err != nil {
				t.Fatal(err)
			}
			dropOff(t, values, "serviceFields", "backendIPv6")
			if diff := cmp.Diff(want, values); diff != "" {
				t.Errorf("values (-want +got):\n%s", diff)
			}
		})
	}
}

// dropOff takes settings of lbcontroller that are off in every cluster that is taken over, unless it says otherwise, from the values.
func dropOff(t *testing.T, values any, keys ...string) {
	t.Helper()
	all, _ := values.(map[string]any)
	components, _ := all["components"].(map[string]any)
	lb, _ := components["lbcontroller"].(map[string]any)
	config, _ := lb["config"].(map[string]any)
	for _, key := range keys {
		on, ok := config[key]
		if !ok {
			t.Errorf("nothing is said of %s", key)
		}
		if on == false {
			delete(config, key)
		}
	}
	if len(config) == 0 {
		delete(lb, "config")
	}
	if len(lb) == 0 {
		delete(components, "lbcontroller")
	}
	if len(components) == 0 {
		delete(all, "components")
	}
}

// TestEverySettingIsNoted: nothing is dropped without a word, and no secret is repeated.
func TestEverySettingIsNoted(t *testing.T) {
	t.Parallel()
	got, err := Convert([]byte(everything), []string{"--cluster-cidr=10.0.0.0/8", "--dry-run", "--of-another-program=1"},
		map[string]string{"ACCESS_KEY_SECRET": "secret word", "TZ": "UTC"})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, note := range got.Notes {
		if note.Became == "" {
			t.Errorf("%s became nothing", note.Setting)
		}
		text.WriteString(note.Setting + ": " + note.Became + "\n")
	}
	notes := strings.ToLower(text.String())
	var file struct{ Global map[string]any }
	if err := yaml.Unmarshal([]byte(everything), &file); err != nil {
		t.Fatal(err)
	}
	delete(file.Global, "featureGates") // Each gate has a note of its own.
	for key := range file.Global {
		if !strings.Contains(notes, strings.ToLower(key)) {
			t.Errorf("%s is not noted in:\n%s", key, notes)
		}
	}
	for _, part := range []string{"feature gate ipv6dualstack", "feature gate endpointslice", "--cluster-cidr",
		"--dry-run", "--of-another-program: unknown", "environment access_key_secret: credentials", "environment tz: unknown"} {
		if !strings.Contains(notes, part) {
			t.Errorf("%q is not noted in:\n%s", part, notes)
		}
	}
	if values, _ := yaml.Marshal(got); strings.Contains(string(values)+notes, "secret word") ||
		strings.Contains(string(values)+notes, "c2VjcmV0") {
		t.Error("the secret is repeated")
	}
}

func TestWhatIsWrong(t *testing.T) {
	t.Parallel()
	for flags, want := range map[string]string{
		"--cluster-cidr=10.0.0.0":                 "--cluster-cidr",
		"--cluster-cidr":                          "has no value",
		"--concurrent-service-syncs=x":            "--concurrent-service-syncs",
		"--route-reconciliation-period=x":         "--route-reconciliation-period",
		"--node-event-aggregation-wait-seconds=x": "--node-event-aggregation-wait-seconds",
		"--leader-elect stray":                    `"stray"`,
		"[1]":                                     "JSON",
	} {
		words, err := Words(flags)
		if err == nil {
			_, err = Convert(nil, words, nil)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q in it", flags, err, want)
		}
	}
	if _, err := Convert([]byte(`{"Global": {"vswitchid": "a:b:c"}}`), nil, nil); err == nil || !strings.Contains(err.Error(), "vswitchid") {
		t.Errorf("a wrong file: %v", err)
	}
}

// TestEverySettingIsDocumented: what the old one's flags, keys and variables became is in docs/migrate.md, and the
// converter knows what is there.
func TestEverySettingIsDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/migrate.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	documented := map[string]bool{}
	for row := range strings.Lines(page) {
		if cell, _, ok := strings.Cut(strings.TrimPrefix(row, "| `"), " | "); ok && strings.HasPrefix(row, "| `") {
			for part := range strings.SplitSeq(cell, ",") {
				name, _, _ := strings.Cut(strings.Trim(strings.TrimSpace(part), "`"), "`")
				documented[name] = true
			}
		}
	}
	flags := []string{
		"cloud-config", "cluster-cidr", "configure-cloud-routes", "controllers", "concurrent-service-syncs", "network",
		"route-reconciliation-period",
		"skip-disable-source-dest-check", "node-event-aggregation-wait-seconds", "feature-gates",
	}
	for _, flag := range slices.Concat(flags, slices.Collect(maps.Keys(became()))) {
		if !documented["--"+flag] && !documented[flag] && flag != "v" {
			t.Errorf("docs/migrate.md does not say what became of %s", flag)
		}
	}
	for name := range documented {
		r := Result{Values: map[string]any{}}
		switch {
		case strings.HasPrefix(name, "--"):
			if err := r.flag(strings.TrimPrefix(name, "--"), map[string]string{
				"--cluster-cidr": "10.0.0.0/8", "--concurrent-service-syncs": "1", "--route-reconciliation-period": "1m",
				"--node-event-aggregation-wait-seconds": "1",
				"--feature-gates":                       "EndpointSlice=true",
			}[name]); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		case strings.ToUpper(name) == name && strings.ContainsAny(name, "_-"):
			r.variable(name, "")
		}
		for _, note := range r.Notes {
			if strings.HasPrefix(note.Became, "unknown") {
				t.Errorf("%s: the converter does not know it", name)
			}
		}
	}
	var file struct{ Global map[string]any }
	if err := yaml.Unmarshal([]byte(everything), &file); err != nil {
		t.Fatal(err)
	}
	for key := range file.Global {
		if !documented[key] {
			t.Errorf("docs/migrate.md does not say what became of %s", key)
		}
	}
}

// TestEndpoints: an endpoint of a product's own, which the gateway can have, is taken over from its variable.
func TestEndpoints(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/reference/config.md")
	if err != nil {
		t.Fatal(err)
	}
	products := regexp.MustCompile("(?m)^\\| `endpoints\\.([a-z]+)` ").FindAllStringSubmatch(string(text), -1)
	if len(products) < 4 {
		t.Fatalf("the gateway has endpoints of %q", products)
	}
	for _, product := range products {
		name := strings.ToUpper(product[1]) + "_ENDPOINT"
		if product[1] == "sts" {
			name = "ALIBABA_CLOUD_STS_ENDPOINT" // The variable of the cloud's own libraries.
		}
		got, err := Convert(nil, nil, map[string]string{name: "https://internal.example.com"})
		if err != nil {
			t.Fatal(err)
		}
		path := "components.cloudgateway.config.endpoints." + product[1]
		if !got.has(path) || strings.Contains(fmt.Sprint(got.Notes), "not supported") {
			t.Errorf("%s: no %s in %v, notes %v", name, path, got.Values, got.Notes)
		}
	}
}

// TestControllersOfLoadBalancers: NLBs are served where they were, and CLBs alone where they were alone.
func TestControllersOfLoadBalancers(t *testing.T) {
	t.Parallel()
	for list, want := range map[string][2]bool{ // lbcontroller off, NLBs off
		"node,route,service,nlb": {false, false}, "service": {false, true}, "nlb": {false, false}, "node,route": {true, false},
	} {
		got, err := Convert(nil, []string{"--controllers=" + list}, nil)
		if err != nil {
			t.Fatal(err)
		}
		off := [2]bool{got.has("components.lbcontroller.enabled"), got.has("components.lbcontroller.config.nlb.enabled")}
		if off != want {
			t.Errorf("--controllers=%s: %v, want %v: %v", list, off, want, got.Values)
		}
	}
}
