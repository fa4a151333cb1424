package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aliyun/alibaba-cloud-sdk-go/sdk"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/auth/credentials"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/requests"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func noEnv(string) string { return "" }

func write(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestParse(t *testing.T) {
	t.Parallel()
	seed := write(t, `{"vpcs":{"vpc-1":{"cidrBlock":"10.0.0.0/8"}}}`)
	opts, err := parse([]string{
		"--slb", "127.0.0.1:1", "--region", "cn-beijing", "--account", "7", "--access-key-id", "id",
		"--access-key-secret-file", write(t, "secret\n"),
		"--fast", "--limits=off", "--seed", seed, "--session-duration", "90s",
	}, noEnv, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	c := opts.config
	if opts.addresses["slb"] != "127.0.0.1:1" || len(opts.addresses) != 1 || c.Region != "cn-beijing" || c.Account != "7" {
		t.Errorf("options %+v", opts)
	}
	if c.AccessKeys[0].ID != "id" || c.AccessKeys[0].Secret != "secret" || *c.Settings != api.FastSettings() ||
		!c.LimitsOff || c.SessionDuration != 90*time.Second {
		t.Errorf("config %+v", c)
	}
	if c.Seed.Vpcs["vpc-1"].CidrBlock != "10.0.0.0/8" {
		t.Errorf("seed %+v", c.Seed)
	}
	env := map[string]string{"ACCESS_KEY_ID": "id", "ACCESS_KEY_SECRET": "s"}
	opts, err = parse(nil, func(name string) string { return env[name] }, io.Discard)
	if err != nil || opts.config.AccessKeys[0].Secret != "s" || opts.config.LimitsOff || opts.config.Settings != nil {
		t.Errorf("from the environment: %+v, %v", opts.config, err)
	}
	if opts, err := parse(nil, noEnv, io.Discard); err != nil || opts.config.AccessKeys != nil {
		t.Errorf("without a key: %+v, %v", opts.config, err)
	}
	// Without arguments everything is at one port, and there is something to look at.
	for _, tt := range []struct {
		args  []string
		env   map[string]string
		want  map[string]string
		small bool
	}{
		{nil, nil, map[string]string{"all": "127.0.0.1:9108"}, true},
		{[]string{"--fast", "--seed=none"}, nil, map[string]string{"all": "127.0.0.1:9108"}, false},
		{[]string{"--admin=127.0.0.1:1"}, nil, map[string]string{"admin": "127.0.0.1:1"}, false},
		{[]string{"--slb=127.0.0.1:1"}, map[string]string{"OPENAPISIM_ALL": "0.0.0.0:2", "OPENAPISIM_SLB": "127.0.0.1:3",
			"OPENAPISIM_LOG_LEVEL": "warn"},
			map[string]string{"slb": "127.0.0.1:1", "all": "0.0.0.0:2"}, true},
	} {
		opts, err := parse(tt.args, func(name string) string { return tt.env[name] }, io.Discard)
		if diff := cmp.Diff(tt.want, opts.addresses); err != nil || diff != "" || opts.config.SmallWorld != tt.small {
			t.Errorf("%v %v: %v, small world %t (-want +got):\n%s", tt.args, tt.env, err, opts.config.SmallWorld, diff)
		}
	}
	if _, err := parse(nil, func(name string) string { return map[string]string{"OPENAPISIM_FAST": "soon"}[name] }, io.Discard); err == nil ||
		!strings.Contains(err.Error(), "OPENAPISIM_FAST") {
		t.Errorf("a bad variable: %v", err)
	}
}

func TestParseLogLevel(t *testing.T) {
	t.Parallel()
	for level, want := range map[string]bool{"--log-level=debug": true, "--log-level=info": false, "--fast": false} {
		opts, err := parse([]string{level}, noEnv, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if got := opts.config.Logger.Enabled(t.Context(), slog.LevelDebug); got != want {
			t.Errorf("%s: debug %t, want %t", level, got, want)
		}
	}
}

func TestParseDataplane(t *testing.T) {
	t.Parallel()
	if opts, err := parse(nil, noEnv, io.Discard); err != nil || opts.config.Dataplane != nil {
		t.Errorf("without the flag: %+v, %v", opts.config.Dataplane, err)
	}
	opts, err := parse([]string{"--dataplane", "--dataplane-intranet=127.90.0.0/16", "--dataplane-servers=10.9.0.0/16",
		"--dataplane-servers=10.8.0.0/16", "--dataplane-ipv6=2001:db8::/64", "--dataplane-transparent"},
		noEnv, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	got, want := fmt.Sprint(opts.config.Dataplane), "&{invalid Prefix 127.90.0.0/16 [10.9.0.0/16 10.8.0.0/16] [2001:db8::/64] true}"
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		args []string
		want string
	}{
		{[]string{"--limits=some"}, `--limits: "some"`},
		{[]string{"--session-duration=0s"}, "--session-duration: 0s"},
		{[]string{"--speed"}, "speed"},
		{[]string{"--log-level=loud"}, "-log-level"},
		{[]string{"now"}, `"now"`},
		{[]string{"--access-key-id=a"}, "--access-key-secret-file"},
		{[]string{"--access-key-id=a", "--access-key-secret-file=/nowhere/at/all"}, "--access-key-secret-file"},
		{[]string{"--seed=/nowhere/at/all"}, "--seed"},
		{[]string{"--seed", write(t, `{"elephants":1}`)}, "elephants"},
		{[]string{"--seed", write(t, `{"vpcs":{}} {"eips":{}}`)}, "there is more"},
		{[]string{"--dataplane-internet=127.47.0.0/16"}, "--dataplane"},
		{[]string{"--dataplane-servers=10.9.0.0/16"}, "--dataplane"},
		{[]string{"--dataplane-ipv6=2001:db8::/64"}, "needs --dataplane"},
		{[]string{"--dataplane-transparent"}, "needs --dataplane"},
		{[]string{"--dataplane", "--dataplane-ipv6=here"}, "-dataplane-ipv6"},
		{[]string{"--dataplane", "--dataplane-intranet=here"}, "-dataplane-intranet"},
	}
	for _, tt := range tests {
		if _, err := parse(tt.args, noEnv, io.Discard); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: %v, want an error with %q", tt.args, err, tt.want)
		}
	}
}

// The command prints where everything is, serves, and stops when its context ends.
func TestRun(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var args []string
	for _, e := range openapisim.Endpoints() {
		args = append(args, "--"+e.Name+"=127.0.0.1:0")
	}
	out, in := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := run(ctx, append(args, "--fast"), in, io.Discard)
		_ = in.Close()
		done <- err
	}()
	lines := bufio.NewScanner(out)
	urls := map[string]string{}
	for range openapisim.Endpoints() {
		lines.Scan()
		name, url, _ := strings.Cut(lines.Text(), " ")
		urls[name] = strings.TrimSpace(url)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, urls["admin"]+"/admin/healthz", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Close = true
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("health: %s", resp.Status)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A file says what flags can't, and flags win over it.
func TestParseConfigurationFile(t *testing.T) {
	t.Parallel()
	file := write(t, `{"region": "cn-beijing", "account": "7", "accessKeys": [{"id": "a", "secret": "s"}], "sessionDuration": "1m",
		"listen": {"slb": "127.0.0.1:1", "vpc": "127.0.0.1:2", "all": "127.0.0.1:3", "moon": "127.0.0.1:4"},
		"settings": {"routePending": "7s"}, "limits": {"enabled": true}}`)
	env := func(name string) string { return map[string]string{"ACCESS_KEY_ID": "from-the-environment"}[name] }
	opts, err := parse([]string{"--config", file, "--region=cn-shanghai", "--vpc=127.0.0.1:5", "--limits=off", "--nlb=",
		"--fast"}, env, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	c := opts.config
	got := []any{
		c.Region, c.Account, c.SessionDuration, c.AccessKeys[0].ID, c.Limits.Settings.RoutePending, c.Limits.Settings.InstanceStart, c.LimitsOff,
		c.Limits.Enabled == nil, opts.addresses["slb"], opts.addresses["vpc"], opts.addresses["all"], opts.addresses["nlb"],
		opts.addresses["tls"],
		opts.addresses["moon"], // the simulator says that it doesn't know it
	}
	want := []any{
		"cn-shanghai", "7", time.Minute, "a", 7 * time.Second, time.Duration(0), true,
		true, "127.0.0.1:1", "127.0.0.1:5", "127.0.0.1:3", "", "", "127.0.0.1:4",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
	for _, bad := range []string{"/nowhere/at/all", write(t, `{"speed":1}`)} {
		if _, err := parse([]string{"--config", bad}, noEnv, io.Discard); err == nil || !strings.Contains(err.Error(), "--config") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := run(t.Context(), []string{"--version"}, &out, io.Discard); err != nil || !strings.HasPrefix(out.String(), "openapisim ") {
		t.Errorf("%q, %v", out.String(), err)
	}
}

func TestSeedCommand(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := run(t.Context(), []string{"seed", "--nodes", "4", "--load-balancers=1", "--servers=4"}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	opts, err := parse([]string{"--seed", write(t, out.String())}, noEnv, io.Discard)
	if err != nil || len(opts.config.Seed.Instances) != 4 || len(opts.config.Seed.LoadBalancers) != 1 {
		t.Errorf("%+v, %v", opts.config.Seed, err)
	}
	for _, args := range [][]string{{"seed", "now"}, {"seed", "--nodes=-1"}, {"seed", "--speed"}} {
		if err := run(t.Context(), args, io.Discard, io.Discard); err == nil {
			t.Errorf("%v: no error", args)
		}
	}
}

// What the cloud holds when the process ends is there when the next one begins, whatever its seed.
func TestStateOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	start := func(args ...string) error {
		ctx, stop := context.WithCancel(t.Context())
		stop() // it starts, and ends at once
		return run(ctx, append(args, "--admin=127.0.0.1:0", "--regions=cn-beijing", "--state", dir), io.Discard, io.Discard)
	}
	for _, vpc := range []string{"vpc-1", "vpc-2"} {
		if err := start("--seed", write(t, `{"vpcs":{"`+vpc+`":{}}}`)); err != nil {
			t.Fatal(err)
		}
	}
	content, err := os.ReadFile(filepath.Join(dir, "1000000000000001-cn-hangzhou.json"))
	if err != nil || !strings.Contains(string(content), `"vpc-1"`) || strings.Contains(string(content), `"vpc-2"`) {
		t.Errorf("state %s, %v", content, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "ca.pem")); err != nil {
		t.Errorf("the authority of TLS is not kept: %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "1000000000000001-cn-beijing.json"), 0o700); err == nil {
		t.Error("the other region has not been kept")
	}
	if err := os.WriteFile(filepath.Join(dir, "1000000000000001-cn-beijing.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := start(); err == nil || !strings.Contains(err.Error(), "cn-beijing") {
		t.Errorf("a broken state: %v", err)
	}
}

// The command alone serves everything at one port and prints what clients need to know: a call of the SDK that knows nothing but this
// finds three instances.
func TestAlone(t *testing.T) {
	t.Setenv("OPENAPISIM_ALL", "127.0.0.1:0")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out, in := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := run(ctx, nil, in, io.Discard)
		_ = in.Close()
		done <- err
	}()
	values, address := map[string]string{}, ""
	for lines := bufio.NewScanner(out); lines.Scan() && !strings.Contains(lines.Text(), "for people"); {
		fields := strings.Fields(lines.Text())
		if len(fields) == 2 && fields[0] == "all" {
			_, address, _ = strings.Cut(fields[1], "://")
		}
		for _, field := range fields {
			if name, value, ok := strings.Cut(field, "="); ok {
				values[name] = value
			}
		}
	}
	if values["ECS_ENDPOINT"] != address {
		t.Errorf("it serves at %s and prints %v", address, values)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	client, err := sdk.NewClientWithOptions(values["ALIBABA_CLOUD_REGION_ID"], sdk.NewConfig(),
		credentials.NewAccessKeyCredential(values["ALIBABA_CLOUD_ACCESS_KEY_ID"], values["ALIBABA_CLOUD_ACCESS_KEY_SECRET"]))
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client.SetTransport(transport)
	request := requests.NewCommonRequest()
	request.Scheme, request.Domain, request.Version, request.ApiName = "HTTP", values["ECS_ENDPOINT"], "2014-05-26", "DescribeInstances"
	answer, err := client.ProcessCommonRequest(request)
	if err != nil || strings.Count(answer.GetHttpContentString(), `"InstanceId"`) < 3 ||
		!strings.Contains(answer.GetHttpContentString(), `"TotalCount":3`) {
		t.Errorf("%v, %v", answer, err)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestParseStrictAndWeather(t *testing.T) {
	t.Parallel()
	opts, err := parse([]string{"--strict", "--weather=bad"}, noEnv, io.Discard)
	if err != nil || opts.config.Settings == nil || !opts.config.Settings.Strict || len(opts.config.Faults) == 0 {
		t.Errorf("%+v, %d faults, %v", opts.config.Settings, len(opts.config.Faults), err)
	}
	if _, err := parse([]string{"--weather=fair"}, noEnv, io.Discard); err == nil || !strings.Contains(err.Error(),
		`"fair" is none of bad`) {
		t.Errorf("an unknown weather: %v", err)
	}
}

// Terraform's provider has no variable for the protocol, asks the real cloud for the type of the account unless a variable has it, and
// looks for every product by a variable of its own (its acceptance tests hung for want of these).
func TestPrintedLinesForTerraform(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	printExports(&out, openapisim.Config{Region: "cn-hangzhou"}, "127.0.0.1:9108")
	for _, want := range []string{
		"ALIBABA_CLOUD_ACCOUNT_TYPE=Domestic", "curl -so openapisim-ca.pem http://127.0.0.1:9108/admin/ca; export SSL_CERT_FILE=",
		" LOCATION_ENDPOINT=127.0.0.1:9108", " RESOURCEMANAGER_ENDPOINT=127.0.0.1:9108", " NLB_ENDPOINT=127.0.0.1:9108",
		" CAS_ENDPOINT=127.0.0.1:9108",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("there is no %q in:\n%s", want, &out)
		}
	}
}
