package release

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"

	"alicloud-controllers.dev/deploy/tools/release/attest"
)

// thing is what goes into a registry: an image, or the chart. Its digest is the same in every registry.
type thing struct {
	// name is that of its files, such as "lbcontroller-0.2.0".
	name       string
	repository string
	digest     v1.Hash
}

// digests are those of the images and of the chart.
func digests(m *chart.Metadata, files map[string][]byte, images []string) ([]thing, error) {
	var all []thing
	for _, file := range images {
		index, clean, err := open(files[file])
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		hash, err := index.Digest()
		if err = errors.Join(err, clean()); err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		of := strings.TrimSuffix(file, ".tar")
		all = append(all, thing{name: of, repository: strings.TrimSuffix(of, "-"+m.Version), digest: hash})
	}
	a, err := chartArtifact(m, files[packageName(m)])
	if err != nil {
		return nil, err
	}
	hash, _, err := a.digest()
	if err != nil {
		return nil, fmt.Errorf("read the chart: %w", err)
	}
	return append(all, thing{name: m.Name + "-" + m.Version, repository: m.Name, digest: hash}), nil
}

// open gives the image of a tar with an image layout. It reads files in a directory that clean removes.
func open(layers []byte) (index v1.ImageIndex, clean func() error, err error) {
	dir, err := os.MkdirTemp("", "release-")
	if err != nil {
		return nil, nil, err
	}
	clean = func() error { return os.RemoveAll(dir) }
	if index, err = unpack(layers, dir); err != nil {
		return nil, nil, errors.Join(err, clean())
	}
	return index, clean, nil
}

func unpack(layers []byte, dir string) (v1.ImageIndex, error) {
	archive := tar.NewReader(bytes.NewReader(layers))
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		if !filepath.IsLocal(header.Name) {
			return nil, fmt.Errorf("%q is no path in an image", header.Name)
		}
		data, err := io.ReadAll(archive)
		if err != nil {
			return nil, err
		}
		path := filepath.Join(dir, header.Name) //nolint:gosec // It is local.
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600)); err != nil {
			return nil, err
		}
	}
	all, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, err
	}
	manifest, err := all.IndexManifest()
	if err != nil {
		return nil, err
	}
	if len(manifest.Manifests) != 1 {
		return nil, fmt.Errorf("it has %d images", len(manifest.Manifests))
	}
	return all.ImageIndex(manifest.Manifests[0].Digest)
}

// Push writes the images and the chart of a release into a registry, below a path such as
// registry.example.com/alicloud-controllers, with what is known of each beside it: what it is made of, what it was made
// from, and who signed it. It asks the usual files for credentials.
func Push(ctx context.Context, from, to string, progress io.Writer) error {
	files, err := released(from)
	if err != nil {
		return err
	}
	p := pusher{files: files, to: to, progress: progress,
		options: []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		switch filepath.Ext(file) {
		case ".tar":
			err = p.image(strings.TrimSuffix(file, ".tar"))
		case ".tgz":
			err = p.chart(strings.TrimSuffix(file, ".tgz"))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// released are the files of a release that its checksums name, each as it was, and the signatures beside them.
func released(dir string) (map[string][]byte, error) {
	text, err := os.ReadFile(filepath.Join(dir, sumsFile))
	if err != nil {
		return nil, fmt.Errorf("read the release: %w", err)
	}
	files := map[string][]byte{}
	for line := range strings.Lines(string(text)) {
		sum, file, _ := strings.Cut(strings.TrimSpace(line), "  ")
		data, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			return nil, fmt.Errorf("read the release: %w", err)
		}
		if got := sha256.Sum256(data); hex.EncodeToString(got[:]) != sum {
			return nil, fmt.Errorf("%s is not what %s has", file, sumsFile)
		}
		files[file] = data
	}
	signatures, err := filepath.Glob(filepath.Join(dir, "*"+bundleSuffix))
	for _, path := range signatures {
		if files[filepath.Base(path)], err = os.ReadFile(path); err != nil {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read the signatures: %w", err)
	}
	return files, nil
}

// pusher pushes a release.
type pusher struct {
	files    map[string][]byte
	to       string
	options  []remote.Option
	progress io.Writer
}

// repository splits "lbcontroller-0.2.0" into where it goes and its tag.
func (p pusher) repository(of string) (repository name.Repository, tag string, err error) {
	c, err := p.metadata()
	if err != nil {
		return name.Repository{}, "", err
	}
	repository, err = name.NewRepository(p.to + "/" + strings.TrimSuffix(of, "-"+c.Version))
	if err != nil {
		return name.Repository{}, "", fmt.Errorf("push %s: %w", of, err)
	}
	return repository, c.Version, nil
}

// metadata is that of the chart in the release.
func (p pusher) metadata() (*chart.Metadata, error) {
	for file, data := range p.files {
		if filepath.Ext(file) == ".tgz" {
			c, err := loader.LoadArchive(bytes.NewReader(data))
			if err != nil {
				return nil, fmt.Errorf("read the chart: %w", err)
			}
			return c.Metadata, nil
		}
	}
	return nil, errors.New("the release has no chart")
}

// image pushes an image, and beside the program of each platform what it is made of.
func (p pusher) image(of string) (err error) {
	repository, tag, err := p.repository(of)
	if err != nil {
		return err
	}
	index, clean, err := open(p.files[of+".tar"])
	if err != nil {
		return fmt.Errorf("read %s: %w", of, err)
	}
	defer func() { err = errors.Join(err, clean()) }()
	if err := remote.WriteIndex(repository.Tag(tag), index, p.options...); err != nil {
		return fmt.Errorf("push %s: %w", of, err)
	}
	about, err := partial.Descriptor(index)
	if err != nil {
		return fmt.Errorf("push %s: %w", of, err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return fmt.Errorf("push %s: %w", of, err)
	}
	for _, platform := range manifest.Manifests {
		const kind = "application/vnd.cyclonedx+json"
		a, err := referrer(kind, p.files[of+"-"+platform.Platform.Architecture+".cdx.json"], nil, platform)
		if err != nil {
			return err
		}
		if _, err := a.push(repository, "", p.options...); err != nil {
			return err
		}
	}
	return p.vouch(of, repository, *about)
}

func (p pusher) chart(of string) error {
	repository, tag, err := p.repository(of)
	if err != nil {
		return err
	}
	m, err := p.metadata()
	if err != nil {
		return err
	}
	a, err := chartArtifact(m, p.files[of+".tgz"])
	if err != nil {
		return err
	}
	about, err := a.push(repository, tag, p.options...)
	if err != nil {
		return err
	}
	return p.vouch(of, repository, about)
}

// vouch pushes the signatures, if there are any, and tells the digest.
func (p pusher) vouch(of string, repository name.Repository, about v1.Descriptor) error {
	for file, predicate := range map[string]string{
		of + bundleSuffix: attest.Signature, strings.TrimSuffix(provenanceFile, ".json") + bundleSuffix: attest.Provenance,
	} {
		signed, ok := p.files[file]
		if !ok {
			continue
		}
		a, err := referrer(attest.BundleType, signed, map[string]string{
			"dev.sigstore.bundle.content": "dsse-envelope", "dev.sigstore.bundle.predicateType": predicate,
		}, about)
		if err != nil {
			return err
		}
		if _, err := a.push(repository, "", p.options...); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(p.progress, "%s@%s\n", repository, about.Digest)
	return err
}
