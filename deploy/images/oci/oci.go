// Package oci writes container images without a container engine. The same programs give the same bytes, and so the same digest.
package oci

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

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
	// Labels of the image, e.g. "org.opencontainers.image.revision".
	Labels map[string]string
	// Created is the time of the source, not of the build.
	Created time.Time
}

type (
	descriptor struct {
		MediaType   string            `json:"mediaType"`
		Digest      string            `json:"digest"`
		Size        int               `json:"size"`
		Platform    *platform         `json:"platform,omitempty"`
		Annotations map[string]string `json:"annotations,omitempty"`
	}
	platform struct {
		Architecture string `json:"architecture"`
		OS           string `json:"os"`
	}
	index struct {
		SchemaVersion int          `json:"schemaVersion"`
		MediaType     string       `json:"mediaType"`
		Manifests     []descriptor `json:"manifests"`
	}
	manifest struct {
		SchemaVersion int          `json:"schemaVersion"`
		MediaType     string       `json:"mediaType"`
		Config        descriptor   `json:"config"`
		Layers        []descriptor `json:"layers"`
	}
	config struct {
		Created time.Time `json:"created"`
		platform
		Config struct {
			User       string            `json:"User"`
			Env        []string          `json:"Env"`
			Entrypoint []string          `json:"Entrypoint"`
			WorkingDir string            `json:"WorkingDir"`
			Labels     map[string]string `json:"Labels,omitempty"`
		} `json:"config"`
		RootFS struct {
			Type    string   `json:"type"`
			DiffIDs []string `json:"diff_ids"`
		} `json:"rootfs"`
	}
	// docker is what engines read that are older than the image layout.
	docker struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
)

const (
	typeIndex    = "application/vnd.oci.image.index.v1+json"
	typeManifest = "application/vnd.oci.image.manifest.v1+json"
	typeConfig   = "application/vnd.oci.image.config.v1+json"
	typeLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
	// nameAnnotation is by which containerd names what it imports.
	nameAnnotation = "io.containerd.image.name"
)

// blobs are the files of the layout by their digest.
type blobs map[string][]byte

func (b blobs) add(mediaType string, data []byte) descriptor {
	digest := digestOf(data)
	b[digest] = data
	return descriptor{MediaType: mediaType, Digest: digest, Size: len(data)}
}

func (b blobs) addJSON(mediaType string, document any) (descriptor, error) {
	data, err := json.Marshal(document)
	if err != nil {
		return descriptor{}, fmt.Errorf("encode %s: %w", mediaType, err)
	}
	return b.add(mediaType, data), nil
}

func digestOf(data []byte) string { return fmt.Sprintf("sha256:%x", sha256.Sum256(data)) }

func blobPath(digest string) string { return "blobs/sha256/" + digest[len("sha256:"):] }

// Write writes the image as a tar with an image layout, and returns the digest by which it is pulled.
func Write(w io.Writer, image Image) (digest string, err error) {
	all := blobs{}
	platforms := index{SchemaVersion: 2, MediaType: typeIndex}
	var legacy []docker
	for _, arch := range slices.Sorted(maps.Keys(image.Binaries)) {
		m, err := image.platform(all, arch)
		if err != nil {
			return "", err
		}
		described, err := all.addJSON(typeManifest, m)
		if err != nil {
			return "", err
		}
		described.Platform = &platform{Architecture: arch, OS: "linux"}
		platforms.Manifests = append(platforms.Manifests, described)
		if legacy == nil { // That format knows one platform.
			legacy = []docker{{Config: blobPath(m.Config.Digest), RepoTags: []string{image.Name}, Layers: []string{blobPath(m.Layers[0].Digest), blobPath(m.Layers[1].Digest)}}}
		}
	}
	top, err := all.addJSON(typeIndex, platforms)
	if err != nil {
		return "", err
	}
	digest = top.Digest
	top.Annotations = map[string]string{nameAnnotation: image.Name, "org.opencontainers.image.ref.name": image.Name}
	files := map[string][]byte{"oci-layout": []byte(`{"imageLayoutVersion":"1.0.0"}`)}
	for name, document := range map[string]any{
		"index.json": index{SchemaVersion: 2, MediaType: typeIndex, Manifests: []descriptor{top}}, "manifest.json": legacy,
	} {
		if files[name], err = json.Marshal(document); err != nil {
			return "", fmt.Errorf("encode %s: %w", name, err)
		}
	}
	for name, data := range all {
		files[blobPath(name)] = data
	}
	out := tar.NewWriter(w)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := put(out, name, 0o644, files[name], image.Created); err != nil {
			return "", err
		}
	}
	return digest, out.Close()
}

// platform adds the image of one architecture: a layer that is the same for all programs, and one with the program.
func (i Image) platform(all blobs, arch string) (manifest, error) {
	var c config
	c.Created, c.platform = i.Created.UTC(), platform{Architecture: arch, OS: "linux"}
	c.Config.User = fmt.Sprintf("%d:%d", User, User)
	c.Config.Env = []string{"PATH=/usr/local/bin", "SSL_CERT_FILE=/" + certificatesFile}
	c.Config.Entrypoint = []string{"/" + programs + i.Program}
	c.Config.WorkingDir, c.Config.Labels = "/", i.Labels
	c.RootFS.Type = "layers"
	m := manifest{SchemaVersion: 2, MediaType: typeManifest}
	for _, files := range []map[string]file{base(), {programs + i.Program: {mode: 0o755, data: i.Binaries[arch]}}} {
		plain, packed, err := layer(files, i.Created)
		if err != nil {
			return manifest{}, err
		}
		c.RootFS.DiffIDs = append(c.RootFS.DiffIDs, digestOf(plain))
		m.Layers = append(m.Layers, all.add(typeLayer, packed))
	}
	var err error
	m.Config, err = all.addJSON(typeConfig, c)
	return m, err
}

const (
	certificatesFile = "etc/ssl/certs/ca-certificates.crt"
	programs         = "usr/local/bin/"
)

// file is one of a layer.
type file struct {
	mode int64
	data []byte
}

// base is what a static program may ask for: certificates, and the name of its user.
func base() map[string]file {
	return map[string]file{
		certificatesFile: {mode: 0o644, data: certificates()},
		"etc/passwd":     {mode: 0o644, data: fmt.Appendf(nil, "root:x:0:0:root:/:/sbin/nologin\nnonroot:x:%d:%d:nonroot:/:/sbin/nologin\n", User, User)},
		"etc/group":      {mode: 0o644, data: fmt.Appendf(nil, "root:x:0:\nnonroot:x:%d:\n", User)},
	}
}

// certificates are Mozilla's authorities, as of the version of the module. Those that are trusted under conditions only, which a file
// of certificates can't express, are left out.
func certificates() []byte {
	var all bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&all, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // A buffer takes everything.
		}
	}
	return all.Bytes()
}

// layer packs files, with their directories.
func layer(files map[string]file, created time.Time) (plain, packed []byte, err error) {
	var text, archive bytes.Buffer
	out := tar.NewWriter(&text)
	known := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		for i := range len(name) {
			if dir := name[:i+1]; name[i] == '/' && !known[dir] {
				known[dir] = true
				if err := out.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir, Mode: 0o755, ModTime: created.UTC(), Format: tar.FormatPAX}); err != nil {
					return nil, nil, fmt.Errorf("pack %s: %w", dir, err)
				}
			}
		}
		if err := put(out, name, files[name].mode, files[name].data, created); err != nil {
			return nil, nil, err
		}
	}
	if err := out.Close(); err != nil {
		return nil, nil, fmt.Errorf("pack a layer: %w", err)
	}
	zip := gzip.NewWriter(&archive)
	if _, err := zip.Write(text.Bytes()); err != nil {
		return nil, nil, fmt.Errorf("compress a layer: %w", err)
	}
	if err := zip.Close(); err != nil {
		return nil, nil, fmt.Errorf("compress a layer: %w", err)
	}
	return text.Bytes(), archive.Bytes(), nil
}

func put(out *tar.Writer, name string, mode int64, data []byte, created time.Time) error {
	header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: int64(len(data)), ModTime: created.UTC(), Format: tar.FormatPAX}
	if err := out.WriteHeader(header); err != nil {
		return fmt.Errorf("pack %s: %w", name, err)
	}
	if _, err := out.Write(data); err != nil {
		return fmt.Errorf("pack %s: %w", name, err)
	}
	return nil
}
