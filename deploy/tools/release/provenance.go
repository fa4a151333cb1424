package release

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"alicloud-controllers.dev/deploy/images/build"
	"alicloud-controllers.dev/deploy/tools/release/attest"
)

// provenance is what a release was made of, as SLSA has it (v1). It has no time and no name of a machine: whoever makes
// it again gets the same.
type provenance struct {
	BuildDefinition buildDefinition `json:"buildDefinition"`
	RunDetails      struct {
		Builder struct {
			ID string `json:"id"`
		} `json:"builder"`
	} `json:"runDetails"`
}

type buildDefinition struct {
	// BuildType says what the parameters mean: those of make release.
	BuildType            string     `json:"buildType"`
	ExternalParameters   parameters `json:"externalParameters"`
	InternalParameters   toolchain  `json:"internalParameters"`
	ResolvedDependencies []material `json:"resolvedDependencies"`
}

type parameters struct {
	Version   string `json:"version"`
	Platforms string `json:"platforms"`
	Registry  string `json:"registry"`
	Source    string `json:"source"`
	Downloads string `json:"downloads"`
}

type toolchain struct {
	Go string `json:"go"`
}

// material is the commit, or a file of it that pins what is not in it.
type material struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

// The names of how a release is made. They are names, and no pages.
const (
	buildType = "https://alicloud-controllers.dev/make-release/v1"
	builder   = "https://alicloud-controllers.dev/make-release"
)

// provenance states what the files and what goes into a registry were made of.
func (o Options) provenance(ctx context.Context, files map[string][]byte, things []thing) ([]byte, error) {
	var subjects []attest.Subject
	for _, name := range slices.Sorted(maps.Keys(files)) {
		sum := sha256.Sum256(files[name])
		subjects = append(subjects, attest.Subject{Name: name, Digest: map[string]string{"sha256": hex.EncodeToString(sum[:])}})
	}
	for _, t := range things {
		subjects = append(subjects, attest.Subject{Name: t.repository, Digest: map[string]string{"sha256": t.digest.Hex}})
	}
	revision := o.revision
	if revision == "" {
		revision, _ = build.Source(ctx, o.Root)
	}
	var p provenance
	p.RunDetails.Builder.ID = builder
	p.BuildDefinition = buildDefinition{
		BuildType: buildType, ExternalParameters: parameters{o.Version, o.Platforms, o.Registry, o.Source, o.Downloads},
		InternalParameters:   toolchain{runtime.Version()},
		ResolvedDependencies: []material{{Name: "source", Digest: map[string]string{"gitCommit": revision}}},
	}
	pins, err := pinned(o.Root)
	if err != nil {
		return nil, err
	}
	p.BuildDefinition.ResolvedDependencies = append(p.BuildDefinition.ResolvedDependencies, pins...)
	return attest.State(attest.Provenance, p, subjects...)
}

// pinned are the go.sum of the modules that have an image, and of this one.
func pinned(root string) ([]material, error) {
	var all []material
	for _, dir := range append(build.Modules(), "deploy") {
		name := filepath.ToSlash(filepath.Join(dir, "go.sum"))
		text, err := fs.ReadFile(os.DirFS(root), name)
		if err != nil {
			return nil, fmt.Errorf("read what is pinned: %w", err)
		}
		sum := sha256.Sum256(text)
		all = append(all, material{Name: name, Digest: map[string]string{"sha256": hex.EncodeToString(sum[:])}})
	}
	return all, nil
}
