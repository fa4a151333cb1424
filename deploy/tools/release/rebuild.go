package release

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"alicloud-controllers.dev/deploy/images/build"
	"alicloud-controllers.dev/deploy/tools/release/attest"
)

// Rebuild makes the files of a release again into a directory, with what its provenance says it was made of.
func Rebuild(ctx context.Context, root, from, out string, progress io.Writer) error {
	statement, p, err := fromHere(ctx, root, from)
	if err != nil {
		return err
	}
	images, err := os.MkdirTemp("", "rebuild-")
	if err != nil {
		return fmt.Errorf("make a directory: %w", err)
	}
	defer os.RemoveAll(images)
	said := p.BuildDefinition.ExternalParameters
	o := build.Options{Out: images, Registry: said.Registry, Version: said.Version, Platforms: said.Platforms}
	for _, process := range build.Processes() {
		if slices.ContainsFunc(statement.Subject, func(s attest.Subject) bool {
			return strings.HasPrefix(s.Name, process+"-") && strings.HasSuffix(s.Name, ".tar")
		}) {
			o.Only = append(o.Only, process)
		}
	}
	if err := build.Images(ctx, o, progress); err != nil {
		return err
	}
	var platforms []string
	for _, platform := range build.PluginPlatforms() {
		if slices.ContainsFunc(statement.Subject, func(s attest.Subject) bool {
			return strings.HasSuffix(s.Name, "-"+strings.ReplaceAll(platform, "/", "-")+".tar.gz")
		}) {
			platforms = append(platforms, platform)
		}
	}
	if err := build.Plugin(ctx, images, said.Version, platforms, progress); err != nil {
		return err
	}
	return Collect(ctx, Options{Root: root, Images: images, Out: out, Version: said.Version, Source: said.Source,
		Downloads: said.Downloads, Registry: said.Registry, Platforms: said.Platforms}, io.Discard)
}

// fromHere reads what a release was made of, and refuses if this source or this compiler would make another one.
func fromHere(ctx context.Context, root, from string) (attest.Statement, provenance, error) {
	statement, p, err := readProvenance(from)
	if err != nil {
		return statement, p, err
	}
	revision, _ := build.Source(ctx, root)
	if commit := p.commit(); commit != revision {
		return statement, p, fmt.Errorf("the release was made of the commit %s and this is %s: check that one out", commit, revision)
	}
	if made := p.BuildDefinition.InternalParameters.Go; made != runtime.Version() {
		return statement, p, fmt.Errorf("the release was made by %[1]s and this is %[2]s: set GOTOOLCHAIN=%[1]s", made, runtime.Version())
	}
	return statement, p, nil
}

// RebuildImage makes the image of one process again, which takes a fraction of the time, and says of its files whether
// they are those of the release. The release may have been fetched in part.
func RebuildImage(ctx context.Context, root, from, process string, progress io.Writer) error {
	statement, p, err := fromHere(ctx, root, from)
	if err != nil {
		return err
	}
	if !slices.Contains(build.Processes(), process) {
		return fmt.Errorf("%q has no image: name one of %s", process, strings.Join(build.Processes(), ", "))
	}
	dir, err := os.MkdirTemp("", "rebuild-")
	if err != nil {
		return fmt.Errorf("make a directory: %w", err)
	}
	defer os.RemoveAll(dir)
	said := p.BuildDefinition.ExternalParameters
	if err := build.Images(ctx, build.Options{Out: dir, Registry: said.Registry, Version: said.Version, Platforms: said.Platforms,
		Only: []string{process}}, progress); err != nil {
		return err
	}
	return compareImage(from, dir, statement, progress)
}

// compareImage compares files that were made again with those of a release that are there, and with what is stated.
func compareImage(from, rebuilt string, said attest.Statement, progress io.Writer) error {
	made, err := os.ReadDir(rebuilt)
	if err != nil {
		return fmt.Errorf("read the rebuild: %w", err)
	}
	var differ []string
	for _, file := range made {
		data, err := os.ReadFile(filepath.Join(rebuilt, file.Name()))
		if err != nil {
			return fmt.Errorf("read the rebuild: %w", err)
		}
		sum := sha256.Sum256(data)
		verdict := "same"
		theirs, err := os.ReadFile(filepath.Join(from, file.Name()))
		if err == nil && !bytes.Equal(theirs, data) || err != nil && !errors.Is(err, os.ErrNotExist) ||
			!slices.ContainsFunc(said.Subject, func(s attest.Subject) bool {
				return s.Name == file.Name() && s.Digest["sha256"] == hex.EncodeToString(sum[:])
			}) {
			verdict = "DIFFERS"
			differ = append(differ, file.Name())
		}
		if _, err := fmt.Fprintf(progress, "%-8s %x  %s\n", verdict, sum, file.Name()); err != nil {
			return err
		}
	}
	if len(differ) > 0 {
		return fmt.Errorf("a rebuild gives other bytes: %s", strings.Join(differ, ", "))
	}
	return nil
}

// Compare says of each thing that a release names whether the files of the release are those that it names, and whether
// a rebuild gave the same.
func Compare(from, rebuilt string, progress io.Writer) error {
	if _, err := released(from); err != nil {
		return err
	}
	said, _, err := readProvenance(from)
	if err != nil {
		return err
	}
	got, _, err := readProvenance(rebuilt)
	if err != nil {
		return err
	}
	var differ []string
	for _, subject := range said.Subject {
		i := slices.IndexFunc(got.Subject, func(s attest.Subject) bool { return s.Name == subject.Name })
		verdict := "same"
		if i < 0 || got.Subject[i].Digest["sha256"] != subject.Digest["sha256"] {
			verdict = "DIFFERS"
			differ = append(differ, subject.Name)
		}
		if _, err := fmt.Fprintf(progress, "%-8s %s  %s\n", verdict, subject.Digest["sha256"], subject.Name); err != nil {
			return err
		}
	}
	was, err := os.ReadFile(filepath.Join(from, provenanceFile))
	if err != nil {
		return fmt.Errorf("read the release: %w", err)
	}
	is, err := os.ReadFile(filepath.Join(rebuilt, provenanceFile))
	switch {
	case err != nil:
		return fmt.Errorf("read the rebuild: %w", err)
	case len(differ) > 0:
		return fmt.Errorf("a rebuild gives other bytes: %s", strings.Join(differ, ", "))
	case string(was) != string(is):
		return errors.New("the rebuild gives the same files and another " + provenanceFile)
	}
	return nil
}

func readProvenance(dir string) (attest.Statement, provenance, error) {
	var p provenance
	text, err := os.ReadFile(filepath.Join(dir, provenanceFile))
	if err != nil {
		return attest.Statement{}, p, fmt.Errorf("read what the release was made of: %w", err)
	}
	if bundle, err := os.ReadFile(filepath.Join(dir, strings.TrimSuffix(provenanceFile, ".json")+bundleSuffix)); err == nil {
		var signed struct {
			Envelope struct {
				Payload []byte `json:"payload"`
			} `json:"dsseEnvelope"`
		}
		if err := json.Unmarshal(bundle, &signed); err != nil || string(signed.Envelope.Payload) != string(text) {
			return attest.Statement{}, p, fmt.Errorf("%s is not what was signed, %w", provenanceFile, err)
		}
	}
	statement, err := attest.Read(text, attest.Provenance, &p)
	return statement, p, err
}

// commit is what the release was made of.
func (p provenance) commit() string {
	for _, m := range p.BuildDefinition.ResolvedDependencies {
		if commit := m.Digest["gitCommit"]; commit != "" {
			return commit
		}
	}
	return ""
}
