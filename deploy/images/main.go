// Command images builds the container images of our processes without a container engine: one tar with an image layout for each, for the
// usual platforms, and a bill of materials for each program. The same commit gives the same digests.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
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

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "images:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	out, registry, version, platforms string
}

func run(ctx context.Context, args []string, progress io.Writer) error {
	var o options
	flags := flag.NewFlagSet("images", flag.ContinueOnError)
	flags.StringVar(&o.out, "out", "dist/images", "`DIRECTORY` of the tars")
	flags.StringVar(&o.registry, "registry", "docker.io", "registry in the images' names")
	flags.StringVar(&o.version, "version", "dev", "what the processes say of their version")
	flags.StringVar(&o.platforms, "platforms", "linux/amd64,linux/arm64", "`LIST` of platforms, with commas between them")
	if err := flags.Parse(args); err != nil {
		return err
	}
	archs, err := architectures(o.platforms)
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
	revision, created := source(ctx, root)
	if err := os.MkdirAll(o.out, 0o750); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	for _, process := range slices.Concat(chart.Components(), []string{simulator}) {
		image := oci.Image{
			Name: o.registry + "/alicloud-controllers/" + process + ":" + tag, Program: process, Binaries: map[string][]byte{}, Created: created,
			Labels: map[string]string{
				"org.opencontainers.image.title": process, "org.opencontainers.image.licenses": "Apache-2.0",
				"org.opencontainers.image.version": tag, "org.opencontainers.image.revision": revision,
			},
		}
		for _, arch := range archs {
			if image.Binaries[arch], err = build(ctx, root, process, arch, o.version); err != nil {
				return err
			}
			if err := describe(o.out, process, arch, tag, created, image.Binaries[arch]); err != nil {
				return err
			}
		}
		path := filepath.Join(o.out, process+"-"+tag+".tar")
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

// architectures are those of a list of platforms, each written as container tools write it, such as linux/amd64, or without the system.
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
func describe(dir, process, arch, tag string, created time.Time, binary []byte) error {
	if err := static(binary); err != nil {
		return fmt.Errorf("%s for %s: %w", process, arch, err)
	}
	b, err := materials(process, tag, created, binary)
	if err != nil {
		return err
	}
	return writeMaterials(filepath.Join(dir, process+"-"+tag+"-"+arch+".cdx.json"), b)
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

// source is the commit of the tree and its time; outside of a repository it is the beginning of time, so that digests stay the same.
func source(ctx context.Context, root string) (revision string, created time.Time) {
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

// build compiles a process: static, without symbols and without paths of this machine.
func build(ctx context.Context, root, process, arch, version string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "images-")
	if err != nil {
		return nil, fmt.Errorf("build %s: %w", process, err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, process)
	variable := "alicloud-controllers.dev/services/version.version"
	if process == simulator { // which imports nothing of ours
		variable = "main.version"
	}
	ldflags := "-s -w -X " + variable + "=" + version
	//nolint:gosec // The arguments are ours.
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-gcflags=all=-dwarf=false",
		"-ldflags", ldflags, "-o", path, "./cmd/"+process)
	cmd.Dir = filepath.Join(root, module(process))
	cmd.Env = append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build %s for %s: %w\n%s", process, arch, err, bytes.TrimSpace(out))
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("build %s: %w", process, err)
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
