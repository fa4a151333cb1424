package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestScopeControllers: the controllers are kept to their cluster and VPC, wherever these are named; where they are
// not, a warning says what to do.
func TestScopeControllers(t *testing.T) {
	const (
		lb    = "system:serviceaccount:cloud:lbcontroller"
		route = "system:serviceaccount:cloud:routecontroller"
		node  = "system:serviceaccount:cloud:nodecontroller"
	)
	environment := func(values map[string]string) func(string) string {
		return func(name string) string { return values[name] }
	}
	own := Scope{Callers: []string{lb}, ClusterID: "c-1", Controller: true, forControllers: true}
	vpc := Scope{Callers: []string{route, node}, VpcIDs: []string{"vpc-1"}, forControllers: true}
	tools := Scope{Callers: []string{"tools"}, VpcIDs: []string{"vpc-2"}}
	tests := []struct {
		name, file, cloudConfig string
		environ                 map[string]string
		want                    []Scope
		warnings                []string // beginnings
	}{
		{name: "not asked for", file: "clusterID: c-1\nvpcID: vpc-1"},
		{name: "in the file", file: "scopeControllers: true\nclusterID: c-1\nvpcID: vpc-1", want: []Scope{own, vpc}},
		{
			name: "in the existing cloud-config only", file: "scopeControllers: true",
			cloudConfig: `{"Global":{"clusterID":"c-1","vpcid":"vpc-1"}}`, want: []Scope{own, vpc},
		},
		{
			name: "in the environment", file: "scopeControllers: true",
			environ: map[string]string{"CLUSTER_ID": "c-1", "VPC_ID": "vpc-1"}, want: []Scope{own, vpc},
		},
		{
			name: "beside others", file: `{scopeControllers: true, clusterID: c-1, vpcID: vpc-1, scopes: [{callers: [tools], vpcIDs: [vpc-2]}]}`,
			want: []Scope{tools, own, vpc},
		},
		{
			name: "unknown cluster", file: "scopeControllers: true\nvpcID: vpc-1", want: []Scope{vpc},
			warnings: []string{"scopeControllers: the cluster is not known, so lbcontroller"},
		},
		{
			name: "nothing known", file: "scopeControllers: true",
			warnings: []string{"scopeControllers: the cluster is not known, so lbcontroller",
				"scopeControllers: the VPC is not known, so routecontroller"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			existing := ""
			if tt.cloudConfig != "" {
				existing = write(t, "cloud-config", tt.cloudConfig)
			}
			text := tt.file
			const rest = "region: cn-hangzhou, tls: {certFile: a, keyFile: b}, credentials: {ecsRAMRole: {}}, leaderElection: {namespace: cloud}"
			if inner, ok := strings.CutPrefix(text, "{"); ok {
				text = "{" + rest + ", " + inner
			} else {
				text = "{" + rest + ", " + strings.ReplaceAll(text, "\n", ", ") + "}"
			}
			got, warnings, err := Load(write(t, "gateway.yaml", text), existing, environment(tt.environ))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got.Scopes, cmp.AllowUnexported(Scope{})); diff != "" {
				t.Errorf("scopes (-want +got):\n%s", diff)
			}
			if len(warnings) != len(tt.warnings) {
				t.Fatalf("warnings %q, want %d", warnings, len(tt.warnings))
			}
			for i, begins := range tt.warnings {
				if !strings.HasPrefix(warnings[i], begins) || !strings.Contains(warnings[i], "set ") {
					t.Errorf("warning %q, want one that begins %q and says what to set", warnings[i], begins)
				}
			}
		})
	}
}
