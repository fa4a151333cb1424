package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"alicloud-controllers.dev/deploy/tools/local/cloud"
)

// TestDev has two worlds side by side, as two people do who work on one machine, one without our controllers.
func TestDev(t *testing.T) {
	t.Parallel()
	path := buildWorld(t)
	home := filepath.Join(t.TempDir(), "it's a home")
	first, second := filepath.Join(home, "1", ".dev"), filepath.Join(home, "2", ".dev")
	one := start(t, path, t.TempDir(), "up", "-dir", first, "-nodes", "2")
	two := start(t, path, t.TempDir(), "up", "-dir", second, "-nodes", "0", "-controllers", "none")
	one.says("The world is up")
	two.says("The world is up")
	checkEnv(t, first, 2, "LBCONTROLLER", "NODECONTROLLER", "ROUTECONTROLLER")
	checkEnv(t, second, 0)
	examine(t, first)

	again := start(t, path, t.TempDir(), "up", "-dir", first)
	again.ends(1)
	again.says("a world runs there already; stop it with make dev-down")

	down := start(t, path, t.TempDir(), "down", "-dir", first)
	down.ends(0)
	one.ends(0)
	nobodyIn(t, first)
	empty(t, filepath.Dir(first))
	down = start(t, path, t.TempDir(), "down", "-dir", first)
	down.ends(0)
	down.says("no world runs in " + first)

	checkEnv(t, second, 0)
	two.signal(syscall.SIGKILL)
	two.ends(-1)
	nobodyIn(t, second)
	old := filepath.Join(second, "logs", "of the old world")
	if err := os.WriteFile(old, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	three := start(t, path, t.TempDir(), "up", "-dir", second, "-nodes", "1", "-controllers", "node,route")
	three.says("The world is up")
	if _, err := os.Stat(old); err == nil {
		t.Error("the new world has the logs of the old one")
	}
	checkEnv(t, second, 1, "NODECONTROLLER", "ROUTECONTROLLER")
	three.signal(syscall.SIGTERM)
	three.ends(0)
	nobodyIn(t, second)
	empty(t, filepath.Dir(second))
}

// TestDevKeepsFiles: a directory with things that are not a world's is not cleaned.
func TestDevKeepsFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	precious := filepath.Join(dir, "config")
	if err := os.WriteFile(precious, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := start(t, buildWorld(t), t.TempDir(), "up", "-dir", dir)
	c.ends(1)
	c.says("no world has left config there; name another directory in WORLD_DIR")
	if _, err := os.Stat(precious); err != nil {
		t.Errorf("the file: %v", err)
	}
}

// checkEnv sources the environment file of a world as a shell does, and uses every variable.
func checkEnv(t *testing.T, dir string, nodes int, controllers ...string) {
	t.Helper()
	shell := exec.CommandContext(t.Context(), "/bin/sh", "-c", `. "$1" && env`, "sh", filepath.Join(dir, "env"))
	shell.Env = []string{"PATH=" + os.Getenv("PATH")}
	text, err := shell.CombinedOutput()
	if err != nil {
		t.Fatalf("source the environment: %v\n%s", err, text)
	}
	env, names := map[string]string{}, []string{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if slices.Contains([]string{"PATH", "PWD", "OLDPWD", "SHLVL", "_"}, name) {
			continue // The shell's.
		}
		env[name] = value
		names = append(names, name)
	}
	want := []string{
		"KUBECONFIG", "SLB_ENDPOINT", "ECS_ENDPOINT", "VPC_ENDPOINT", "NLB_ENDPOINT", "CAS_ENDPOINT", "QUOTAS_ENDPOINT", "METADATA_ENDPOINT",
		"ALICLOUD_CLIENT_SCHEME",
		"ACCESS_KEY_ID", "ACCESS_KEY_SECRET", "REGION_ID", "VPC_ID", "CLUSTER_ID", "OPENAPISIM_ADMIN", "GATEWAY_ADDR", "GATEWAY_CA",
		"METRICS_CLOUDGATEWAY",
	}
	for _, name := range controllers {
		want = append(want, "METRICS_"+name)
	}
	slices.Sort(want)
	slices.Sort(names)
	if !slices.Equal(names, want) {
		t.Errorf("variables %v, want %v", names, want)
	}
	useCluster(t, env, nodes)
	useCloud(t, env, nodes)
	useGateway(t, env)
	for _, name := range append([]string{"CLOUDGATEWAY"}, controllers...) {
		if page, err := fetch(t.Context(), env["METRICS_"+name]); err != nil || !strings.Contains(page, "# TYPE ") {
			t.Errorf("METRICS_%s is %q, and its page %.80q: %v", name, env["METRICS_"+name], page, err)
		}
	}
}

// examine has cloudgateway doctor look at the gateway of a world: nothing is wrong, and nothing is missing in the simulated cloud.
func examine(t *testing.T, dir string) {
	t.Helper()
	doctor := exec.CommandContext(t.Context(), filepath.Join(built.bin, "cloudgateway"), "doctor", "--config",
		filepath.Join(dir, "config", "cloudgateway.yaml"))
	env, err := os.ReadFile(filepath.Join(dir, "env"))
	if err != nil {
		t.Fatal(err)
	}
	doctor.Env = os.Environ()
	for _, name := range []string{"CAS_ENDPOINT", "QUOTAS_ENDPOINT"} {
		_, host, _ := strings.Cut(string(env), "export "+name+"='")
		host, _, _ = strings.Cut(host, "'")
		doctor.Env = append(doctor.Env, name+"="+host)
	}
	if out, err := doctor.CombinedOutput(); err != nil || !strings.Contains(string(out), " compared with Quota Center, 0 differ") ||
		strings.Contains(string(out), "warning") {
		t.Errorf("doctor: %v\n%s", err, out)
	}
}

func useCluster(t *testing.T, env map[string]string, nodes int) {
	t.Helper()
	cfg, err := clientcmd.BuildConfigFromFlags("", env["KUBECONFIG"])
	if err != nil {
		t.Fatalf("KUBECONFIG: %v", err)
	}
	// Connections are shared by the name of the authority's file, which a later world in the same directory writes anew.
	if err := rest.LoadTLSFiles(cfg); err != nil {
		t.Fatalf("KUBECONFIG: %v", err)
	}
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatalf("KUBECONFIG: %v", err)
	}
	list, err := client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != nodes {
		t.Errorf("%d nodes, want %d: %v", len(list.Items), nodes, err)
	}
}

// useCloud calls each product with the key, and looks at the metadata of an instance and at the journal.
func useCloud(t *testing.T, env map[string]string, nodes int) {
	t.Helper()
	scheme := strings.ToLower(env["ALICLOUD_CLIENT_SCHEME"])
	calls := []struct{ endpoint, version, action string }{
		{"SLB_ENDPOINT", "2014-05-15", "DescribeLoadBalancers"},
		{"ECS_ENDPOINT", "2014-05-26", "DescribeInstances"},
		{"VPC_ENDPOINT", "2016-04-28", "DescribeVpcs"},
		{"NLB_ENDPOINT", "2022-04-30", "ListLoadBalancers"},
	}
	for _, c := range calls {
		api := cloud.API{
			URL: scheme + "://" + env[c.endpoint], Version: c.version, AccessKeyID: env["ACCESS_KEY_ID"], AccessKeySecret: env["ACCESS_KEY_SECRET"],
		}
		if err := api.Call(t.Context(), c.action, map[string]string{"RegionId": env["REGION_ID"]}); err != nil {
			t.Errorf("%s: %v", c.endpoint, err)
		}
	}
	if region, err := fetch(t.Context(), env["METADATA_ENDPOINT"]+"/latest/meta-data/region-id"); err != nil || region != env["REGION_ID"] {
		t.Errorf("METADATA_ENDPOINT returns region %q, want %q: %v", region, env["REGION_ID"], err)
	}
	state, err := cloud.New(env["OPENAPISIM_ADMIN"]).State(t.Context())
	if err != nil || state.Vpcs[env["VPC_ID"]] == nil || len(state.Instances) != nodes {
		t.Errorf("OPENAPISIM_ADMIN: no VPC %s or not %d instances: %v", env["VPC_ID"], nodes, err)
	}
	for id, instance := range state.Instances {
		if len(instance.Tags) == 0 || instance.Tags[0].Value != env["CLUSTER_ID"] {
			t.Errorf("instance %s is not tagged with CLUSTER_ID %s: %v", id, env["CLUSTER_ID"], instance.Tags)
		}
	}
}

func useGateway(t *testing.T, env map[string]string) {
	t.Helper()
	trust, err := credentials.NewClientTLSFromFile(env["GATEWAY_CA"], "cloudgateway")
	if err != nil {
		t.Fatalf("GATEWAY_CA: %v", err)
	}
	conn, err := grpc.NewClient(env["GATEWAY_ADDR"], grpc.WithTransportCredentials(trust))
	if err != nil {
		t.Fatalf("GATEWAY_ADDR: %v", err)
	}
	defer conn.Close()
	answer, err := healthv1.NewHealthClient(conn).Check(t.Context(), &healthv1.HealthCheckRequest{})
	if err != nil || answer.GetStatus() != healthv1.HealthCheckResponse_SERVING {
		t.Errorf("the gateway is %s: %v", answer.GetStatus(), err)
	}
}
