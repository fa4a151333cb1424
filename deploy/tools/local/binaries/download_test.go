package binaries

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// releases is a server with the files of releases by their paths.
func releases(t *testing.T, files map[string]string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, ok := files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(content))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func sum(content string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(content))) }

// archive is a compressed tar with one file.
func archive(t *testing.T, name, content string) string {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	files := tar.NewWriter(zip)
	if err := files.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(content))}); err != nil {
		t.Fatal(err)
	}
	if _, err := files.Write([]byte(content)); err != nil {
		t.Fatal(err)
	}
	if err := files.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// held is an address on which nobody listens as long as the test runs: the client of a connection has it.
func held(t *testing.T) string {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(releases(t, nil), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn.LocalAddr().String()
}

// TestDownload: a program of a release is taken if it is the one that the release publishes. All else is said, and the program built.
func TestDownload(t *testing.T) {
	t.Parallel()
	const program, built = "#!/bin/sh\necho of the release\n", "ELF"
	packed := archive(t, "x-v1/small", program)
	for _, tt := range []struct {
		name   string
		files  map[string]string
		member string
		none   bool // nothing listens
		want   string
		says   string
	}{
		{name: "a program", files: map[string]string{"/small": program, "/sums": sum(program)}, want: program, says: "downloaded small\n"},
		{name: "a program among others", files: map[string]string{"/small": program, "/sums": sum("x") + "  other\n" +
			sum(program) + "  small\n"},
			want: program, says: "downloaded small\n"},
		{name: "an archive", files: map[string]string{"/small": packed, "/sums": sum(packed) + " *small\n"}, member: "x-v1/small",
			want: program, says: "downloaded small\n"},
		{name: "an archive without it", files: map[string]string{"/small": packed, "/sums": sum(packed)}, member: "x-v1/other",
			want: built, says: "it has no x-v1/other"},
		{name: "no archive", files: map[string]string{"/small": program, "/sums": sum(program)}, member: "x-v1/small",
			want: built, says: "gzip: invalid header"},
		{name: "another program", files: map[string]string{"/small": "evil", "/sums": sum(program)}, want: built,
			says: "has the checksum " + sum("evil")},
		{name: "cut off", files: map[string]string{"/small": program[:9], "/sums": sum(program)}, want: built,
			says: "and its release publishes " + sum(program)},
		{name: "no such release", want: built, says: "404 Not Found"},
		{name: "no checksum", files: map[string]string{"/small": program, "/sums": sum(program) + "  other\n"}, want: built,
			says: "publishes no checksum of small"},
		{name: "a page for guests", files: map[string]string{"/small": program, "/sums": "<html>"}, want: built, says: "none of SHA-256"},
		{name: "no file", files: map[string]string{"/sums": sum(program)}, want: built, says: "/small: 404 Not Found"},
		{name: "no network", none: true, want: built, says: "connection refused"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			url := releases(t, tt.files)
			if tt.none {
				url = "http://" + held(t)
			}
			var out bytes.Buffer
			cfg := Config{CacheDir: t.TempDir(), Out: &out}
			r, path := source(t, "package main\n\nfunc main() {}\n")
			r.programs[0].download = &download{url: url + "/small", sums: url + "/sums", member: tt.member}
			if tt.want != built {
				r.args = []string{"this is not run"}
			}
			if err := ensure(t.Context(), cfg, r); err != nil {
				t.Fatal(err)
			}
			content, err := os.ReadFile(*path)
			if err != nil || !executable(*path) || !strings.HasPrefix(strings.TrimPrefix(string(content), "\x7f"), tt.want) {
				t.Errorf("the program is %.40q, executable %t, %v", content, executable(*path), err)
			}
			if !strings.Contains(out.String(), tt.says) {
				t.Errorf("it says %q, not %q", out.String(), tt.says)
			}
			entries, err := os.ReadDir(filepath.Dir(*path))
			if err != nil || len(entries) != 2 {
				t.Errorf("in the cache: %v, %v; want the program and the lock", entries, err)
			}
		})
	}
}

// TestDownloadAndBuild: what no release has is built while the rest is downloaded.
func TestDownloadAndBuild(t *testing.T) {
	t.Parallel()
	url := releases(t, map[string]string{"/ready": "a program", "/sums": sum("a program")})
	var ready string
	r, path := source(t, "package main\n\nfunc main() {}\n")
	r.programs = append(r.programs, program{path: &ready, name: "ready", pkg: "this/is/not/built",
		download: &download{url: url + "/ready", sums: url + "/sums"}})
	if err := ensure(t.Context(), Config{CacheDir: t.TempDir(), Out: &bytes.Buffer{}}, r); err != nil ||
		!executable(*path) || !executable(ready) {
		t.Errorf("%s and %s: %v", *path, ready, err)
	}
}

// TestReleases: where the projects publish the versions that are built otherwise. Nothing is asked for if downloads are refused.
func TestReleases(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("there are releases for Linux only")
	}
	arch := runtime.GOARCH
	api, etcd := Releases().apiServer("v1.37.2"), Releases().etcd("v3.6.8")
	for got, want := range map[string]string{
		api.url:     "https://dl.k8s.io/release/v1.37.2/bin/linux/" + arch + "/kube-apiserver",
		api.sums:    "https://dl.k8s.io/release/v1.37.2/bin/linux/" + arch + "/kube-apiserver.sha256",
		etcd.url:    "https://github.com/etcd-io/etcd/releases/download/v3.6.8/etcd-v3.6.8-linux-" + arch + ".tar.gz",
		etcd.sums:   "https://github.com/etcd-io/etcd/releases/download/v3.6.8/SHA256SUMS",
		etcd.member: "etcd-v3.6.8-linux-" + arch + "/etcd",
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if (Downloads{}).apiServer("v1.37.2") != nil || (Downloads{}).etcd("v3.6.8") != nil {
		t.Error("downloads that are refused")
	}
}
