package chart_test

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// kubectl plays one for the support bundle: two pods of the gateway, whose logs have secrets. It writes what it is asked.
const kubectl = `#!/bin/sh
printf "%s\n" "$*" >>"$ASKED"
case "$*" in
*port-forward*) echo "Forwarding from 127.0.0.1:4711 -> 7080"; exec sleep 60 ;;
*livenessProbe.httpGet.port*) echo 7080 ;;
*livenessProbe.httpGet.scheme*) echo HTTPS ;;
*metadata.name}\ {end}*) echo cloudgateway-a cloudgateway-b ;;
*holderIdentity*) echo cloudgateway-b_uid ;;
*--previous*) echo "no previous container" >&2; exit 1 ;;
*logs*) cat <<END
{"level":"INFO","msg":"audit","method":"CreateLoadBalancer"}
{"msg":"odd","accessKeyId":"LTAI5tExampleExample1234","secret":"abcdefghijklmnopqrstuvwxyz"}
authorization: Bearer eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl
-----BEGIN EC PRIVATE KEY-----
MHcCAQEEIPrivatePart
-----END EC PRIVATE KEY-----
END
;;
*) echo "answer to $*" ;;
esac
`

// TestSupportBundle: one file with what is needed, without secrets, and without a change of the cluster.
func TestSupportBundle(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	asked := filepath.Join(dir, "asked")
	for name, text := range map[string]string{"kubectl": kubectl, "curl": "#!/bin/sh\necho \"page $*\"\n"} {
		// A process that a test beside this one starts would have the open file until it is another program, and the
		// kernel runs none that somebody may write ("text file busy").
		syscall.ForkLock.RLock()
		err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700)
		syscall.ForkLock.RUnlock()
		if err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "bundle.tar.gz")
	run := exec.CommandContext(t.Context(), "sh", "support-bundle.sh", "-n", "cloud", "-o", file)
	run.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "ASKED="+asked)
	if out, err := run.CombinedOutput(); err != nil || !strings.Contains(string(out), "Look through it before you send it.") {
		t.Fatalf("%v: %s", err, out)
	}
	files := unpack(t, file)
	for name, want := range map[string]string{
		"versions.txt": "version", "services.txt": "get services -A", "events.txt": "get events",
		"leases.yaml":              "get leases cloudgateway lbcontroller",
		"lbcontroller-config.yaml": "-n cloud get configmap lbcontroller", "doctor.txt": "cloudgateway doctor",
		"cloudgateway-a-metrics.txt": "https://127.0.0.1:4711/metrics",
		"cloudgateway-b-readyz.txt":  "/readyz", "cloudgateway-a-before.log": "no previous container",
		"top.json":  "exec cloudgateway-b -- cloudgateway top",
		"audit.log": "CreateLoadBalancer", "cloudgateway-a.log": `"accessKeyId":"REDACTED","secret":"REDACTED"`,
	} {
		if !strings.Contains(files[name], want) {
			t.Errorf("%s is %q, without %q", name, files[name], want)
		}
	}
	for name, text := range files {
		for _, secret := range []string{"LTAI5t", "abcdefghij", "eyJhbG", "PrivatePart"} {
			if strings.Contains(text, secret) {
				t.Errorf("%s has %s: %s", name, secret, text)
			}
		}
	}
	calls, err := os.ReadFile(asked)
	if err != nil {
		t.Fatal(err)
	}
	for call := range strings.Lines(string(calls)) {
		words := strings.Fields(strings.TrimPrefix(call, "-n cloud "))
		if !slices.Contains([]string{"version", "get", "logs", "exec", "port-forward"}, words[0]) ||
			strings.Contains(strings.ToLower(call), "secret") {
			t.Errorf("it does more than to look, or reads a Secret: kubectl %s", call)
		}
	}
}

// unpack reads the files of the archive by their names.
func unpack(t *testing.T, path string) map[string]string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	plain, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for in := tar.NewReader(plain); ; {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(header.Name)] = string(text)
	}
}
