// Package release collects what is published (image tars, what they are made of, the chart's package, a dashboard,
// notes and checksums), says what it was made of, signs it, pushes it, and makes it again to compare. The same commit
// gives the same bytes, and the same key the same signatures.
package release

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"

	"alicloud-controllers.dev/deploy/images/build"
	"alicloud-controllers.dev/deploy/tools/release/attest"
)

// Options say what is collected.
type Options struct {
	// Root is the directory of the source.
	Root string
	// Images is the directory with what make images wrote.
	Images string
	// Out is the directory to write.
	Out string
	// Version is that of the processes; a tag, such as v1.2.3, has to be that of the chart and of the changes.
	Version string
	// Source is the URL below which the files of each tag are published, such as https://git.example.com/team/repo/blob.
	// If it is empty, the notes name files without a link, and there is no SECURITY-INSIGHTS.yml.
	Source string
	// Downloads is the URL below which the files of each tag are published. If it is empty, there is no manifest for krew
	// and no SECURITY-INSIGHTS.yml.
	Downloads string
	// Registry and Platforms are those of make images.
	Registry, Platforms string
	// Key is the file with the key that signs; if empty, nothing is signed.
	Key string

	// revision is the commit.
	revision string
}

// Names of files.
const (
	sumsFile       = "SHA256SUMS"
	provenanceFile = "provenance.json"
	bundleSuffix   = ".sigstore.json"
	keyFile        = "cosign.pub"
)

// Collect writes the files of a release, and their checksums to progress.
func Collect(ctx context.Context, o Options, progress io.Writer) error {
	c, err := loader.Load(filepath.Join(o.Root, "deploy", "chart"))
	if err != nil {
		return fmt.Errorf("read the chart: %w", err)
	}
	version := c.Metadata.Version
	if c.Metadata.AppVersion != version {
		return fmt.Errorf("the chart has the version %s and the images %s: they are released together", version, c.Metadata.AppVersion)
	}
	tagged := regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+$`).MatchString(o.Version)
	if tagged && o.Version != "v"+version {
		return fmt.Errorf(
			"the tag is %s and the version of the chart %s: set version and appVersion in Chart.yaml, and tag that commit", o.Version, version)
	}
	changes, err := os.ReadFile(filepath.Join(o.Root, "CHANGELOG.md"))
	if err != nil {
		return fmt.Errorf("read the changes: %w", err)
	}
	part, err := notes(string(changes), version, tagged)
	if err != nil {
		return err
	}
	files := map[string][]byte{"NOTES.md": []byte(absolute(introduced(part), version, o.Source))}
	if files["dashboard.json"], err = dashboard(c); err != nil {
		return err
	}
	if err := describe(c, part, o); err != nil {
		return err
	}
	if files[packageName(c.Metadata)], err = pack(c); err != nil {
		return err
	}
	images, err := collect(o.Images, version, files)
	if err != nil {
		return err
	}
	if o.Downloads != "" {
		if files[krewFile], err = krew(version, o.Downloads, files); err != nil {
			return err
		}
	}
	if o.Source != "" && o.Downloads != "" {
		_, created := build.Source(ctx, o.Root)
		if files[insightsFile], err = insights(c.Metadata, o, created); err != nil {
			return err
		}
	}
	things, err := digests(c.Metadata, files, images)
	if err != nil {
		return err
	}
	if files[provenanceFile], err = o.provenance(ctx, files, things); err != nil {
		return err
	}
	files[sumsFile] = sums(files)
	if o.Key != "" {
		if err := o.sign(files, things); err != nil {
			return err
		}
	}
	if err := publish(o.Out, files); err != nil {
		return err
	}
	_, err = progress.Write(files[sumsFile])
	return err
}

// collect reads the images of the version and returns their tars' names.
func collect(dir, version string, files map[string][]byte) (images []string, err error) {
	for _, suffix := range []string{"-" + version + ".tar", "-" + version + "-*.cdx.json", "-" + version + "-*.tar.gz"} {
		paths, err := filepath.Glob(filepath.Join(dir, "*"+suffix))
		if err != nil || len(paths) == 0 {
			return nil, fmt.Errorf("find images: nothing is named *%s in %s", suffix, dir)
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				return nil, fmt.Errorf("read an image: %w", err)
			}
			name := filepath.Base(path)
			if files[name] = data; strings.HasSuffix(name, ".tar") {
				images = append(images, name)
			}
		}
	}
	return images, nil
}

// sign adds the signatures of the checksums and of what was made of what, and those of each image and of the chart,
// which go with them into a registry.
func (o Options) sign(files map[string][]byte, things []thing) error {
	if strings.HasSuffix(o.Version, "-dirty") {
		return errors.New("the source has changes that are in no commit: nobody could make the same from the commit, so it is not signed")
	}
	key, err := attest.ReadKey(o.Key)
	if err != nil {
		return err
	}
	files[keyFile] = key.Public()
	if files[sumsFile+bundleSuffix], err = key.Sign(files[sumsFile]); err != nil {
		return err
	}
	if files[strings.TrimSuffix(provenanceFile, ".json")+bundleSuffix], err = key.Attest(files[provenanceFile]); err != nil {
		return err
	}
	for _, t := range things {
		subject := attest.Subject{Digest: map[string]string{"sha256": t.digest.Hex}}
		statement, err := attest.State(attest.Signature, struct{}{}, subject)
		if err != nil {
			return err
		}
		if files[t.name+bundleSuffix], err = key.Attest(statement); err != nil {
			return err
		}
	}
	return nil
}

// publish writes the files into an empty directory.
func publish(dir string, files map[string][]byte) error {
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil { //nolint:gosec // All users may read it.
		return fmt.Errorf("make %s: %w", dir, err)
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil { //nolint:gosec // See above.
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}

// sums are the checksums of files, in the form of sha256sum.
func sums(files map[string][]byte) []byte {
	var text []byte
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text = fmt.Appendf(text, "%x  %s\n", sha256.Sum256(files[name]), name)
	}
	return text
}
