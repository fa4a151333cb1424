package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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
		"--slb", "127.0.0.1:1", "--region", "cn-beijing", "--account", "7", "--access-key-id", "id", "--access-key-secret-file", write(t, "secret\n"),
		"--fast", "--limits=off", "--seed", seed, "--session-duration", "90s",
	}, noEnv, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	c := opts.config
	if opts.addresses["slb"] != "127.0.0.1:1" || opts.addresses["admin"] != "127.0.0.1:9100" || c.Region != "cn-beijing" || c.Account != "7" {
		t.Errorf("options %+v", opts)
	}
	if c.AccessKeys[0].ID != "id" || c.AccessKeys[0].Secret != "secret" || *c.Settings != api.FastSettings() || !c.LimitsOff || c.SessionDuration != 90*time.Second {
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
}

func TestParseDataplane(t *testing.T) {
	t.Parallel()
	if opts, err := parse(nil, noEnv, io.Discard); err != nil || opts.config.Dataplane != nil {
		t.Errorf("without the flag: %+v, %v", opts.config.Dataplane, err)
	}
	opts, err := parse([]string{"--dataplane", "--dataplane-intranet=127.90.0.0/16", "--dataplane-servers=10.9.0.0/16", "--dataplane-servers=10.8.0.0/16"},
		noEnv, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	got, want := fmt.Sprint(*opts.config.Dataplane), "{invalid Prefix 127.90.0.0/16 [10.9.0.0/16 10.8.0.0/16]}"
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
		{[]string{"now"}, `"now"`},
		{[]string{"--access-key-id=a"}, "--access-key-secret-file"},
		{[]string{"--access-key-id=a", "--access-key-secret-file=/nowhere/at/all"}, "--access-key-secret-file"},
		{[]string{"--seed=/nowhere/at/all"}, "--seed"},
		{[]string{"--seed", write(t, `{"elephants":1}`)}, "elephants"},
		{[]string{"--seed", write(t, `{"vpcs":{}} {"eips":{}}`)}, "there is more"},
		{[]string{"--dataplane-internet=127.47.0.0/16"}, "--dataplane"},
		{[]string{"--dataplane-servers=10.9.0.0/16"}, "--dataplane"},
		{[]string{"--dataplane", "--dataplane-intranet=here"}, "-dataplane-intranet"},
	}
	for _, tt := range tests {
		if _, err := parse(tt.args, noEnv, io.Discard); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v: %v, want an error with %q", tt.args, err, tt.want)
		}
	}
}

// The command prints where everything is, serves, and stops when it is told.
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
	go func() { done <- run(ctx, append(args, "--fast"), in, io.Discard) }()
	lines := bufio.NewScanner(out)
	urls := map[string]string{}
	for range openapisim.Endpoints() {
		lines.Scan()
		name, url, _ := strings.Cut(lines.Text(), " ")
		urls[name] = strings.TrimSpace(url)
	}
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
