package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// source is a package without its tests, with the types of all expressions.
type source struct {
	dir, module string // directories
	fset        *token.FileSet
	files       map[string]file // by name
	types       *types.Package
	info        *types.Info
}

type file struct {
	tree *ast.File
	text []byte
}

func (s *source) relative(name string) string {
	rel, err := filepath.Rel(s.module, name)
	if err != nil {
		return name
	}
	return rel
}

// load reads a package. The types of the packages that it imports come from the compiler.
func load(ctx context.Context, module, pkg, temp string) (*source, error) {
	list, err := output(ctx, module, temp, "go", "list", "-deps", "-export", "-json=ImportPath,Dir,Export,GoFiles", "./"+pkg)
	if err != nil {
		return nil, err
	}
	var listed struct {
		ImportPath, Dir, Export string
		GoFiles                 []string
	}
	exports := map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(list)); ; { // the package itself comes last
		next := listed
		next.Export, next.GoFiles = "", nil
		if err := d.Decode(&next); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("parse the list of packages: %w", err)
		}
		listed = next
		exports[listed.ImportPath] = listed.Export
	}
	s := &source{dir: listed.Dir, module: module, fset: token.NewFileSet(), files: map[string]file{}}
	var trees []*ast.File
	for _, name := range listed.GoFiles {
		name = filepath.Join(s.dir, name)
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("read a source: %w", err)
		}
		tree, err := parser.ParseFile(s.fset, name, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("parse: %w", err)
		}
		s.files[name] = file{tree, text}
		trees = append(trees, tree)
	}
	exported := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	s.info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	s.types, err = (&types.Config{Importer: importer.ForCompiler(s.fset, "gc", exported)}).Check(listed.ImportPath, s.fset, trees, s.info)
	if err != nil {
		return nil, fmt.Errorf("types: %w", err)
	}
	return s, nil
}

// output runs a command in one directory and gives it another one for what it writes. When ctx ends, nothing of it goes on.
func output(ctx context.Context, dir, temp, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...) //nolint:gosec // The arguments are ours.
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TMPDIR="+temp, "GOTMPDIR="+temp)
	// A go command that is killed leaves its compilers running.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s%s", name, args[0], err, out, stderr.String())
	}
	return out, nil
}
