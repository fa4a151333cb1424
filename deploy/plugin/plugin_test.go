package plugin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// kubectl is a program in the place of kubectl: it notes how it was called, and answers out of files.
const kubectl = `#!/bin/sh
printf '%s\n' "$*" >>"$CALLS"
echo "KUBECONFIG=$KUBECONFIG" >>"$CALLS.env"
case "$*" in
*"get pods"*jsonpath*) ;;
*"get lease cloudgateway"*) printf %s cloudgateway-1_x ;;
*"get service web"*) echo '{"metadata":{"namespace":"shop","name":"web"},"spec":{"type":"LoadBalancer","selector":{"app":"web"}},
	"status":{"conditions":[{"type":"Synced","status":"False","reason":"QuotaExceeded","message":"the account has no room for a CLB"}]}}' ;;
*"get node n1"*) echo '{"metadata":{"name":"n1"},"spec":{"providerID":"cn-hangzhou.i-1"}}' ;;
*"get events"*"kind=Service,involvedObject.name=web"*) echo '{"items":[{"reason":"SyncLoadBalancerFailed","type":"Warning",
	"message":"another word",
	"source":{"component":"service-controller"},"involvedObject":{"kind":"Service","name":"web"},"lastTimestamp":"2026-12-01T10:00:00Z"}]}' ;;
*"get endpointslices"*|*"get events"*|*"get leases"*|*"get pods"*) echo '{"items":[]}' ;;
*"cloudgateway top"*"-o json") echo '{"actions":[{"product":"slb","action":"CreateLoadBalancer","waiting":[
	{"caller":"system:serviceaccount:kube-system:lbcontroller","calls":12,"longest":"40s"}]}]}' ;;
*"config view"*) echo 'kind: Config' ;;
*"exec -i "*) echo "out of a pod: $*: $(cat)" ;;
*exec*) echo "out of a pod: $*" ;;
*) echo "Error from server (NotFound): $*" >&2; exit 1 ;;
esac
`

// run calls the plugin with that program.
func run(t *testing.T, args ...string) (out string, calls []string, err error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "kubectl"), []byte(kubectl), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("CALLS", filepath.Join(dir, "calls"))
	var stdout strings.Builder
	err = Command{Stdin: strings.NewReader("typed"), Stdout: &stdout, Stderr: &stdout}.Run(t.Context(), args)
	text, readErr := os.ReadFile(filepath.Join(dir, "calls"))
	if readErr == nil {
		calls = strings.Split(strings.TrimSpace(string(text)), "\n")
	}
	return stdout.String(), calls, err
}

// TestCommands: each goes to the pod that can answer it, with the flags of the user.
func TestCommands(t *testing.T) {
	const config = " --config /etc/cloudgateway/config.yaml"
	for args, want := range map[string]string{
		"plan":                       "-n kube-system exec deployment/lbcontroller -- lbcontroller plan",
		"plan -n shop web":           "-n kube-system exec deployment/lbcontroller -- lbcontroller plan -n shop web",
		"plan nodecontroller":        "-n kube-system exec deployment/nodecontroller -- nodecontroller plan",
		"plan routecontroller -o x":  "-n kube-system exec deployment/routecontroller -- routecontroller plan -o x",
		"convert shop/web":           "-n kube-system exec deployment/lbcontroller -- lbcontroller convert shop/web",
		"doctor":                     "-n kube-system exec cloudgateway-1 -- cloudgateway doctor" + config,
		"--installed ali top --once": "-n ali exec cloudgateway-1 -- cloudgateway top" + config + " --once",
		"--context c --kubeconfig f plan": "--context=c --kubeconfig=f -n kube-system exec deployment/lbcontroller -- " +
			"lbcontroller plan",
	} {
		out, calls, err := run(t, strings.Fields(args)...)
		if err != nil || calls[len(calls)-1] != want || !strings.Contains(out, "out of a pod: ") {
			t.Errorf("%s: %v, %q, want %q\n%s", args, err, calls, want, out)
		}
	}
}

// TestPlanOfAFile: the file is of this machine, and the pod reads it as its standard input.
func TestPlanOfAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "shared.yaml")
	if err := os.WriteFile(file, []byte("kind: Gateway"), 0o600); err != nil {
		t.Fatal(err)
	}
	const in = "-n kube-system exec -i deployment/lbcontroller -- lbcontroller plan "
	for _, c := range []struct {
		args        []string
		want, stdin string
	}{
		{[]string{"--gateways", file, "-n", "infra"}, in + "--gateways - -n infra", "kind: Gateway"},
		{[]string{"-n", "infra", "-gateways=" + file}, in + "-n infra -gateways=-", "kind: Gateway"},
		{[]string{"-gateways", "-"}, in + "-gateways -", "typed"},
		{[]string{"-gateways"}, in + "-gateways", "typed"}, // lbcontroller says what is missing.
	} {
		out, calls, err := run(t, append([]string{"plan"}, c.args...)...)
		if err != nil || calls[len(calls)-1] != c.want || !strings.HasSuffix(strings.TrimSpace(out), ": "+c.stdin) {
			t.Errorf("%q: %v, %q, want %q\n%s", c.args, err, calls, c.want, out)
		}
	}
	if _, calls, err := run(t, "plan", "-gateways", file+".gone"); err == nil || len(calls) > 0 {
		t.Errorf("a file that isn't there: %v, %q", err, calls)
	}
}

// TestWhy: what is known is asked for and shown, and something in the way is an error for scripts.
func TestWhy(t *testing.T) {
	for args, want := range map[string][]string{
		"why service/web": {
			"service shop/web: this stands in the way", "no lbcontroller leads", "QuotaExceeded: the account has no room for a CLB",
			"no pod that it selects (app=web) is ready", ": another word",
			"slb CreateLoadBalancer: 12 of system:serviceaccount:kube-system:lbcontroller for 40s",
		},
		"why -n shop svc/web": {"service shop/web"}, "why svc/web -n shop": {"service shop/web"}, "why node/n1": {"node n1"},
		"why route/n1":     {"the node has no range of pods"},
		"why service/gone": {"service gone", "not read  kubectl get service gone -o json", "NotFound"},
	} {
		out, calls, err := run(t, strings.Fields(args)...)
		if err == nil || !strings.Contains(err.Error(), "stands in the way") {
			t.Errorf("%s: %v", args, err)
		}
		for _, text := range want {
			if !strings.Contains(out, text) {
				t.Errorf("%s: no %q in\n%s", args, text, out)
			}
		}
		if strings.Contains(args, "shop") && !strings.HasSuffix(calls[0], "get service web -n shop -o json") {
			t.Errorf("%s asks %q", args, calls[0])
		}
	}
}

// TestBundle runs the script of the chart with a configuration that has the chosen cluster alone.
func TestBundle(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bundle.tar.gz")
	out, calls, err := run(t, "--context", "c", "bundle", "-o", file)
	if err != nil || !strings.Contains(out, "files. Look through it") {
		t.Fatalf("%v\n%s", err, out)
	}
	if info, err := os.Stat(file); err != nil || info.Size() == 0 {
		t.Error("there is no file", err)
	}
	environment, err := os.ReadFile(os.Getenv("CALLS") + ".env")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(environment)), "\n")
	path := strings.TrimPrefix(lines[len(lines)-1], "KUBECONFIG=")
	if calls[0] != "--context=c config view --minify --flatten --raw" || !strings.Contains(path, "alicloud-kubeconfig-") {
		t.Errorf("calls %q with %q", calls, path)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("credentials stay behind in " + path)
	}
}

// TestHelp: what is not known says what is.
func TestHelp(t *testing.T) {
	for _, args := range []string{"", "help", "--help"} {
		if out, _, err := run(t, strings.Fields(args)...); err != nil || !strings.Contains(out, "kubectl alicloud why service/web") {
			t.Errorf("%q: %v\n%s", args, err, out)
		}
	}
	for args, want := range map[string]string{
		"what": `no command "what"`, "--what": "not defined", "why": "name one", "why a b": "name one", "why pod/x": "is no service/NAME",
		"why --what": "not defined", "migrate": "there are no settings",
	} {
		if _, _, err := run(t, strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
	if out, _, err := run(t, "version"); err != nil || strings.TrimSpace(out) == "" {
		t.Errorf("the version is %q, %v", out, err)
	}
}
