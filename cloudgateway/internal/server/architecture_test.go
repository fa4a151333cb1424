package server

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestFilesOfAResource: docs/architecture.md names the files that know a resource, and no others do. Domain extensions are the example.
func TestFilesOfAResource(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	page, err := os.ReadFile(filepath.Join(root, "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "### A resource of the gateway")
	_, table, _ := strings.Cut(section, "|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	named := map[string]bool{}
	for row := range strings.Lines(table) {
		files, _, _ := strings.Cut(strings.TrimPrefix(row, "| "), " | ")
		for _, file := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(files, -1) {
			resource := "domainextension"
			if strings.HasSuffix(file[1], ".proto") {
				resource = "domain_extension"
			}
			named[strings.NewReplacer("PRODUCT", "slb", "RESOURCE", resource).Replace(file[1])] = false
		}
	}
	mention := regexp.MustCompile(`(?i)domain_?extensions?`)
	for _, dir := range []string{"proto", "services", "cloudgateway", "deploy", "docs/gateway-api.md"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			path, _ = filepath.Rel(root, path)
			path = filepath.ToSlash(path)
			_, isNamed := named[path]
			switch {
			case path == "cloudgateway/openapisim", path == "deploy/ram-policies":
				return fs.SkipDir // A module of its own; generated.
			case entry.IsDir(), strings.HasSuffix(path, ".pb.go"), path == "proto/baseline.binpb",
				(strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/testdata/")) && !isNamed:
				return nil
			}
			text, err := os.ReadFile(filepath.Join(root, path))
			if err != nil || !mention.Match(text) {
				return err
			}
			for file := range named {
				if path == file || strings.HasPrefix(path, file+"/") {
					named[file] = true
					return nil
				}
			}
			t.Errorf("%s knows domain extensions, and docs/architecture.md does not name it", path)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	var unused []string
	for file, used := range named {
		if !used {
			unused = append(unused, file)
		}
	}
	if slices.Sort(unused); len(named) == 0 || len(unused) > 0 {
		t.Errorf("docs/architecture.md names files that do not know domain extensions: %q", unused)
	}
}
