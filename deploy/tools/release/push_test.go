package release

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"alicloud-controllers.dev/deploy/tools/release/attest"
)

// aRegistry is one on a loopback address, with a path.
func aRegistry(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(slog.NewLogLogger(slog.DiscardHandler, 0)), registry.WithReferrersSupport(true)))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://") + "/alicloud-controllers"
}

// TestPush: a registry has what the release has, by the digests that the provenance names, and beside each what is
// known of it. Twice is once.
func TestPush(t *testing.T) {
	t.Parallel()
	o, version := collected(t, true)
	to := aRegistry(t)
	var progress strings.Builder
	for range 2 {
		if err := Push(t.Context(), o.Out, to, &progress); err != nil {
			t.Fatal(err)
		}
	}
	said, _, err := readProvenance(o.Out)
	if err != nil {
		t.Fatal(err)
	}
	for repository, want := range map[string]int{"lbcontroller": 2, "alicloud-controllers": 2} {
		tag, err := name.NewTag(to + "/" + repository + ":" + version)
		if err != nil {
			t.Fatal(err)
		}
		about, err := remote.Get(tag)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(said.Subject, func(s attest.Subject) bool {
			return s.Name == repository && s.Digest["sha256"] == about.Digest.Hex
		}) || !strings.Contains(progress.String(), tag.Repository.String()+"@"+about.Digest.String()) {
			t.Errorf("%s is %s, and the provenance has %v", tag, about.Digest, said.Subject)
		}
		if kinds := referrers(t, tag.Digest(about.Digest.String())); len(kinds) != want || kinds[0] != attest.BundleType {
			t.Errorf("%s has %q", tag, kinds)
		}
	}
	tag, err := name.NewTag(to + "/lbcontroller:" + version)
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(tag)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, platform := range manifest.Manifests {
		digest := tag.Digest(platform.Digest.String())
		if kinds := referrers(t, digest); !slices.Equal(kinds, []string{"application/vnd.cyclonedx+json"}) {
			t.Errorf("%s has %q", platform.Platform, kinds)
		}
		if text := referred(t, digest); text != `{"of":"`+platform.Platform.Architecture+`"}` {
			t.Errorf("%s is made of %s", platform.Platform, text)
		}
	}
	chart, err := remote.Get(tag.Repository.Registry.Repo("alicloud-controllers", "alicloud-controllers").Tag(version))
	if err != nil {
		t.Fatal(err)
	}
	var m v1.Manifest
	if err := json.Unmarshal(chart.Manifest, &m); err != nil || m.Config.MediaType != "application/vnd.cncf.helm.config.v1+json" ||
		m.Layers[0].MediaType != "application/vnd.cncf.helm.chart.content.v1.tar+gzip" {
		t.Errorf("the chart is %s, %v", chart.Manifest, err)
	}
}

// referrers are the types of what refers to something.
func referrers(t *testing.T, to name.Digest) (kinds []string) {
	t.Helper()
	index, err := remote.Referrers(to)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range manifest.Manifests {
		kinds = append(kinds, d.ArtifactType)
	}
	return kinds
}

// referred is the file of the first thing that refers to something.
func referred(t *testing.T, to name.Digest) string {
	t.Helper()
	index, err := remote.Referrers(to)
	if err != nil {
		t.Fatal(err)
	}
	all, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	about, err := remote.Get(to.Context().Digest(all.Manifests[0].Digest.String()))
	if err != nil {
		t.Fatal(err)
	}
	var m v1.Manifest
	if err := json.Unmarshal(about.Manifest, &m); err != nil {
		t.Fatal(err)
	}
	layer, err := remote.Layer(to.Context().Digest(m.Layers[0].Digest.String()))
	if err != nil {
		t.Fatal(err)
	}
	body, err := layer.Compressed()
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	text, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestPushRefuses: what is not as the checksums say goes nowhere.
func TestPushRefuses(t *testing.T) {
	t.Parallel()
	o, version := collected(t, false)
	to := aRegistry(t)
	path := filepath.Join(o.Out, "lbcontroller-"+version+".tar")
	if err := os.WriteFile(path, append(read(t, o.Out, filepath.Base(path)), 0), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Push(t.Context(), o.Out, to, io.Discard); err == nil || !strings.Contains(err.Error(), "is not what SHA256SUMS has") {
		t.Errorf("a file that was changed: %v", err)
	}
	if err := Push(t.Context(), t.TempDir(), to, io.Discard); err == nil || !strings.Contains(err.Error(), "read the release") {
		t.Errorf("no release: %v", err)
	}
}
