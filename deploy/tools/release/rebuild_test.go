package release

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"alicloud-controllers.dev/deploy/images/build"
	"alicloud-controllers.dev/deploy/images/oci"
	"alicloud-controllers.dev/deploy/tools/local/binaries"
)

// TestRebuild makes a release of one real image, and makes it again from nothing but what its provenance says: all is
// the same, to the byte. What then is changed in the release is named.
func TestRebuild(t *testing.T) {
	t.Parallel()
	root, err := binaries.Root()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	const process = "openapisim"
	o := Options{Root: root, Images: filepath.Join(dir, "images"), Out: filepath.Join(dir, "release"), Version: "v9.8.7-test",
		Registry: "registry.example.com", Platforms: "linux/" + runtime.GOARCH, Source: "https://git.example.com/r/blob"}
	if err := build.Images(t.Context(), build.Options{Out: o.Images, Registry: o.Registry, Version: o.Version, Platforms: o.Platforms,
		Only: []string{process}}, io.Discard); err != nil {
		t.Fatal(err)
	}
	if err := build.Plugin(t.Context(), o.Images, o.Version, []string{"linux/" + runtime.GOARCH}, io.Discard); err != nil {
		t.Fatal(err)
	}
	if err := Collect(t.Context(), o, io.Discard); err != nil {
		t.Fatal(err)
	}
	rebuilt := filepath.Join(dir, "rebuilt")
	if err := Rebuild(t.Context(), root, o.Out, rebuilt, io.Discard); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := Compare(o.Out, rebuilt, &text); err != nil {
		t.Errorf("%v\n%s", err, text.String())
	}
	// The tar, its digest in a registry, the bill of materials, the plugin, the chart, its digest, the dashboard and the
	// notes.
	if n := strings.Count(text.String(), "same "); n != 8 || !strings.Contains(text.String(), process+"-") {
		t.Errorf("%d are the same:\n%s", n, text.String())
	}

	// Somebody puts another program into the release, with all the sums that go with it.
	tars, err := filepath.Glob(filepath.Join(o.Images, "*.tar"))
	if err != nil || len(tars) != 1 {
		t.Fatal(tars, err)
	}
	evil := o
	evil.Out = filepath.Join(dir, "evil")
	var image bytes.Buffer
	other := oci.Image{Name: "x", Program: process, Binaries: map[string][]byte{runtime.GOARCH: []byte("evil")}}
	if _, err := oci.Write(&image, other); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(tars[0], image.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Collect(t.Context(), evil, io.Discard); err != nil {
		t.Fatal(err)
	}
	if err := Compare(evil.Out, rebuilt, io.Discard); err == nil || !strings.Contains(err.Error(), filepath.Base(tars[0])) {
		t.Errorf("an image of another source: %v", err)
	}
	// One image alone: it is the release's, which was fetched in part, and not the other one.
	part := t.TempDir()
	for _, name := range []string{provenanceFile, filepath.Base(tars[0])} {
		if err := os.WriteFile(filepath.Join(part, name), read(t, o.Out, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text.Reset()
	if err := RebuildImage(t.Context(), root, part, process, &text); err != nil || strings.Count(text.String(), "same ") != 2 {
		t.Errorf("one image: %v\n%s", err, text.String())
	}
	if err := os.WriteFile(filepath.Join(part, filepath.Base(tars[0])), image.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	made, tar := t.TempDir(), filepath.Base(tars[0])
	if err := os.WriteFile(filepath.Join(made, tar), read(t, o.Out, tar), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{part, evil.Out} {
		statement, _, err := readProvenance(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := compareImage(from, made, statement, io.Discard); err == nil || !strings.Contains(err.Error(), tar) {
			t.Errorf("one image of another source: %v", err)
		}
	}
	err = RebuildImage(t.Context(), root, o.Out, "nginx", io.Discard)
	if err == nil || !strings.Contains(err.Error(), "name one of cloudgateway") {
		t.Errorf("an image that there isn't: %v", err)
	}
	// A file beside its sums.
	if err := os.WriteFile(filepath.Join(o.Out, "NOTES.md"), []byte("other notes"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Compare(o.Out, rebuilt, io.Discard); err == nil || !strings.Contains(err.Error(), "NOTES.md is not what SHA256SUMS has") {
		t.Errorf("other notes: %v", err)
	}
}

// TestRebuildElsewhere: another commit or another compiler is named, and what to do.
func TestRebuildElsewhere(t *testing.T) {
	t.Parallel()
	o, _ := collected(t, true)
	rebuild := func() error { return Rebuild(t.Context(), root, o.Out, t.TempDir(), io.Discard) }
	if err := rebuild(); err == nil || !strings.Contains(err.Error(), "made of the commit abcdef") {
		t.Errorf("another commit: %v", err)
	}
	o.Key = ""
	if o.revision, _ = build.Source(t.Context(), root); o.revision == "" {
		t.Skip("the source is in no repository")
	}
	if err := Collect(t.Context(), o, io.Discard); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(o.Out, provenanceFile)
	text := string(read(t, o.Out, provenanceFile))
	for _, version := range []string{"go1.25.0"} {
		other := strings.ReplaceAll(text, fmt.Sprintf("%q", runtime.Version()), fmt.Sprintf("%q", version))
		if err := os.WriteFile(path, []byte(other), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := rebuild(); err == nil || !strings.Contains(err.Error(), "set GOTOOLCHAIN=go1.25.0") {
			t.Errorf("another compiler: %v", err)
		}
	}
	// What was signed counts.
	signed, _ := collected(t, true)
	if err := os.WriteFile(filepath.Join(signed.Out, provenanceFile), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := readProvenance(signed.Out); err == nil || !strings.Contains(err.Error(), "is not what was signed") {
		t.Errorf("a provenance that nobody signed: %v", err)
	}
}
