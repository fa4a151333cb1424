package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// decidingPackages are the directories of the packages that the linter's rule "pure" is about: they decide, and do nothing.
func decidingPackages(t *testing.T) (dirs []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(top, ".golangci.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var rules struct {
		Linters struct {
			Settings struct {
				Depguard struct {
					Rules map[string]struct{ Files []string }
				}
			}
		}
	}
	if err := yaml.Unmarshal(text, &rules); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, pattern := range rules.Linters.Settings.Depguard.Rules["pure"].Files {
		names = append(names, "/"+strings.TrimSuffix(strings.TrimPrefix(pattern, "**/"), "/*.go"))
	}
	err = filepath.WalkDir(top, func(dir string, entry fs.DirEntry, err error) error {
		isNamed := func(name string) bool { return strings.HasSuffix(filepath.ToSlash(dir), name) }
		if err != nil || !entry.IsDir() || !slices.ContainsFunc(names, isNamed) {
			return err
		}
		if files, _ := filepath.Glob(filepath.Join(dir, "*.go")); len(files) > 0 {
			dirs = append(dirs, dir)
		}
		return nil
	})
	if err != nil || len(dirs) < len(names) {
		t.Fatalf("%q are the packages of %q, %v", dirs, names, err)
	}
	return dirs
}

// exported are the names of a package, with those of methods as T.Method.
func exported(t *testing.T, dir string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	files, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range parsed.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				name := d.Name.Name
				if d.Recv != nil {
					of := d.Recv.List[0].Type
					if pointer, ok := of.(*ast.StarExpr); ok {
						of = pointer.X
					}
					if ident, ok := of.(*ast.Ident); ok {
						name = ident.Name + "." + name
					}
				}
				names[name] = true
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if s, ok := spec.(*ast.TypeSpec); ok {
						names[s.Name.Name] = true
					}
				}
			}
		}
	}
	return names
}

// TestPackagesThatDecide: each has a doc.go that names its values, and every name that a doc.go has in brackets is one of its package.
func TestPackagesThatDecide(t *testing.T) {
	t.Parallel()
	for _, dir := range decidingPackages(t) {
		if text, err := os.ReadFile(filepath.Join(dir, "doc.go")); err != nil || !regexp.MustCompile(`\[[A-Z]\w+\]`).Match(text) {
			t.Errorf("%s: doc.go has to name the values of the package in brackets, and who makes them: %v", dir, err)
		}
	}
	seen := 0
	err := filepath.WalkDir(top, func(file string, _ fs.DirEntry, err error) error {
		if err != nil || path.Base(filepath.ToSlash(file)) != "doc.go" {
			return err
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			return err
		}
		names := exported(t, filepath.Dir(file))
		for line := range strings.Lines(parsed.Doc.Text()) {
			if strings.HasPrefix(line, "\t") {
				continue // code, or a drawing
			}
			for _, word := range regexp.MustCompile(`\[([A-Z]\w*(?:\.[A-Z]\w*)?)\]`).FindAllStringSubmatch(line, -1) {
				if seen++; !names[word[1]] {
					t.Errorf("%s: the package has no %s", file, word[1])
				}
			}
		}
		return nil
	})
	if err != nil || seen == 0 {
		t.Errorf("%d names are in brackets, %v", seen, err)
	}
}

// TestWalksThroughTheCode: the files, directories and functions that the pages for contributors name by a part of their path are there.
func TestWalksThroughTheCode(t *testing.T) {
	t.Parallel()
	var tree []string
	err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "dist") {
			return fs.SkipDir
		}
		tree = append(tree, filepath.ToSlash(path))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	ending := func(part string) (found []string) {
		for _, path := range tree {
			if strings.HasSuffix(path, "/"+part) {
				found = append(found, path)
			}
		}
		return found
	}
	named, functions := 0, 0
	for page, text := range pages(t) {
		if page != "CONTRIBUTING.md" && page != "docs/architecture.md" {
			continue
		}
		text = fences.ReplaceAllString(text, "")
		for _, part := range regexp.MustCompile("`([a-z][a-z0-9_-]*(?:/[a-z0-9_.-]+)+)`").FindAllStringSubmatch(text, -1) {
			if named++; !strings.HasPrefix(part[1], "dist/") && len(ending(part[1])) == 0 {
				t.Errorf("%s: there is no %s", page, part[1])
			}
		}
		for _, step := range regexp.MustCompile("`([a-z/_]+/[a-z_]+[.]go)`, `(\\w+)`(?: and `(\\w+)`)?").FindAllStringSubmatch(text, -1) {
			var source string
			for _, file := range ending(step[1]) {
				content, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				source += string(content)
			}
			for _, function := range slices.DeleteFunc(step[2:], func(name string) bool { return name == "" }) {
				functions++
				if !regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + function + `\(`).MatchString(source) {
					t.Errorf("%s: %s has no function %s", page, step[1], function)
				}
			}
		}
	}
	if named < 50 || functions < 10 {
		t.Errorf("%d files and %d functions are named", named, functions)
	}
}
