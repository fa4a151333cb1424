package build

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"alicloud-controllers.dev/deploy/tools/local/binaries"
)

// pluginName is that of the plugin of kubectl, without the ending that Windows wants.
const pluginName = "kubectl-alicloud"

// PluginPlatforms are those for which there is one.
func PluginPlatforms() []string {
	return []string{"linux/amd64", "linux/arm64", "darwin/arm64", "windows/amd64"}
}

// Plugin builds the plugin of kubectl for some platforms: an archive for each, with the licences. The same commit gives
// the same bytes.
func Plugin(ctx context.Context, out, version string, platforms []string, progress io.Writer) error {
	root, err := binaries.Root()
	if err != nil {
		return err
	}
	tag, err := chartVersion(root)
	if err != nil {
		return err
	}
	_, created := Source(ctx, root)
	if err := os.MkdirAll(out, 0o750); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	for _, platform := range platforms {
		system, arch, _ := strings.Cut(platform, "/")
		target := target{dir: filepath.Join(root, "deploy"), pkg: "./plugin/cmd/" + pluginName, system: system, arch: arch}
		program, err := compile(ctx, target, "alicloud-controllers.dev/services/version.version="+version)
		if err != nil {
			return err
		}
		all, err := of(ctx, root, target.dir, target.pkg, system, arch)
		if err != nil {
			return err
		}
		archive, err := packPlugin(map[string][]byte{PluginProgram(system): program, "LICENSE": passedOn(all)}, created)
		if err != nil {
			return err
		}
		path := filepath.Join(out, PluginArchive(tag, platform))
		if err := os.WriteFile(path, archive, 0o644); err != nil { //nolint:gosec // For all users who may read the tree.
			return fmt.Errorf("write %s: %w", path, err)
		}
		if _, err := fmt.Fprintln(progress, path); err != nil {
			return err
		}
	}
	return nil
}

// PluginProgram is the file in the archive.
func PluginProgram(system string) string {
	if system == "windows" {
		return pluginName + ".exe"
	}
	return pluginName
}

// PluginArchive is the name of the archive for a platform.
func PluginArchive(version, platform string) string {
	return pluginName + "-" + version + "-" + strings.ReplaceAll(platform, "/", "-") + ".tar.gz"
}

// packPlugin makes an archive.
func packPlugin(files map[string][]byte, created time.Time) ([]byte, error) {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	archive := tar.NewWriter(zip)
	for _, name := range []string{"LICENSE", pluginName, pluginName + ".exe"} {
		data, ok := files[name]
		if !ok {
			continue
		}
		header := &tar.Header{Name: name, Mode: 0o755, Size: int64(len(data)), ModTime: created.UTC(), Format: tar.FormatPAX}
		if err := archive.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("pack %s: %w", name, err)
		}
		if _, err := archive.Write(data); err != nil {
			return nil, fmt.Errorf("pack %s: %w", name, err)
		}
	}
	if err := errors.Join(archive.Close(), zip.Close()); err != nil {
		return nil, fmt.Errorf("pack the plugin: %w", err)
	}
	return out.Bytes(), nil
}
