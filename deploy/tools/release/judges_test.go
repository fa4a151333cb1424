package release

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// TestJudges has the programs of others judge a release, as a stranger would who has nothing but the files and the
// public key: cosign verifies what was signed and refuses what was not, crane finds the images whole, and helm pulls
// the chart. make release-check builds them.
func TestJudges(t *testing.T) {
	t.Parallel()
	cosign, crane, helm, krew := os.Getenv("COSIGN"), os.Getenv("CRANE"), os.Getenv("HELM"), os.Getenv("KREW")
	if cosign == "" || crane == "" || helm == "" || krew == "" {
		t.Skip("COSIGN, CRANE, HELM and KREW name no programs; run make release-check")
	}
	o, version := collected(t, true)
	other, _ := collected(t, true)
	to := aRegistry(t)
	var pushed strings.Builder
	if err := Push(t.Context(), o.Out, to, &pushed); err != nil {
		t.Fatal(err)
	}
	tag, err := name.NewTag(to + "/lbcontroller:" + version)
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(tag)
	if err != nil {
		t.Fatal(err)
	}
	unsigned, err := name.NewTag(to + "/unsigned:1")
	if err != nil {
		t.Fatal(err)
	}
	platforms, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	image, err := index.Image(platforms.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(unsigned, image); err != nil {
		t.Fatal(err)
	}
	key, dir := []string{"--key", filepath.Join(o.Out, keyFile), "--insecure-ignore-tlog"}, t.TempDir()
	tar, chart := "lbcontroller-"+version+".tar", "alicloud-controllers-"+version+".tgz"
	signed := filepath.Join(o.Out, "provenance.sigstore.json")
	blob := func(of, file string) []string {
		return []string{"verify-blob", "--bundle", filepath.Join(o.Out, of), filepath.Join(o.Out, file)}
	}
	provenance := func(file string) []string {
		return []string{"verify-blob-attestation", "--type", "slsaprovenance1", "--bundle", signed, file}
	}
	verify := func(of string) []string { return []string{"verify", "--allow-http-registry", to + "/" + of} }
	for _, tt := range []struct {
		name    string
		program string
		args    []string
		fails   string
	}{
		{name: "the checksums", program: cosign, args: append(blob("SHA256SUMS.sigstore.json", "SHA256SUMS"), key...)},
		{name: "another file", program: cosign, args: append(blob("SHA256SUMS.sigstore.json", "NOTES.md"), key...), fails: "verif"},
		{name: "somebody else's key", program: cosign, args: append(blob("SHA256SUMS.sigstore.json", "SHA256SUMS"),
			"--key", filepath.Join(other.Out, keyFile), "--insecure-ignore-tlog"), fails: "verif"},
		{name: "what an image was made of", program: cosign, args: append(provenance(filepath.Join(o.Out, tar)), key...)},
		{name: "what something else was made of", program: cosign, args: append(provenance("judges_test.go"), key...), fails: "digest"},
		{name: "an image", program: cosign, args: append(verify("lbcontroller:"+version), key...)},
		{name: "the chart", program: cosign, args: append(verify("alicloud-controllers:"+version), key...)},
		{name: "an image's provenance", program: cosign, args: append([]string{"verify-attestation", "--allow-http-registry",
			"--type", "slsaprovenance1", to + "/lbcontroller:" + version}, key...)},
		{name: "an image that nobody signed", program: cosign, args: append(verify("unsigned:1"), key...), fails: "no"},
		{name: "a whole image", program: crane, args: []string{"validate", "--remote", tag.String()}},
		{name: "pull", program: helm, args: []string{"pull", "oci://" + to + "/alicloud-controllers", "--version", version,
			"--plain-http", "-d", dir}},
		{name: "a manifest of krew", program: krew, args: []string{"-skip-install", "-manifest", filepath.Join(o.Out, krewFile)}},
	} {
		out, err := exec.CommandContext(t.Context(), tt.program, tt.args...).CombinedOutput()
		if (err != nil) != (tt.fails != "") || !strings.Contains(string(out), tt.fails) {
			t.Errorf("%s: %s %s: %v\n%s", tt.name, filepath.Base(tt.program), strings.Join(tt.args, " "), err, out)
		}
		t.Logf("%s: %s", tt.name, strings.TrimSpace(string(out)))
	}
	if got := read(t, dir, chart); string(got) != string(read(t, o.Out, chart)) {
		t.Error("helm pulls another chart")
	}
}
