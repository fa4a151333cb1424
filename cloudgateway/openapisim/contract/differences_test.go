//go:build unix

package contract

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim"
)

// otherCloud starts a simulator as a process of its own, in another region and with nothing in it, and returns its address.
func otherCloud(t *testing.T) *url.URL {
	t.Helper()
	program := filepath.Join(t.TempDir(), "openapisim")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../cmd/openapisim").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), program, "--all", "127.0.0.1:0", "--region", "cn-shanghai", "--account",
		"1234567890123456", "--fast",
		"--limits", "off", "--seed", "none")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = cmd.Process.Signal(syscall.SIGTERM), cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address, err := url.Parse(regexp.MustCompile(`http://\S+`).FindString(line))
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// distorted passes calls on to a cloud, and changes its answers so that there is one difference of each sort.
func distorted(t *testing.T, cloud *url.URL) string {
	t.Helper()
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(cloud) },
		ModifyResponse: func(r *http.Response) error {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return err
			}
			action := r.Request.Context().Value(actionKey{})
			switch action {
			case "DescribeLoadBalancerAttribute": // lacks a member, has another one, and a third is a text
				body = regexp.MustCompile(`"PayType":"[^"]*",`).ReplaceAll(body, nil)
				body = bytes.Replace(body, []byte(`{"`), []byte(`{"Brand":"new","`), 1)
				body = regexp.MustCompile(`"Bandwidth":(-?\d+)`).ReplaceAll(body, []byte(`"Bandwidth":"$1"`))
			case "DescribeRegions": // has more items
				body = regexp.MustCompile(`("Regions":\[)(\{[^{}]*\})`).ReplaceAll(body, []byte("$1$2,$2"))
			case "GetLoadBalancerAttribute": // has another value
				body = bytes.Replace(body, []byte(`"CrossZoneEnabled":true`), []byte(`"CrossZoneEnabled":false`), 1)
			case "DescribeVServerGroupAttribute": // is refused with another status
				if r.StatusCode == http.StatusNotFound {
					r.StatusCode = http.StatusBadRequest
				}
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			r.ContentLength = int64(len(body))
			r.Header.Set("Content-Length", strconv.Itoa(len(body)))
			return nil
		},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		form, _ := url.ParseQuery(r.URL.RawQuery + "&" + string(body))
		proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), actionKey{}, form.Get("Action"))))
	}))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

type actionKey struct{}

// A record of a cloud that differs from the simulator tells exactly where, and nothing that differs from run to run: the other cloud has
// another region, account, ids and addresses, and what the scenarios need was made there by the run.
func TestDifferences(t *testing.T) {
	t.Parallel()
	cloud := otherCloud(t)
	address := distorted(t, cloud)
	cfg := config{
		scheme: "HTTP", region: "cn-shanghai", keyID: openapisim.DefaultAccessKeyID, secret: openapisim.DefaultAccessKeySecret,
		endpoints: map[string]string{}, patience: time.Minute, between: 5 * time.Millisecond,
		budget: &budget{left: 100_00, until: time.Now().Add(5 * time.Minute)},
	}
	for product := range versions() {
		cfg.endpoints[product] = address
	}
	t.Run("cloud", func(t *testing.T) {
		world := newCloud(t, cfg)
		world.makeWorld()
		cfg = world.config
		cfg.record = newRecorder(cfg)
		run(t, cfg, scenarios())
	})
	if t.Failed() {
		return
	}
	dir := t.TempDir()
	if err := cfg.record.save(dir, about{Region: cfg.region, Cost: yuan(cfg.budget.spent)}); err != nil {
		t.Fatal(err)
	}
	record := readRecord(t, dir)
	text, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	for _, private := range []string{cfg.keyID, cfg.secret, "1234567890123456", cfg.region, cfg.vpcID, cfg.instances[0], "BEGIN"} {
		if strings.Contains(string(text), private) {
			t.Errorf("the record has %s in it", private)
		}
	}
	var got map[string][]deed
	t.Run("simulator", func(t *testing.T) { got = simulate(t) })
	found := differences(record, got)
	want := []string{
		"location DescribeEndpoints Endpoints.Endpoint[].Endpoint: ", // their ports
		"nlb DescribeRegions Regions: 2 items in the cloud, 1 here",
		"nlb GetLoadBalancerAttribute CrossZoneEnabled: false in the cloud, true here",
		"slb DescribeLoadBalancerAttribute Bandwidth: a text in the cloud, a number here",
		"slb DescribeLoadBalancerAttribute Brand: not here",
		"slb DescribeLoadBalancerAttribute PayType: only here",
		`slb DescribeVServerGroupAttribute: 400 "InvalidParameter" in the cloud, 404 "InvalidParameter" here`,
	}
	for _, d := range found {
		if !slices.ContainsFunc(want, func(w string) bool { return strings.HasPrefix(d, w) }) {
			t.Errorf("not a deliberate difference: %s", d)
		}
	}
	for _, w := range want {
		if !slices.ContainsFunc(found, func(d string) bool { return strings.HasPrefix(d, w) }) {
			t.Errorf("not found: %s", w)
		}
	}
	cloudLeft(t, cloud)
}

// cloudLeft reports what a run left behind in the other cloud.
func cloudLeft(t *testing.T, cloud *url.URL) {
	t.Helper()
	r, err := http.Get(cloud.String() + "/admin/state") //nolint:noctx // It is on this machine.
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }()
	var left map[string]json.RawMessage
	if err := json.NewDecoder(r.Body).Decode(&left); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"loadBalancers", "nlbs", "nlbServerGroups", "vpcs", "vswitches", "instances", "eips",
		"securityGroups", "serverGroups"} {
		if items := string(left[kind]); items != "" && items != "{}" {
			t.Errorf("the run left %s: %s", kind, items)
		}
	}
}
