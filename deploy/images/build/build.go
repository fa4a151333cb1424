// Package build makes the container images of our processes without a container engine: one tar with an image layout
// for each, for the usual platforms, and a bill of materials for each program. The same commit gives the same digests.
package build

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"alicloud-controllers.dev/deploy/chart"
	"alicloud-controllers.dev/deploy/images/oci"
	"alicloud-controllers.dev/deploy/tools/local/binaries"
)

// Options say what is built.
type Options struct {
	// Out is the directory of the tars.
	Out string
	// Registry stands in the images' names.
	Registry string
	// Version is what the processes say of their version. The tag is the chart's version.
	Version string
	// Platforms is a list with commas between them, such as "linux/amd64,linux/arm64".
	Platforms string
	// Only names the processes that are built; if empty, all.
	Only []string
}

// Processes are those that have an image.
func Processes() []string { return slices.Concat(chart.Components(), []string{simulator}) }

// Images builds what the options say, and writes a line about each image.
func Images(ctx context.Context, o Options, progress io.Writer) error {
	archs, err := architectures(o.Platforms)
	if err != nil {
		return err
	}
	root, err := binaries.Root()
	if err != nil {
		return err
	}
	tag, err := chartVersion(root)
	if err != nil {
		return err
	}
	revision, created := Source(ctx, root)
	if err := os.MkdirAll(o.Out, 0o750); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	authorities, err := certificates(ctx, root)
	if err != nil {
		return err
	}
	for _, process := range Processes() {
		if len(o.Only) > 0 && !slices.Contains(o.Only, process) {
			continue
		}
		image := oci.Image{
			Name: o.Registry + "/alicloud-controllers/" + process + ":" + tag, Program: process, Binaries: map[string][]byte{},
			Licences: map[string][]byte{}, Created: created,
			Labels: map[string]string{
				"org.opencontainers.image.title": process, "org.opencontainers.image.licenses": "Apache-2.0",
				"org.opencontainers.image.version": tag, "org.opencontainers.image.revision": revision,
			},
		}
		for _, arch := range archs {
			if image.Binaries[arch], err = build(ctx, root, process, arch, o.Version); err != nil {
				return err
			}
			all, err := notices(ctx, root, process, arch)
			if err != nil {
				return err
			}
			image.Licences[arch] = passedOn(slices.Concat(all, authorities))
			if err := describe(o.Out, process, arch, tag, created, image.Binaries[arch], all); err != nil {
				return err
			}
		}
		path := filepath.Join(o.Out, process+"-"+tag+".tar")
		digest, err := write(path, image)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(progress, "%s  %s@%s\n", path, image.Name, digest); err != nil {
			return err
		}
	}
	return nil
}

// architectures are those of a list of platforms, each written as container tools write it, such as linux/amd64, or
// without the system.
func architectures(platforms string) ([]string, error) {
	supported := []string{"amd64", "arm64"}
	var archs []string
	for platform := range strings.SplitSeq(platforms, ",") {
		arch := strings.TrimPrefix(strings.TrimSpace(platform), "linux/")
		if !slices.Contains(supported, arch) {
			return nil, fmt.Errorf("platform %q: there are images for linux/%s", platform, strings.Join(supported, " and linux/"))
		}
		if !slices.Contains(archs, arch) {
			archs = append(archs, arch)
		}
	}
	return archs, nil
}

// describe checks that a program needs nothing of its image, and writes what it is made of.
func describe(dir, process, arch, tag string, created time.Time, binary []byte, all []notice) error {
	if err := static(binary); err != nil {
		return fmt.Errorf("%s for %s: %w", process, arch, err)
	}
	info, err := buildinfo.Read(bytes.NewReader(binary))
	if err != nil {
		return fmt.Errorf("read the modules of %s: %w", process, err)
	}
	return writeMaterials(filepath.Join(dir, process+"-"+tag+"-"+arch+".cdx.json"), materials(process, tag, created, info, all))
}

// chartVersion is the tag that the chart asks for.
func chartVersion(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, "deploy", "chart", "Chart.yaml"))
	if err != nil {
		return "", fmt.Errorf("read the chart's version: %w", err)
	}
	var about struct {
		AppVersion string `json:"appVersion"`
	}
	if err := yaml.Unmarshal(text, &about); err != nil || about.AppVersion == "" {
		return "", fmt.Errorf("read the chart's version %q: %w", about.AppVersion, err)
	}
	return about.AppVersion, nil
}

// Source is the commit of the tree and its time; outside of a repository it is the beginning of time, so that digests
// stay the same.
func Source(ctx context.Context, root string) (revision string, created time.Time) {
	cmd := exec.CommandContext(ctx, "git", "log", "-1", "--format=%H %ct")
	cmd.Dir = root
	text, err := cmd.Output()
	if err == nil {
		hash, seconds, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
		if unix, err := strconv.ParseInt(seconds, 10, 64); err == nil {
			return hash, time.Unix(unix, 0)
		}
	}
	return "", time.Unix(0, 0)
}

// simulator is the simulated cloud, which no chart installs: its image is for tests.
const simulator = "openapisim"

// module is the directory of a process's module.
func module(process string) string {
	if process == simulator {
		return filepath.Join("cloudgateway", simulator)
	}
	return process
}

// target is a program for a platform.
type target struct{ dir, pkg, system, arch string }

// build compiles a process.
func build(ctx context.Context, root, process, arch, version string) ([]byte, error) {
	variable := "alicloud-controllers.dev/services/version.version"
	if process == simulator { // which imports nothing of ours
		variable = "main.version"
	}
	to := target{dir: filepath.Join(root, module(process)), pkg: "./cmd/" + process, system: "linux", arch: arch}
	return compile(ctx, to, variable+"="+version)
}

// compile makes a program: static, without symbols and without paths of this machine. It sets one variable.
func compile(ctx context.Context, t target, variable string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "images-")
	if err != nil {
		return nil, fmt.Errorf("build %s: %w", t.pkg, err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "program")
	//nolint:gosec // The arguments are ours.
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-gcflags=all=-dwarf=false",
		"-ldflags", "-s -w -X "+variable, "-o", path, t.pkg)
	cmd.Dir = t.dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0", "GOOS="+t.system, "GOARCH="+t.arch)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build %s for %s/%s: %w\n%s", t.pkg, t.system, t.arch, err, bytes.TrimSpace(out))
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("build %s: %w", t.pkg, err)
	}
	return data, nil
}

// write leaves a complete file or none.
func write(path string, image oci.Image) (digest string, err error) {
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path))
	if err != nil {
		return "", fmt.Errorf("write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(tmp.Name()))
		}
	}()
	digest, err = oci.Write(tmp, image)
	if err = errors.Join(err, tmp.Chmod(0o644), tmp.Close()); err != nil { //nolint:mnd // For all users who may read the tree.
		return "", fmt.Errorf("write %s: %w", path, err)
	}
	return digest, os.Rename(tmp.Name(), path)
}

// Modules are the directories of the modules of all processes.
func Modules() []string {
	var all []string
	for _, process := range Processes() {
		all = append(all, module(process))
	}
	return all
}
