//go:build linux

package cluster

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	ociregistry "github.com/google/go-containerregistry/pkg/registry"

	"alicloud-controllers.dev/deploy/chart"
)

// releaseAsked names the directory of a release that was signed, and has its test run.
const releaseAsked = "E2E_RELEASE"

// TestRelease goes the way of somebody who has nothing but the files of a release, its source and the docs: verifies the
// signatures, makes an image again, pushes all into a registry, installs the chart from there on nodes that have none
// of the images, and gets a load balancer. It shows how long each step took. All commands are those of
// docs/install.md; make e2e-release runs it.
func TestRelease(t *testing.T) {
	from := os.Getenv(releaseAsked)
	if from == "" {
		t.Skip("needs a release that was signed; run make e2e-release")
	}
	// Whatever is started from here on takes the word of the cluster's authority for the registry, as for a public one.
	t.Setenv("SSL_CERT_FILE", filepath.Join(os.Getenv(workVariable), "ca.crt"))
	hosts := filepath.Join(os.Getenv(workVariable), "hosts")
	if err := errors.Join(os.WriteFile(hosts, []byte("127.0.0.1 localhost\n"+vpcRouter+" "+registry+"\n"), 0o600),
		script(nil, "mount --bind "+hosts+" /etc/hosts")); err != nil {
		t.Fatal(err)
	}
	c := start(t, 2)
	c.registry(t)
	c.offline(t)
	begin := time.Now()
	step := func(what, command string) {
		t.Helper()
		at := time.Now()
		out := c.run(t, command)
		t.Logf("%s took %.1f s:\n%s", what, time.Since(at).Seconds(), out)
	}
	dir, tag := filepath.Join(c.dir, "stranger"), c.tag(t)
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	step("the look at the signature and the checksums", "cd "+dir+"\n"+c.documented(t, "cosign verify-blob"))
	step("the same by openssl", "cd "+dir+"\n"+c.documented(t, "sed 's/.*\"signature"))
	step("making an image again", "cd "+c.built.Root+"\n"+
		strings.ReplaceAll(c.documented(t, "make rebuild FROM=DIRECTORY IMAGE="), "DIRECTORY", dir))
	_, push, _ := strings.Cut(c.documented(t, "make release"), "\n")
	step("pushing", "cd "+c.built.Root+"\n"+strings.TrimSpace(push)+" FROM="+dir)
	step("the look at a signature in the registry", "cd "+dir+"\n"+c.documented(t, "cosign verify --key"))
	for _, image := range append(chart.Components(), "openapisim") {
		step("the look at "+image, "crane validate --remote "+registry+"/alicloud-controllers/"+image+":"+tag)
	}
	step("pulling the chart", "helm pull oci://"+registry+"/alicloud-controllers/alicloud-controllers --version "+tag+" --destination "+c.dir+
		"\ncmp "+filepath.Join(c.dir, "alicloud-controllers-"+tag+".tgz")+" "+dir+"/alicloud-controllers-"+tag+".tgz")

	c.simulate(t)
	c.dns(t)
	c.chart = c.inline(t, "install.md", "oci://")
	c.install(t)
	c.signed(t, dir)
	c.serve(t)
	step("unpacking the plugin", "cd "+dir+"\ntar -xzf kubectl-alicloud-"+tag+"-linux-"+runtime.GOARCH+".tar.gz kubectl-alicloud")
	path := "PATH=" + dir + ":$PATH\n"
	for _, command := range []string{"why service/changing", "why node/" + c.nodes[0].name, "why route/" + c.nodes[0].name,
		"doctor", "top --once", "plan", "plan nodecontroller", "plan routecontroller", "convert default/changing",
		"bundle -o " + dir + "/bundle.tar.gz", "version"} {
		step("kubectl alicloud "+command, path+"kubectl alicloud "+command)
	}
	step("helm test", c.documented(t, "helm test"))
	t.Logf("all of it took %.0f s", time.Since(begin).Seconds())
	c.release(t)
	c.uninstall(t)
}

// registry is one like those of others, with TLS.
func (c *cluster) registry(t *testing.T) {
	t.Helper()
	serving, err := c.authority.Serving("registry", registry)
	if err != nil {
		t.Fatal(err)
	}
	blobs := filepath.Join(c.dir, "blobs")
	if err := os.Mkdir(blobs, 0o700); err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Addr: vpcRouter + ":443", ReadHeaderTimeout: time.Minute, TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12},
		// Without HTTP/2: this registry reads one upload at a time, and others on the same connection would fill the window of
		// them all.
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
		ErrorLog:     slog.NewLogLogger(slog.DiscardHandler, 0),
		Handler: ociregistry.New(ociregistry.Logger(slog.NewLogLogger(slog.DiscardHandler, 0)), ociregistry.WithReferrersSupport(true),
			ociregistry.WithBlobHandler(ociregistry.NewDiskBlobHandler(blobs)))}
	failed := make(chan error, 1)
	go func() { failed <- server.ListenAndServeTLS(serving.CertFile, serving.KeyFile) }()
	c.wait(t, "the registry answers", func(ctx context.Context) error {
		select {
		case err := <-failed:
			t.Fatal(err)
		default:
		}
		return answers("https://" + registry + "/v2/")(ctx)
	})
}

// offline lets commands that compile find the modules that are there: the sandbox has no network, and the commands have
// another home.
func (c *cluster) offline(t *testing.T) {
	t.Helper()
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOFLAGS"} {
		value, err := exec.CommandContext(t.Context(), "go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv(name, strings.TrimSpace(string(value)))
	}
	t.Setenv("GOPROXY", "off")
}

// signed compares what the pods run with what the provenance of the release names.
func (c *cluster) signed(t *testing.T, dir string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "provenance.json"))
	if err != nil {
		t.Fatal(err)
	}
	var statement struct {
		Subject []struct {
			Name   string
			Digest map[string]string
		}
	}
	if err := json.Unmarshal(text, &statement); err != nil {
		t.Fatal(err)
	}
	digests := map[string]string{}
	for _, s := range statement.Subject {
		digests[s.Name] = s.Digest["sha256"]
	}
	for _, component := range chart.Components() {
		pods := c.pods(t, component)
		for _, pod := range pods {
			want := fmt.Sprintf("%s/alicloud-controllers/%s@sha256:%s", registry, component, digests[component])
			if got := pod.Status.ContainerStatuses[0].ImageID; got != want {
				t.Errorf("%s runs %s, and the release has %s", pod.Name, got, want)
			}
		}
		if len(pods) != replicas {
			t.Errorf("%s has %d pods", component, len(pods))
		}
	}
}
