package config

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/services/config"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func none(string) string { return "" }

const minimal = `
region: cn-hangzhou
tls: {certFile: tls.crt, keyFile: tls.key}
credentials: {ecsRAMRole: {}}
`

func TestLoadFillsInDefaults(t *testing.T) {
	got, warnings, err := Load(write(t, "gateway.yaml", minimal), "", none)
	if err != nil || len(warnings) > 0 {
		t.Fatalf("%v, warnings %q", err, warnings)
	}
	want := Default()
	want.Region = "cn-hangzhou"
	want.TLS = TLS{CertFile: "tls.crt", KeyFile: "tls.key"}
	want.Credentials.ECSRAMRole = &ECSRAMRole{}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Credentials{}, Scope{})); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
}

func TestLoadReadsEverything(t *testing.T) {
	got, _, err := Load(write(t, "gateway.yaml", `
region: cn-beijing
vpcID: vpc-1
listen: 0.0.0.0:443
admin: {listen: 127.0.0.1:0}
tls: {certFile: a, keyFile: b, clientCAFile: c}
kubernetes: {kubeconfig: k, qps: 1, burst: 2}
authentication: {audience: gw}
credentials:
  accessKey: {idFile: id, secretFile: secret}
metadataEndpoint: http://127.0.0.1:1
endpoints: {slb: 127.0.0.1:2, vpc: 127.0.0.1:3, ecs: 127.0.0.1:4}
scheme: HTTP
network: public
budget:
  part: 0.25
  share: 0.5
  overrides: {slb/CreateLoadBalancer: {calls: 60, window: 60s}}
  learnUpTo: 2
  maxPriority: deletion
  callers: {"system:serviceaccount:tools:backup": {weight: 1, share: 0.1, maxPriority: user}}
scopes:
  - {callers: ["system:serviceaccount:tools:*"], tags: {team: web}, vpcIDs: [vpc-1]}
  - {callers: ["system:serviceaccount:kube-system:lbcontroller"], clusterID: c-1, controller: true}
front: {listen: "127.0.0.1:7444", keysFile: keys.yaml, wait: 20s, audience: tools}
reflection: false
limits: {serversPerCall: 40, routesPerCall: 10}
coalesce: {idle: 1ms, max: 2ms}
leaderElection: {enabled: true, namespace: ns, name: lease}
logging: {level: debug, format: text}
`), "", none)
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		Region: "cn-beijing", VpcID: "vpc-1", Listen: "0.0.0.0:443", TLS: TLS{CertFile: "a", KeyFile: "b", ClientCAFile: "c"},
		Authentication:   Authentication{Audience: "gw"},
		Credentials:      Credentials{AccessKey: &AccessKey{IDFile: "id", SecretFile: "secret"}},
		MetadataEndpoint: "http://127.0.0.1:1", Endpoints: Endpoints{SLB: "127.0.0.1:2", VPC: "127.0.0.1:3", ECS: "127.0.0.1:4"},
		Scheme: "HTTP", Network: "public",
		Budget: Budget{
			Part: 0.25, Share: 0.5,
			Overrides: map[string]Limit{"slb/CreateLoadBalancer": {Calls: 60, Window: config.Duration(time.Minute)}},
			LearnUpTo: 2, MaxPriority: "deletion",
			Callers: map[string]CallerBudget{"system:serviceaccount:tools:backup": {Weight: 1, Share: 0.1, MaxPriority: "user"}},
		},
		Scopes: []Scope{
			{Callers: []string{"system:serviceaccount:tools:*"}, Tags: map[string]string{"team": "web"}, VpcIDs: []string{"vpc-1"}},
			{Callers: []string{"system:serviceaccount:kube-system:lbcontroller"}, ClusterID: "c-1", Controller: true},
		},
		Front:    Front{Listen: "127.0.0.1:7444", KeysFile: "keys.yaml", Wait: config.Duration(20 * time.Second), Audience: "tools"},
		Limits:   Limits{ServersPerCall: 40, RoutesPerCall: 10},
		Coalesce: Coalesce{Idle: config.Duration(time.Millisecond), Max: config.Duration(2 * time.Millisecond)},
	}
	want.Admin.Listen = "127.0.0.1:0"
	want.Kubernetes.Kubeconfig, want.Kubernetes.QPS, want.Kubernetes.Burst = "k", 1, 2
	want.LeaderElection.Enabled, want.LeaderElection.Namespace, want.LeaderElection.Name = true, "ns", "lease"
	want.LeaderElection.LeaseDuration, want.LeaderElection.RetryPeriod = config.Duration(15*time.Second), config.Duration(time.Second)
	want.Logging.Level, want.Logging.Format = "debug", "text"
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Credentials{}, Scope{})); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
}

// TestLoadOrder: the file wins over the existing CCM's file, and that over the environment.
func TestLoadOrder(t *testing.T) {
	encode := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	existing := write(t, "cloud-config", fmt.Sprintf(
		`{"Global":{"region":"cn-shanghai","vpcid":"vpc-existing","accessKeyID":%q,"accessKeySecret":%q,"nodeMaxConcurrentReconciles":5}}`,
		encode("id"), encode("secret")))
	environ := func(name string) string {
		return map[string]string{
			"REGION_ID": "cn-env", "VPC_ID": "vpc-env", "SLB_ENDPOINT": "http://127.0.0.1:1/", "ALICLOUD_CLIENT_SCHEME": "HTTP",
			"METADATA_ENDPOINT": "http://127.0.0.1:2", "ACCESS_KEY_ID": "env",
		}[name]
	}
	file := write(t, "gateway.yaml", "region: cn-hangzhou\ntls: {certFile: a, keyFile: b}\n")

	got, warnings, err := Load(file, existing, environ)
	if err != nil {
		t.Fatal(err)
	}
	if got.Region != "cn-hangzhou" || got.VpcID != "vpc-existing" || got.Endpoints.SLB != "127.0.0.1:1" || got.Scheme != "HTTP" ||
		got.MetadataEndpoint != "http://127.0.0.1:2" {
		t.Errorf("got region %q, VPC %q, SLB %q, scheme %q, metadata %q", got.Region, got.VpcID, got.Endpoints.SLB, got.Scheme,
			got.MetadataEndpoint)
	}
	if k := got.Credentials.Given(); k == nil || k.ID != "id" || string(k.Secret) != "secret" || got.Credentials.Environment {
		t.Errorf("the existing file's key is not taken")
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "nodeMaxConcurrentReconciles") {
		t.Errorf("warnings %q, want one about nodeMaxConcurrentReconciles", warnings)
	}
	if text := fmt.Sprintf("%+v", got.Credentials.Given()); strings.Contains(text, "secret") {
		t.Errorf("the secret shows: %s", text)
	}

	got, _, err = Load(file, "", environ)
	if err != nil {
		t.Fatal(err)
	}
	if !got.Credentials.Environment || got.VpcID != "vpc-env" {
		t.Errorf("without the existing file the environment is not taken")
	}
}

func TestValidateReportsAllProblems(t *testing.T) {
	_, _, err := Load(write(t, "gateway.yaml", `
region: CN
listen: nowhere
credentials: {environment: true, accessKey: {idFile: id}}
metadataEndpoint: http:///latest
endpoints: {slb: "http://slb", ecs: "ecs:port", sts: "[::1]:80"}
scheme: FTP
network: moon
budget: {part: 0, share: 2, overrides: {CreateLoadBalancer: {calls: 0, window: 5s}}, learnUpTo: 11, maxPriority: high,
  callers: {backup: {weight: -1, share: 10, maxPriority: low}}}
scopes:
  - {}
  - {callers: ["", "a*b", "c*"], tags: {ack.aliyun.com: c-1, "": x}, clusterID: c-1, vpcIDs: [""]}
  - {callers: [a], vpcIDs: [vpc-1], controller: true}
front: {listen: nowhere, wait: 10m}
limits: {serversPerCall: 41, routesPerCall: 51}
coalesce: {idle: 2s, max: 1s}
logging: {level: loud}
`), "", none)
	want := `region: "CN" is not a region id such as cn-hangzhou
listen: "nowhere" is not of the form "host:port"
tls.certFile: is required
tls.keyFile: is required
credentials: accessKey and environment are named; keep one of them
credentials.accessKey.secretFile: is required
metadataEndpoint: "http:///latest" is not a URL, write e.g. "http://100.100.100.200"
endpoints.ecs: "ecs:port" is not of the form "host" or "host:port"
endpoints.slb: "http://slb" is not of the form "host" or "host:port"
scheme: "FTP" is not one of HTTPS, HTTP
network: "moon" is not one of vpc, public
budget.part: 0 is not above 0 and at most 1
budget.share: 2 is not above 0 and at most 1
budget.learnUpTo: 11 is not in 1 to 10
budget.maxPriority: "high" is not one of backend, user, deletion, background
budget.callers.backup.weight: -1 is not in 1 to 100
budget.callers.backup.share: 10 is not above 0 and at most 1
budget.callers.backup.maxPriority: "low" is not one of backend, user, deletion, background
budget.overrides.CreateLoadBalancer: is not of the form "product/Action", e.g. "slb/CreateLoadBalancer"
budget.overrides.CreateLoadBalancer.calls: 0 is below 1
budget.overrides.CreateLoadBalancer.window: 5s is neither 1s nor 60s, the windows that the cloud has
front.listen: "nowhere" is not of the form "host:port"
front.keysFile: is required
front.wait: 10m0s is not in 1s to 5m0s
scopes[0].callers: is required, e.g. ["system:serviceaccount:tools:*"]
scopes[0]: asks for nothing; give it tags, vpcIDs or clusterID
scopes[1].callers[0]: "" is neither a user name nor the beginning of one with "*" at its end
scopes[1].callers[1]: "a*b" is neither a user name nor the beginning of one with "*" at its end
scopes[1].tags: has ack.aliyun.com, which clusterID stands for; keep one of them
scopes[1].tags: has an empty key
scopes[1].vpcIDs: has an empty id
scopes[2].controller: needs clusterID
limits.serversPerCall: 41 is not in 1 to 40
limits.routesPerCall: 51 is not in 1 to 50
coalesce.max: 1s is shorter than coalesce.idle, 2s
logging.level: "loud" is not one of debug, info, warn, error`
	if err == nil {
		t.Fatal("no error")
	}
	if diff := cmp.Diff(want, problems(t, err)); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestLoadRefusesUnknownKeys(t *testing.T) {
	_, _, err := Load(write(t, "gateway.yaml", minimal+"regoin: x\n"), "", none)
	if err == nil || !strings.Contains(err.Error(), "regoin") {
		t.Errorf("got %v, want an error that names the key", err)
	}
	_, _, err = Load(write(t, "gateway.yaml", "region: cn-hangzhou\ntls: {certFile: a, keyFile: b}\n"), "", none)
	if err == nil || !strings.Contains(err.Error(), "credentials: none named") {
		t.Errorf("got %v, want an error about missing credentials", err)
	}
}
