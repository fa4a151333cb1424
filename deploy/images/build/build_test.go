package build

import (
	"bytes"
	"debug/elf"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"alicloud-controllers.dev/deploy/images/oci"
	"alicloud-controllers.dev/deploy/tools/local/binaries"
)

// Every process that gets an image has its command where the build looks for it.
func TestModules(t *testing.T) {
	t.Parallel()
	root, err := binaries.Root()
	if err != nil {
		t.Fatal(err)
	}
	for _, process := range Processes() {
		for _, file := range []string{"go.mod", filepath.Join("cmd", process, "main.go")} {
			if _, err := os.Stat(filepath.Join(root, module(process), file)); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestArchitectures: platforms are written as every container tool writes them, or in short.
func TestArchitectures(t *testing.T) {
	t.Parallel()
	const all = "there are images for linux/amd64 and linux/arm64"
	for platforms, want := range map[string]string{
		"amd64": "amd64", "linux/amd64": "amd64", "linux/amd64, linux/arm64": "amd64 arm64", "arm64,amd64,linux/arm64": "arm64 amd64",
		"": `platform "": ` + all, "amd64,": `platform "": ` + all, "windows/amd64": `platform "windows/amd64": ` + all,
		"linux/arm/v7": `platform "linux/arm/v7": ` + all,
	} {
		archs, err := architectures(platforms)
		if got := strings.Join(archs, " "); got != want && (err == nil || err.Error() != want) {
			t.Errorf("%q: %q, %v, want %q", platforms, got, err, want)
		}
	}
}

// TestSameCommitSameImage builds the smallest module twice, the second time in a copy of its sources elsewhere: the
// image and the bill of materials are the same to the byte, and the simulated cloud, which imports nothing of ours,
// knows its version all the same.
func TestSameCommitSameImage(t *testing.T) {
	t.Parallel()
	root, err := binaries.Root()
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := t.TempDir()
	if err := os.CopyFS(filepath.Join(elsewhere, module(simulator)), os.DirFS(filepath.Join(root, module(simulator)))); err != nil {
		t.Fatal(err)
	}
	if err := copyFile(filepath.Join(root, "LICENSE"), filepath.Join(elsewhere, "LICENSE")); err != nil {
		t.Fatal(err)
	}
	created := time.Unix(1_700_000_000, 0)
	digests, bills := map[string]bool{}, map[string]bool{}
	for _, sources := range []string{root, elsewhere} {
		program, err := build(t.Context(), sources, simulator, runtime.GOARCH, "v9.8.7")
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(program, []byte("v9.8.7")) {
			t.Error("the version is not in the program")
		}
		if file, err := elf.NewFile(bytes.NewReader(program)); err != nil || file.Section(".symtab") != nil ||
			file.Section(".debug_info") != nil {
			t.Errorf("the program has its symbols, which is half of its size: %v", err)
		}
		if bytes.Contains(program, []byte(sources)) {
			t.Errorf("the program names %s", sources)
		}
		out := t.TempDir()
		all, err := notices(t.Context(), sources, simulator, runtime.GOARCH)
		if err != nil {
			t.Fatal(err)
		}
		if err := describe(out, simulator, runtime.GOARCH, "1.2.3", created, program, all); err != nil {
			t.Fatal(err)
		}
		bill, err := os.ReadFile(filepath.Join(out, simulator+"-1.2.3-"+runtime.GOARCH+".cdx.json"))
		if err != nil {
			t.Fatal(err)
		}
		digest, err := write(filepath.Join(out, "image.tar"), oci.Image{
			Name: "registry.example.com/" + simulator + ":1.2.3", Program: simulator,
			Binaries: map[string][]byte{runtime.GOARCH: program}, Licences: map[string][]byte{runtime.GOARCH: passedOn(all)}, Created: created,
		})
		if err != nil {
			t.Fatal(err)
		}
		digests[digest], bills[string(bill)] = true, true
	}
	if len(digests) != 1 || len(bills) != 1 {
		t.Errorf("%d digests and %d bills of materials of one commit: %v", len(digests), len(bills), digests)
	}
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o600)
}
