package migrate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// TestMigrate asks the metadata service for what the old file leaves out, and leaves it empty where there is none.
func TestMigrate(t *testing.T) {
	sim, err := openapisim.New(openapisim.Config{Region: "cn-hangzhou",
		Seed: &state.Cloud{Vpcs: map[string]*state.Vpc{"vpc-1": {CidrBlock: "10.0.0.0/8"}}}})
	if err != nil {
		t.Fatal(err)
	}
	const nobody = "http://127.0.0.1:1"
	if err := sim.Start(t.Context(), map[string]string{"metadata": "127.0.0.1:0"}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "cloud-config")
	if err := os.WriteFile(file, []byte(`{"Global": {"clusterID": "c-1"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for endpoint, region := range map[string]string{"http://" + sim.Endpoint("metadata"): "cn-hangzhou", nobody: "", "": ""} {
		var out strings.Builder
		if err := Command(t.Context(), []string{"--cloud-config", file, "--flags", "--cluster-cidr=10.0.0.0/8", "--metadata-endpoint",
			endpoint}, &out); err != nil {
			t.Fatal(err)
		}
		var values struct {
			ClusterID, Region string
			Network           struct{ Mode string }
		}
		if err := yaml.Unmarshal([]byte(out.String()), &values); err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
		if values.ClusterID != "c-1" || values.Region != region || values.Network.Mode != "flannel" {
			t.Errorf("metadata service %q: %+v", endpoint, values)
		}
		if hint := strings.Contains(out.String(), "# region is not in the cloud-config"); hint != (region == "") {
			t.Errorf("metadata service %q: the output has the hint about the region: %t\n%s", endpoint, hint, out.String())
		}
		if !strings.Contains(out.String(), "#   --cluster-cidr: network.clusterCIDRs\n") {
			t.Errorf("what became of a flag is missing in:\n%s", out.String())
		}
	}
	empty := filepath.Join(t.TempDir(), "empty") // as kubectl leaves it where there is no such object
	if err := os.WriteFile(empty, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{nil, {"--cloud-config", empty, "--flags", "", "--env", "\n"}} {
		var out strings.Builder
		if err := Command(t.Context(), args, &out); err == nil || !strings.Contains(err.Error(), "docs/install.md") || out.Len() > 0 {
			t.Errorf("of nothing, %q, it makes %v and\n%s", args, err, out.String())
		}
	}
}
