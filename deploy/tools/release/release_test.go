package release

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/chart/loader"
	"sigs.k8s.io/yaml"

	"alicloud-controllers.dev/deploy/images/build"
	"alicloud-controllers.dev/deploy/images/oci"
)

const root = "../../.."

// collected makes a release of the real chart and of a small image, and returns its options and the chart's version.
func collected(t *testing.T, sign bool) (o Options, version string) {
	t.Helper()
	c, err := loader.Load(root + "/deploy/chart")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	o = Options{Root: root, Images: filepath.Join(dir, "images"), Out: filepath.Join(dir, "release"), Version: "abc",
		Registry: "registry.example.com", Platforms: "linux/amd64,linux/arm64", revision: "abcdef",
		Downloads: "https://git.example.com/r/releases/download/"}
	if err := os.Mkdir(o.Images, 0o700); err != nil {
		t.Fatal(err)
	}
	version = c.Metadata.Version
	var image bytes.Buffer
	if _, err := oci.Write(&image, oci.Image{
		Name: "registry.example.com/alicloud-controllers/lbcontroller:" + version, Program: "lbcontroller", Created: time.Unix(0, 0),
		Binaries: map[string][]byte{"amd64": []byte("for amd64"), "arm64": []byte("for arm64")},
	}); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"lbcontroller-" + version + ".tar": image.Bytes(), "lbcontroller-" + version + "-amd64.cdx.json": []byte(`{"of":"amd64"}`),
		"lbcontroller-" + version + "-arm64.cdx.json": []byte(`{"of":"arm64"}`), "lbcontroller-0.0.0.tar": []byte("older"),
		build.PluginArchive(version, "linux/amd64"): []byte("for Linux"), build.PluginArchive(version, "windows/amd64"): []byte("for Windows"),
	} {
		if err := os.WriteFile(filepath.Join(o.Images, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if sign {
		o.Key = aKey(t)
	}
	if err := Collect(t.Context(), o, io.Discard); err != nil {
		t.Fatal(err)
	}
	return o, version
}

// aKey is a file with a key that nobody else has.
func aKey(t *testing.T) string {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestRelease: the same source gives the same files, and the checksums are theirs.
func TestRelease(t *testing.T) {
	t.Parallel()
	o, version := collected(t, true)
	var sums []string
	for range 2 {
		var progress strings.Builder
		if err := Collect(t.Context(), o, &progress); err != nil {
			t.Fatal(err)
		}
		sums = append(sums, progress.String()+string(read(t, o.Out, "provenance.sigstore.json")))
	}
	text := string(read(t, o.Out, "SHA256SUMS"))
	if sums[0] != sums[1] || !strings.HasPrefix(sums[0], text) || strings.Contains(text, "0.0.0") || strings.Count(text, "\n") != 10 {
		t.Errorf("first\n%sthen\n%s", sums[0], sums[1])
	}
	for line := range strings.Lines(text) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if got := sha256.Sum256(read(t, o.Out, name)); hex.EncodeToString(got[:]) != sum {
			t.Errorf("%s has the sum %x, want %s", name, got, sum)
		}
	}
	notes := string(read(t, o.Out, "NOTES.md"))
	if strings.Contains(notes, "](docs/") || !strings.HasPrefix(notes, "# "+version+"\n\nHow to verify these files, and to install") {
		t.Errorf("the notes have relative links, or don't say what the files are for:\n%s", notes)
	}
	for _, of := range []string{"SHA256SUMS", "provenance", "lbcontroller-" + version, "alicloud-controllers-" + version} {
		if !bytes.Contains(read(t, o.Out, of+".sigstore.json"), []byte("messageSignature")) == (of == "SHA256SUMS") {
			t.Errorf("%s has another kind of signature", of)
		}
	}
}

// TestRefusals: what would be no release of one source is refused.
func TestRefusals(t *testing.T) {
	t.Parallel()
	good, _ := collected(t, false)
	for want, change := range map[string]func(o *Options){
		"Chart.yaml":      func(o *Options) { o.Version = "v99.0.0" },
		"find images":     func(o *Options) { o.Images = t.TempDir() },
		"in no commit":    func(o *Options) { o.Version, o.Key = "abc-dirty", aKey(t) },
		"read the key":    func(o *Options) { o.Key = "none.pem" },
		"has no key":      func(o *Options) { o.Key = "release_test.go" },
		"read the change": func(o *Options) { o.Root = withoutChanges(t) },
	} {
		o := good
		change(&o)
		if err := Collect(t.Context(), o, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// withoutChanges is a source with a chart and no changelog.
func withoutChanges(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "deploy", "chart"), os.DirFS(root+"/deploy/chart")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestAboutTheChart: the package is the chart, with what Artifact Hub shows of it.
func TestAboutTheChart(t *testing.T) {
	t.Parallel()
	o, version := collected(t, false)
	source, err := loader.Load(root + "/deploy/chart")
	if err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{"", "https://git.example.com/r/blob/"} {
		o.Source = url
		if err := Collect(t.Context(), o, io.Discard); err != nil {
			t.Fatal(err)
		}
		c, err := loader.LoadArchive(bytes.NewReader(read(t, o.Out, "alicloud-controllers-"+version+".tgz")))
		if err != nil || len(c.Templates) != len(source.Templates) || c.Metadata.Version != version || len(c.Schema) == 0 {
			t.Fatalf("the package has the chart %+v, %v", c, err)
		}
		about := c.Metadata.Annotations
		var changes []change
		var images []struct {
			Name, Image string
			Platforms   []string
		}
		var links []struct{ Name, URL string }
		for text, into := range map[string]any{"changes": &changes, "images": &images, "links": &links} {
			if err := yaml.UnmarshalStrict([]byte(about["artifacthub.io/"+text]), into); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
		if len(changes) == 0 || len(images) != 4 || images[1].Image != "registry.example.com/alicloud-controllers/lbcontroller:"+version ||
			len(images[1].Platforms) != 2 {
			t.Errorf("%d changes, images %v", len(changes), images)
		}
		if (len(links) == 0) != (url == "") || url != "" && links[0].URL != url+"v"+version+"/docs/install.md" {
			t.Errorf("with %q the links are %v", url, links)
		}
		if got, want := about["artifacthub.io/prerelease"] == "true", strings.Contains(version, "-"); got != want ||
			about["artifacthub.io/license"] != "Apache-2.0" {
			t.Errorf("the annotations are %v", about)
		}
	}
}

func TestChanges(t *testing.T) {
	t.Parallel()
	got, err := changesOf("# 0.3.0\n\nA word before.\n\n- first\n\n### Fixed\n\n- a fault\n  of [two](docs/x.md) lines. And more.\n\n" +
		"### Upgrade notes\n\n- look\n\n### Security\n\n- a hole\n")
	const want = "[{added first} {fixed a fault of two lines.} {changed look} {security a hole}]"
	if text := fmt.Sprint(got); err != nil || text != want {
		t.Errorf("%s, %v, want %s", text, err, want)
	}
	if _, err := changesOf("### Mended\n\n- x\n"); err == nil || !strings.Contains(err.Error(), `"Mended"`) {
		t.Errorf("an unknown heading: %v", err)
	}
}

// TestDashboard: Grafana imports it without a question but that for the data source.
func TestDashboard(t *testing.T) {
	t.Parallel()
	o, _ := collected(t, false)
	text := read(t, o.Out, "dashboard.json")
	var d struct {
		ID       *int              `json:"id"`
		Title    string            `json:"title"`
		Requires []json.RawMessage `json:"__requires"`
		Panels   []struct {
			Type       string `json:"type"`
			Datasource struct {
				UID string `json:"uid"`
			} `json:"datasource"`
		} `json:"panels"`
	}
	if err := json.Unmarshal(text, &d); err != nil || d.ID != nil || d.Title == "" || len(d.Panels) < 20 {
		t.Fatalf("%+v, %v", d, err)
	}
	for _, p := range d.Panels {
		if p.Type == "row" {
			continue
		}
		if p.Datasource.UID != "${datasource}" {
			t.Errorf("a panel asks %+v", p)
		}
		if !strings.Contains(string(bytes.Join(raw(d.Requires), nil)), `"`+p.Type+`"`) {
			t.Errorf("a panel of the type %s isn't among what is required", p.Type)
		}
	}
}

func raw(all []json.RawMessage) (texts [][]byte) {
	for _, text := range all {
		texts = append(texts, text)
	}
	return texts
}

// TestKrew: each platform has the address, the sum and the program of its own archive. make release-check has krew's
// own validation judge it.
func TestKrew(t *testing.T) {
	t.Parallel()
	o, version := collected(t, false)
	text := string(read(t, o.Out, "alicloud.yaml"))
	archive := build.PluginArchive(version, "windows/amd64")
	want := fmt.Sprintf("  - bin: kubectl-alicloud.exe\n    selector:\n      matchLabels:\n        arch: amd64\n        os: windows\n"+
		"    sha256: %x\n    uri: https://git.example.com/r/releases/download/v%s/%s\n", sha256.Sum256([]byte("for Windows")), version, archive)
	if !strings.Contains(text, want) || strings.Count(text, "uri:") != 2 || !strings.Contains(text, "version: v"+version+"\n") {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	o.Downloads = ""
	if err := Collect(t.Context(), o, io.Discard); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(o.Out, "alicloud.yaml")); err == nil {
		t.Error("a manifest that leads nowhere")
	}
}
