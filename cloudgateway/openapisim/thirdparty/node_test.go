package thirdparty

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim"
)

// oldestNode is the oldest release of Node.js that the tests in node run with.
const oldestNode = 18

// TestNode runs the clients in JavaScript: those of the classic style, the generated ones, and the package that finds
// credentials. The tests are in directory node, in the language of the clients.
func TestNode(t *testing.T) {
	t.Parallel()
	node := nodeWithNPM(t)
	packages := installed(t)
	sim := newCloud(t)
	sim.EnableLimits(false) // of STS, which the tests ask more often than a program would
	ports := map[string]string{}
	for _, name := range []string{"slb", "vpc", "ecs", "sts", "metadata", "location", "admin"} {
		ports[name] = sim.Endpoint(name)
	}
	simulator, err := json.Marshal(ports)
	check(t, err)
	certificate, key := newCertificate(t, "example.com")
	tests, err := filepath.Glob(filepath.Join("node", "*.test.js"))
	check(t, err)

	command := exec.CommandContext(t.Context(), node, append([]string{"--test"}, tests...)...)
	command.Env = append(bareEnvironment(), "NODE_PATH="+filepath.Join(packages, "node_modules"), "SIMULATOR="+string(simulator),
		"ACCESS_KEY_ID="+openapisim.DefaultAccessKeyID, "ACCESS_KEY_SECRET="+openapisim.DefaultAccessKeySecret,
		"CERTIFICATE="+certificate, "CERTIFICATE_KEY="+key)
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("node --test: %v\n%s", err, output)
	}
	if passed := regexp.MustCompile(`(?m)^\S+ pass ([0-9]+)$`).FindSubmatch(output); passed == nil || string(passed[1]) == "0" {
		t.Errorf("node ran no tests:\n%s", output)
	}
}

// nodeWithNPM returns where Node.js is, or skips the test.
func nodeWithNPM(t *testing.T) string {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skipf("the clients in JavaScript need Node.js %d or newer and npm: %v", oldestNode, err)
	}
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skipf("the clients in JavaScript need npm, which comes with Node.js: %v", err)
	}
	version, err := exec.CommandContext(t.Context(), node, "--version").Output()
	check(t, err)
	major, _, _ := strings.Cut(strings.TrimPrefix(string(version), "v"), ".")
	if release, err := strconv.Atoi(major); err != nil || release < oldestNode {
		t.Skipf("the clients in JavaScript need Node.js %d or newer, this is %s", oldestNode, bytes.TrimSpace(version))
	}
	return node
}

// installed returns a directory with the packages of the lock file, which is filled once per content of that file and kept in
// the user's cache. The test is skipped where npm can't reach its registry or may not.
func installed(t *testing.T) string {
	t.Helper()
	files := []string{"package.json", "package-lock.json"}
	sum := sha256.New()
	for _, name := range files {
		content, err := os.ReadFile(filepath.Join("node", name))
		check(t, err)
		sum.Write(content)
	}
	cache, err := os.UserCacheDir()
	check(t, err)
	parent := filepath.Join(cache, "alicloud-controllers")
	target := filepath.Join(parent, fmt.Sprintf("thirdparty-node-%.12x", sum.Sum(nil)))
	if _, err := os.Stat(target); err == nil {
		return target
	}
	check(t, os.MkdirAll(parent, 0o750))
	work, err := os.MkdirTemp(parent, "thirdparty-node-install-") //nolint:usetesting // renamed within its file system
	check(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(work) }) // what is left of a failure
	for _, name := range files {
		content, err := os.ReadFile(filepath.Join("node", name))
		check(t, err)
		check(t, os.WriteFile(filepath.Join(work, name), content, 0o600))
	}
	npmCI(t.Context(), t, work)
	if err := os.Rename(work, target); err != nil && !errors.Is(err, os.ErrExist) { // another run may have been faster
		t.Fatal(err)
	}
	return target
}

// npmCI installs exactly what the lock file says. Nothing that comes with a package is run.
func npmCI(ctx context.Context, t *testing.T, directory string) {
	t.Helper()
	command := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retry-mintimeout=1000")
	command.Dir = directory
	output, err := command.CombinedOutput()
	unreachable := regexp.MustCompile(
		`code (E(NOTFOUND|AI_AGAIN|CONN(REFUSED|RESET|ABORTED)|(NET|HOST)UNREACH|TIMEDOUT|403|407)|ERR_SOCKET_TIMEOUT)`)
	if err != nil && unreachable.Match(output) {
		t.Skipf("npm can't reach its registry: %s", output)
	}
	if err != nil {
		t.Fatalf("npm ci: %v\n%s", err, output)
	}
}

// bareEnvironment is the environment without what clients of the cloud take from it: keys, proxies, endpoints.
func bareEnvironment() []string {
	var kept []string
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "SystemRoot"} {
		if value, ok := os.LookupEnv(name); ok {
			kept = append(kept, name+"="+value)
		}
	}
	return kept
}
