// Command release collects what is published: image tars, what they are made of, the chart's package, notes and checksums. The same commit
// gives the same bytes.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
)

func main() {
	var o options
	flag.StringVar(&o.chart, "chart", "chart", "`DIRECTORY` of the chart")
	flag.StringVar(&o.changelog, "changelog", "../CHANGELOG.md", "`FILE` with the changes")
	flag.StringVar(&o.images, "images", "../dist/images", "`DIRECTORY` with what make images wrote")
	flag.StringVar(&o.out, "out", "../dist/release", "`DIRECTORY` to write")
	flag.StringVar(&o.version, "version", "",
		"`VERSION` of the processes; a tag, such as v1.2.3, has to be that of the chart and of the changes")
	flag.StringVar(&o.source, "source", "",
		"`URL` below which the files of each tag are published, such as https://git.example.com/team/repo/blob; if empty, "+
			"the notes name files without a link")
	flag.Parse()
	if err := o.run(); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct{ chart, changelog, images, out, version, source string }

func (o options) run() error {
	c, err := loader.Load(o.chart)
	if err != nil {
		return fmt.Errorf("read the chart: %w", err)
	}
	version := c.Metadata.Version
	if c.Metadata.AppVersion != version {
		return fmt.Errorf("the chart has the version %s and the images %s: they are released together", version, c.Metadata.AppVersion)
	}
	tagged := regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+$`).MatchString(o.version)
	if tagged && o.version != "v"+version {
		return fmt.Errorf(
			"the tag is %s and the version of the chart %s: set version and appVersion in Chart.yaml, and tag that commit", o.version, version)
	}
	files := map[string][]byte{}
	if files[fmt.Sprintf("%s-%s.tgz", c.Metadata.Name, version)], err = pack(c); err != nil {
		return err
	}
	changes, err := os.ReadFile(o.changelog)
	if err != nil {
		return fmt.Errorf("read the changes: %w", err)
	}
	text, err := notes(string(changes), version, tagged)
	if err != nil {
		return err
	}
	files["NOTES.md"] = []byte(absolute(text, version, o.source))
	if err := collect(o.images, version, files); err != nil {
		return err
	}
	return publish(o.out, files)
}

// pack makes the chart's package. Helm's own has the time of day in it.
func pack(c *chart.Chart) ([]byte, error) {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	archive := tar.NewWriter(zip)
	raw := slices.Clone(c.Raw)
	slices.SortFunc(raw, func(a, b *chart.File) int { return strings.Compare(a.Name, b.Name) })
	for _, file := range raw {
		header := &tar.Header{
			Name: c.Metadata.Name + "/" + file.Name, Mode: 0o644, Size: int64(len(file.Data)), ModTime: time.Unix(0, 0), Format: tar.FormatPAX,
		}
		if err := archive.WriteHeader(header); err != nil {
			return nil, fmt.Errorf("pack %s: %w", file.Name, err)
		}
		if _, err := archive.Write(file.Data); err != nil {
			return nil, fmt.Errorf("pack %s: %w", file.Name, err)
		}
	}
	if err := errors.Join(archive.Close(), zip.Close()); err != nil {
		return nil, fmt.Errorf("pack the chart: %w", err)
	}
	return out.Bytes(), nil
}

// notes are the part of the changes about a version, or, before its tag, about what is not released.
func notes(changes, version string, tagged bool) (string, error) {
	if _, rest, ok := strings.Cut("\n"+changes, "\n## Unreleased\n"); ok && tagged {
		if rest, _, _ = strings.Cut("\n"+rest, "\n## "); strings.TrimSpace(rest) != "" {
			return "", fmt.Errorf("the changes have lines under Unreleased, which the tag has, too: move them to the part about %s", version)
		}
	}
	headings := []string{"## " + version, "## [" + version + "]"}
	if !tagged {
		headings = append(headings, "## Unreleased")
	}
	for _, heading := range headings {
		_, rest, ok := strings.Cut("\n"+changes, "\n"+heading)
		if !ok {
			continue
		}
		_, rest, _ = strings.Cut(rest, "\n") // The date.
		rest, _, _ = strings.Cut(rest, "\n## ")
		return "# " + version + "\n\n" + strings.TrimSpace(rest) + "\n", nil
	}
	return "", fmt.Errorf("the changes have no part about %s", version)
}

// absolute gives the links of the changes, which lead to files beside them, the address of those files at the tag.
// Where that is not known, each file is named instead: on the page of a release a relative link leads nowhere.
func absolute(notes, version, source string) string {
	tag, named := "v"+version, false
	links := regexp.MustCompile(`\[([^\]]+)\]\(([^)\s]+)\)`)
	notes = links.ReplaceAllStringFunc(notes, func(link string) string {
		text, target, _ := strings.Cut(links.ReplaceAllString(link, "$1\n$2"), "\n")
		path, _, _ := strings.Cut(target, "#")
		switch {
		case strings.Contains(target, "://"):
			return link
		case source != "":
			return "[" + text + "](" + strings.TrimSuffix(source, "/") + "/" + tag + "/" + target + ")"
		case text == path:
			named = true
			return "`" + path + "`"
		}
		named = true
		return text + " (`" + path + "`)"
	})
	if named {
		notes += "\nThe files that are named here are those of the source at the tag " + tag + ".\n"
	}
	return notes
}

// collect reads the images of the version.
func collect(dir, version string, files map[string][]byte) error {
	for _, pattern := range []string{"*-" + version + ".tar", "*-" + version + "-*.cdx.json"} {
		paths, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(paths) == 0 {
			return fmt.Errorf("find images: nothing is named %s in %s", pattern, dir)
		}
		for _, path := range paths {
			data, err := os.ReadFile(path)
			if err != nil {
				return fmt.Errorf("read an image: %w", err)
			}
			files[filepath.Base(path)] = data
		}
	}
	return nil
}

// publish writes the files into an empty directory, with their checksums in the form of sha256sum.
func publish(dir string, files map[string][]byte) error {
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755)); err != nil { //nolint:gosec // All users may read it.
		return fmt.Errorf("make %s: %w", dir, err)
	}
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	var sums strings.Builder
	for _, name := range names {
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(files[name]), name)
	}
	files["SHA256SUMS"] = []byte(sums.String())
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil { //nolint:gosec // See above.
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	_, err := io.WriteString(os.Stdout, sums.String())
	return err
}
