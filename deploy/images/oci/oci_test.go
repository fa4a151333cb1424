package oci

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

func image() Image {
	return Image{
		Name: "registry.example.com/alicloud-controllers/lbcontroller:1.2.3", Program: "lbcontroller",
		Binaries: map[string][]byte{"amd64": []byte("an ELF"), "arm64": []byte("another")},
		Labels:   map[string]string{"org.opencontainers.image.revision": "abc"}, Created: time.Unix(1_700_000_000, 0),
	}
}

// unpack reads the files of a tar, and their headers.
func unpack(t *testing.T, r io.Reader) (map[string][]byte, map[string]*tar.Header) {
	t.Helper()
	files, headers := map[string][]byte{}, map[string]*tar.Header{}
	in := tar.NewReader(r)
	for {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			return files, headers
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[header.Name], err = io.ReadAll(in); err != nil {
			t.Fatal(err)
		}
		if headers[header.Name] = header; header.Uid != 0 || !header.ModTime.Equal(image().Created) {
			t.Errorf("%s is of user %d, changed at %s", header.Name, header.Uid, header.ModTime)
		}
	}
}

func parse[T any](t *testing.T, data []byte) T {
	t.Helper()
	var document T
	if err := json.Unmarshal(data, &document); err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	return document
}

// TestWrite reads an image as a runtime does, with every digest and size.
func TestWrite(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	digest, err := Write(&out, image())
	if err != nil {
		t.Fatal(err)
	}
	files, _ := unpack(t, &out)
	blob := func(d v1.Descriptor) []byte {
		t.Helper()
		data, ok := files[blobPath(d.Digest)]
		if sum := fmt.Sprintf("sha256:%x", sha256.Sum256(data)); !ok || sum != d.Digest.String() || int64(len(data)) != d.Size {
			t.Errorf("%s %s is there: %t, %d bytes", d.MediaType, d.Digest, ok, len(data))
		}
		return data
	}
	top := parse[v1.IndexManifest](t, files["index.json"]).Manifests[0]
	if top.Digest.String() != digest || top.Annotations[nameAnnotation] != image().Name ||
		!bytes.Contains(files["oci-layout"], []byte("1.0.0")) {
		t.Errorf("%+v, pulled by %s", top, digest)
	}
	platforms := parse[v1.IndexManifest](t, blob(top)).Manifests
	if len(platforms) != 2 || top.MediaType != types.OCIImageIndex {
		t.Fatalf("%d platforms of type %s", len(platforms), top.MediaType)
	}
	for _, p := range platforms {
		m := parse[v1.Manifest](t, blob(p))
		c := parse[v1.ConfigFile](t, blob(m.Config))
		if c.Architecture != p.Platform.Architecture || c.OS != "linux" || c.Config.User != "65532:65532" ||
			c.Config.Labels["org.opencontainers.image.revision"] != "abc" {
			t.Errorf("%s: configuration %+v", p.Platform.Architecture, c)
		}
		if p.MediaType != types.OCIManifestSchema1 || m.Config.MediaType != types.OCIConfigJSON || m.Layers[0].MediaType != types.OCILayer {
			t.Errorf("types %s, %s and %s", p.MediaType, m.Config.MediaType, m.Layers[0].MediaType)
		}
		all := map[string][]byte{}
		for i, l := range m.Layers {
			zip, err := gzip.NewReader(bytes.NewReader(blob(l)))
			if err != nil {
				t.Fatal(err)
			}
			plain, err := io.ReadAll(zip)
			if sum := fmt.Sprintf("sha256:%x", sha256.Sum256(plain)); err != nil || sum != c.RootFS.DiffIDs[i].String() {
				t.Errorf("layer %d is %s, %v, want %s", i, sum, err, c.RootFS.DiffIDs[i])
			}
			content, headers := unpack(t, bytes.NewReader(plain))
			for name, data := range content {
				all[name] = data
				if parent := name[:strings.LastIndex(strings.TrimSuffix(name, "/"), "/")+1]; parent != "" && headers[parent] == nil {
					t.Errorf("%s has no directory", name)
				}
			}
			if h := headers["usr/local/bin/lbcontroller"]; i == 1 && (h == nil || h.Mode != 0o755) {
				t.Errorf("the program: %+v", h)
			}
		}
		program := strings.TrimPrefix(c.Config.Entrypoint[0], "/")
		if !bytes.Equal(all[program], image().Binaries[p.Platform.Architecture]) || !slices.Contains(c.Config.Env, "PATH=/usr/local/bin") {
			t.Errorf("%s runs %q with %q", p.Platform.Architecture, all[program], c.Config.Env)
		}
		if pool := x509.NewCertPool(); !pool.AppendCertsFromPEM(all["etc/ssl/certs/ca-certificates.crt"]) ||
			!strings.Contains(string(all["etc/passwd"]), ":65532:65532:") {
			t.Errorf("no certificates, or no user in %q", all["etc/passwd"])
		}
	}
	// Older engines.
	old := parse[tarball.Manifest](t, files["manifest.json"])[0]
	if files[old.Config] == nil || files[old.Layers[0]] == nil || files[old.Layers[1]] == nil || old.RepoTags[0] != image().Name {
		t.Errorf("manifest.json: %+v", old)
	}
}

// TestSameDigest: the same programs give the same bytes, others don't.
func TestSameDigest(t *testing.T) {
	t.Parallel()
	write := func(change func(*Image)) (string, string) {
		i := image()
		change(&i)
		var out bytes.Buffer
		digest, err := Write(&out, i)
		if err != nil {
			t.Fatal(err)
		}
		return digest, out.String()
	}
	digest, text := write(func(*Image) {})
	for range 5 {
		if d, again := write(func(*Image) {}); d != digest || again != text {
			t.Fatal("the same image has other bytes")
		}
	}
	if d, _ := write(func(i *Image) { i.Binaries["arm64"] = []byte("changed") }); d == digest {
		t.Error("another program has the same digest")
	}
}

// Tools can be run, and are found by their names.
func TestTools(t *testing.T) {
	t.Parallel()
	i := image()
	i.Binaries = map[string][]byte{"amd64": []byte("an ELF")}
	i.Tools = map[string][]byte{"bin/sh": []byte("a shell"), "lib/libc.so": []byte("a library")}
	img, manifest, err := i.platform("amd64")
	if err != nil {
		t.Fatal(err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if path := "PATH=/usr/local/bin:/usr/bin:/bin"; !slices.Contains(config.Config.Env, path) {
		t.Errorf("the environment is %q, want %s", config.Config.Env, path)
	}
	layer, err := img.LayerByDigest(manifest.Layers[len(manifest.Layers)-1].Digest)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := layer.Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	files, headers := unpack(t, plain)
	for path, text := range i.Tools {
		if h := headers[path]; h == nil || h.Mode != 0o755 || string(files[path]) != string(text) {
			t.Errorf("%s: %+v, %q", path, h, files[path])
		}
	}
}
