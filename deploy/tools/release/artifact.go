package release

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"helm.sh/helm/v3/pkg/chart"
)

// artifact is what a registry keeps that is no image: a file, and what it is about. It implements remote.Taggable.
type artifact struct {
	manifest     []byte
	config, file v1.Layer
}

func (a artifact) RawManifest() ([]byte, error)        { return a.manifest, nil }
func (a artifact) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }

// part is one of the two blobs of an artifact.
type part struct {
	kind string
	data []byte
}

// newArtifact makes the manifest.
func newArtifact(kind string, config, file part, annotations map[string]string, subject *v1.Descriptor) (artifact, error) {
	a := artifact{
		config: static.NewLayer(config.data, types.MediaType(config.kind)), file: static.NewLayer(file.data, types.MediaType(file.kind)),
	}
	manifest := v1.Manifest{
		SchemaVersion: 2, MediaType: types.OCIManifestSchema1, ArtifactType: kind, Annotations: annotations, Subject: subject,
	}
	var err error
	if manifest.Config, err = describeLayer(a.config); err != nil {
		return a, err
	}
	layer, err := describeLayer(a.file)
	if err != nil {
		return a, err
	}
	manifest.Layers = []v1.Descriptor{layer}
	if a.manifest, err = json.Marshal(manifest); err != nil {
		return a, fmt.Errorf("write a manifest: %w", err)
	}
	return a, nil
}

func describeLayer(layer v1.Layer) (d v1.Descriptor, err error) {
	if d.Digest, err = layer.Digest(); err != nil {
		return d, fmt.Errorf("write a manifest: %w", err)
	}
	if d.Size, err = layer.Size(); err != nil {
		return d, fmt.Errorf("write a manifest: %w", err)
	}
	d.MediaType, err = layer.MediaType()
	return d, err
}

// chartArtifact is the chart's package as helm pushes it, without the time of day.
func chartArtifact(m *chart.Metadata, packed []byte) (artifact, error) {
	config, err := json.Marshal(m)
	if err != nil {
		return artifact{}, fmt.Errorf("write the chart's manifest: %w", err)
	}
	return newArtifact("", part{"application/vnd.cncf.helm.config.v1+json", config},
		part{"application/vnd.cncf.helm.chart.content.v1.tar+gzip", packed}, map[string]string{
			"org.opencontainers.image.title": m.Name, "org.opencontainers.image.version": m.Version,
			"org.opencontainers.image.description": m.Description, "org.opencontainers.image.licenses": "Apache-2.0",
		}, nil)
}

// referrer is a file about something in a registry. Registries that don't know the type of an artifact take that of its
// config for it.
func referrer(kind string, file []byte, annotations map[string]string, subject v1.Descriptor) (artifact, error) {
	about := v1.Descriptor{MediaType: subject.MediaType, Digest: subject.Digest, Size: subject.Size}
	return newArtifact(kind, part{kind, []byte("{}")}, part{kind, file}, annotations, &about)
}

// digest is that of the manifest.
func (a artifact) digest() (v1.Hash, int64, error) { return v1.SHA256(bytes.NewReader(a.manifest)) }

// push writes the blobs before the manifest that names them. Without a tag, the digest names it.
func (a artifact) push(repository name.Repository, tag string, options ...remote.Option) (v1.Descriptor, error) {
	for _, layer := range []v1.Layer{a.config, a.file} {
		if err := remote.WriteLayer(repository, layer, options...); err != nil {
			return v1.Descriptor{}, fmt.Errorf("push into %s: %w", repository, err)
		}
	}
	hash, size, err := a.digest()
	if err != nil {
		return v1.Descriptor{}, fmt.Errorf("push into %s: %w", repository, err)
	}
	var reference name.Reference = repository.Digest(hash.String())
	if tag != "" {
		reference = repository.Tag(strings.ReplaceAll(tag, "+", "_"))
	}
	if err := remote.Put(reference, a, options...); err != nil {
		return v1.Descriptor{}, fmt.Errorf("push %s: %w", reference, err)
	}
	return v1.Descriptor{MediaType: types.OCIManifestSchema1, Digest: hash, Size: size}, nil
}
