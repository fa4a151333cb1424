// Package oci writes container images without a container engine. The same programs give the same bytes, and so the
// same digest.
package oci

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// User is the number of the user and of the group that programs run as.
const User = 65532

// Image is a program for one or several platforms.
type Image struct {
	// Name has the registry and the tag, e.g. "docker.io/alicloud-controllers/lbcontroller:0.1.0".
	Name string
	// Program is the name of the file, which is on the PATH and what the image runs.
	Program string
	// Binaries are static programs by their architecture of Linux, e.g. "amd64".
	Binaries map[string][]byte
	// Licences are the texts that have to be passed on with the programs, by architecture; the image has them in
	// licenses/.
	Licences map[string][]byte
	// Tools are further programs with the libraries that they load, by their paths without the leading slash. They are
	// in the image of each architecture, so there has to be one.
	Tools map[string][]byte
	// Labels of the image, e.g. "org.opencontainers.image.revision".
	Labels map[string]string
	// Created is the time of the source, not of the build.
	Created time.Time
}

// nameAnnotation is by which containerd names what it imports.
const nameAnnotation = "io.containerd.image.name"

// Write writes the image as a tar with an image layout, and returns the digest by which it is pulled.
func Write(w io.Writer, image Image) (digest string, err error) {
	platforms := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	var legacy tarball.Manifest // What engines read that are older than the layout; it knows one platform.
	for _, arch := range slices.Sorted(maps.Keys(image.Binaries)) {
		img, manifest, err := image.platform(arch)
		if err != nil {
			return "", fmt.Errorf("make the image for %s: %w", arch, err)
		}
		platforms = mutate.AppendManifests(platforms, mutate.IndexAddendum{
			Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}},
		})
		if legacy == nil {
			legacy = tarball.Manifest{{Config: blobPath(manifest.Config.Digest), RepoTags: []string{image.Name}}}
			for _, layer := range manifest.Layers {
				legacy[0].Layers = append(legacy[0].Layers, blobPath(layer.Digest))
			}
		}
	}
	hash, err := platforms.Digest()
	if err != nil {
		return "", fmt.Errorf("make the index: %w", err)
	}
	files, err := image.layout(platforms)
	if err != nil {
		return "", fmt.Errorf("make the layout: %w", err)
	}
	if files["manifest.json"], err = json.Marshal(legacy); err != nil {
		return "", fmt.Errorf("encode manifest.json: %w", err)
	}
	return hash.String(), pack(w, files, func(string) int64 { return 0o644 }, image.Created)
}

// layout has the files of the image layout by their paths.
func (i Image) layout(platforms v1.ImageIndex) (map[string][]byte, error) {
	dir, err := os.MkdirTemp("", "oci-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	tree, err := layout.Write(dir, mutate.IndexMediaType(empty.Index, types.OCIImageIndex))
	if err != nil {
		return nil, err
	}
	names := map[string]string{nameAnnotation: i.Name, "org.opencontainers.image.ref.name": i.Name}
	if err := tree.AppendIndex(platforms, layout.WithAnnotations(names)); err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	root := os.DirFS(dir)
	return files, fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files[path], err = fs.ReadFile(root, path)
		}
		return err
	})
}

func blobPath(hash v1.Hash) string { return "blobs/" + hash.Algorithm + "/" + hash.Hex }

const (
	certificatesFile = "etc/ssl/certs/ca-certificates.crt"
	programs         = "usr/local/bin/"
)

// platform makes the image of one architecture: a layer that is the same for all programs, and one with the program.
func (i Image) platform(arch string) (v1.Image, *v1.Manifest, error) {
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	created := v1.Time{Time: i.Created.UTC()}
	files := map[string][]byte{programs + i.Program: i.Binaries[arch]}
	if text, ok := i.Licences[arch]; ok {
		files["licenses/"+i.Program+".txt"] = text
	}
	layers, search := []map[string][]byte{base(), files}, "/usr/local/bin"
	if len(i.Tools) > 0 {
		layers, search = append(layers, i.Tools), search+":/usr/bin:/bin"
	}
	for _, files := range layers {
		var plain bytes.Buffer
		if err := pack(&plain, files, i.mode, i.Created); err != nil {
			return nil, nil, err
		}
		open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(plain.Bytes())), nil }
		layer, err := tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer))
		if err != nil {
			return nil, nil, err
		}
		if img, err = mutate.Append(img, mutate.Addendum{Layer: layer, History: v1.History{Created: created}}); err != nil {
			return nil, nil, err
		}
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", arch, created
	config.Config = v1.Config{
		User: fmt.Sprintf("%d:%d", User, User), WorkingDir: "/", Labels: i.Labels, Entrypoint: []string{"/" + programs + i.Program},
		Env: []string{"PATH=" + search, "SSL_CERT_FILE=/" + certificatesFile},
	}
	if img, err = mutate.ConfigFile(img, config); err != nil {
		return nil, nil, err
	}
	manifest, err := img.Manifest()
	return img, manifest, err
}

// base is what a static program may ask for: certificates, and the name of its user.
func base() map[string][]byte {
	return map[string][]byte{
		certificatesFile: certificates(),
		"etc/passwd":     fmt.Appendf(nil, "root:x:0:0:root:/:/sbin/nologin\nnonroot:x:%d:%d:nonroot:/:/sbin/nologin\n", User, User),
		"etc/group":      fmt.Appendf(nil, "root:x:0:\nnonroot:x:%d:\n", User),
	}
}

// certificates are Mozilla's authorities, as of the version of the module. Those that are trusted under conditions
// only, which a file of certificates can't express, are left out.
func certificates() []byte {
	var all bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&all, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // A buffer takes everything.
		}
	}
	return all.Bytes()
}

// mode is that of a file in a layer.
func (i Image) mode(path string) int64 {
	if _, tool := i.Tools[path]; tool || strings.HasPrefix(path, programs) {
		return 0o755
	}
	return 0o644
}

// pack writes a tar with files, after their directories.
func pack(w io.Writer, files map[string][]byte, mode func(path string) int64, created time.Time) error {
	out := tar.NewWriter(w)
	header := tar.Header{ModTime: created.UTC(), Format: tar.FormatPAX}
	known := map[string]bool{}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		for i, letter := range path {
			if dir := path[:i+1]; letter == '/' && !known[dir] {
				known[dir] = true
				header.Typeflag, header.Name, header.Mode, header.Size = tar.TypeDir, dir, 0o755, 0
				if err := out.WriteHeader(&header); err != nil {
					return fmt.Errorf("pack %s: %w", dir, err)
				}
			}
		}
		header.Typeflag, header.Name, header.Mode, header.Size = tar.TypeReg, path, mode(path), int64(len(files[path]))
		if err := out.WriteHeader(&header); err != nil {
			return fmt.Errorf("pack %s: %w", path, err)
		}
		if _, err := out.Write(files[path]); err != nil {
			return fmt.Errorf("pack %s: %w", path, err)
		}
	}
	return out.Close()
}
