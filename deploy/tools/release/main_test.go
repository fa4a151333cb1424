package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
)

// TestRelease makes one of the real chart and images that are none, twice.
func TestRelease(t *testing.T) {
	t.Parallel()
	c, err := loader.Load("../../chart")
	if err != nil {
		t.Fatal(err)
	}
	dir, version := t.TempDir(), c.Metadata.Version
	o := options{chart: "../../chart", changelog: "../../../CHANGELOG.md", images: filepath.Join(dir, "images"),
		out: filepath.Join(dir, "release")}
	if err := o.run(); err == nil || !strings.Contains(err.Error(), "find images") {
		t.Errorf("without images: %v", err)
	}
	if err := os.Mkdir(o.images, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"lbcontroller-" + version + ".tar", "lbcontroller-" + version + "-amd64.cdx.json",
		"lbcontroller-0.0.0.tar"} {
		if err := os.WriteFile(filepath.Join(o.images, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o.version = "v99.0.0"
	if err := o.run(); err == nil || !strings.Contains(err.Error(), "Chart.yaml") {
		t.Errorf("a tag that is not the chart's version: %v", err)
	}
	o.version = ""
	var sums []string
	for range 2 {
		if err := o.run(); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(o.out, "SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, string(text))
	}
	if sums[0] != sums[1] || strings.Contains(sums[0], "0.0.0") || strings.Count(sums[0], "\n") != 4 {
		t.Errorf("first\n%sthen\n%s", sums[0], sums[1])
	}
	for line := range strings.Lines(sums[0]) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		data, err := os.ReadFile(filepath.Join(o.out, name))
		if got := sha256.Sum256(data); err != nil || hex.EncodeToString(got[:]) != sum {
			t.Errorf("%s has the sum %x, %v, want %s", name, got, err, sum)
		}
	}
	if text, err := os.ReadFile(filepath.Join(o.out, "NOTES.md")); err != nil || strings.Contains(string(text), "](docs/") {
		t.Errorf("the notes have relative links, %v:\n%s", err, text)
	}
	packed, err := os.ReadFile(filepath.Join(o.out, c.Metadata.Name+"-"+version+".tgz"))
	if err != nil {
		t.Fatal(err)
	}
	again, err := loader.LoadArchive(bytes.NewReader(packed))
	if err != nil || len(again.Templates) != len(c.Templates) || again.Metadata.Version != version || len(again.Schema) == 0 {
		t.Errorf("the package has the chart %+v, %v", again, err)
	}
}

func TestNotes(t *testing.T) {
	t.Parallel()
	const changes = "# Changelog\n\n## Unreleased\n\n- new\n\n## 0.2.0 (2026-12-01)\n\n- older\n\n## 0.1.0\n\n- oldest\n"
	for version, want := range map[string]string{"0.3.0": "new", "0.2.0": "older", "0.1.0": "oldest"} {
		if got, err := notes(changes, version, false); err != nil || got != "# "+version+"\n\n- "+want+"\n" {
			t.Errorf("%s: %q, %v", version, got, err)
		}
	}
	if _, err := notes("# Changelog\n", "0.1.0", false); err == nil {
		t.Error("notes of nothing")
	}
	if _, err := notes(changes, "0.3.0", true); err == nil {
		t.Error("a tag has the notes of what is not released")
	}
	if _, err := notes(changes, "0.2.0", true); err == nil || !strings.Contains(err.Error(), "Unreleased") {
		t.Errorf("changes that a tag has and its notes have not: %v", err)
	}
	for _, heading := range []string{"", "## Unreleased\n\n"} {
		if got, err := notes("# Changelog\n\n"+heading+"## 0.2.0\n\n- all\n", "0.2.0", true); err != nil || got != "# 0.2.0\n\n- all\n" {
			t.Errorf("with %q above: %q, %v", heading, got, err)
		}
	}
}

// TestLinksOfNotes: they are read on the page of a release, where a relative link leads nowhere.
func TestLinksOfNotes(t *testing.T) {
	t.Parallel()
	const changes = "See [docs/install.md](docs/install.md#2-images), the [runbook](docs/runbook.md) and [others](https://example.com/x).\n"
	const end = "\nThe files that are named here are those of the source at the tag v0.1.0.\n"
	for source, want := range map[string]string{
		"": "See `docs/install.md`, the runbook (`docs/runbook.md`) and [others](https://example.com/x).\n" + end,
		"https://git.example.com/r/blob/": "See [docs/install.md](https://git.example.com/r/blob/v0.1.0/docs/install.md#2-images), " +
			"the [runbook](https://git.example.com/r/blob/v0.1.0/docs/runbook.md) and [others](https://example.com/x).\n",
	} {
		if got := absolute(changes, "0.1.0", source); got != want {
			t.Errorf("%q:\n%s\nwant\n%s", source, got, want)
		}
	}
	if got := absolute("- new\n", "0.1.0", ""); got != "- new\n" {
		t.Errorf("without links: %q", got)
	}
}
