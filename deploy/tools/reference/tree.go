package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// modules is the prefix of our import paths; what follows is the directory.
const modules = "alicloud-controllers.dev/"

// tree is the source tree.
type tree struct{ root string }

// source is the syntax of one package.
type source struct {
	files []*ast.File
	// values are the constants, and the variables of functions that are set once, by name.
	values map[string]ast.Expr
}

// load parses the package in a directory of the tree, without its tests.
func (t *tree) load(dir string) (*source, error) {
	entries, err := os.ReadDir(filepath.Join(t.root, dir))
	if err != nil {
		return nil, err
	}
	s := &source{values: map[string]ast.Expr{}}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(t.root, dir, e.Name()), nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		s.files = append(s.files, file)
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				for i, name := range n.Names[:min(len(n.Names), len(n.Values))] {
					s.values[name.Name] = n.Values[i]
				}
			case *ast.AssignStmt:
				if name, ok := n.Lhs[0].(*ast.Ident); ok && n.Tok == token.DEFINE && len(n.Lhs) == 1 {
					s.values[name.Name] = n.Rhs[0]
				}
			}
			return true
		})
	}
	return s, nil
}

// packages gives the directories below dir that hold Go files, in order.
func (t *tree) packages(dir string) ([]string, error) {
	var dirs []string
	err := fs.WalkDir(os.DirFS(t.root), dir, func(file string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(file, ".go") && !slices.Contains(dirs, path.Dir(file)) {
			dirs = append(dirs, path.Dir(file))
		}
		return err
	})
	return dirs, err
}

// structType is a struct with its comment and the file it is in.
type structType struct {
	*ast.StructType
	file *ast.File
	doc  string
}

// structOf finds a struct by its name.
func (s *source) structOf(name string) (structType, bool) {
	for _, file := range s.files {
		for _, d := range file.Decls {
			if g, ok := d.(*ast.GenDecl); ok {
				for _, spec := range g.Specs {
					if t, ok := spec.(*ast.TypeSpec); ok && t.Name.Name == name {
						st, ok := t.Type.(*ast.StructType)
						return structType{StructType: st, file: file, doc: g.Doc.Text()}, ok
					}
				}
			}
		}
	}
	return structType{}, false
}

// imported gives the directory of one of our packages by the name under which file imports it.
func imported(file *ast.File, name string) (dir string, ok bool) {
	for _, i := range file.Imports {
		p, err := strconv.Unquote(i.Path.Value)
		local := path.Base(p)
		if i.Name != nil {
			local = i.Name.Name
		}
		if dir, ours := strings.CutPrefix(p, modules); err == nil && ours && local == name {
			return dir, true
		}
	}
	return "", false
}

var errNotConstant = errors.New("not a constant that this command understands")

// text evaluates a constant expression, as a configuration file would spell it.
func (s *source) text(e ast.Expr) (string, error) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			return strconv.Unquote(e.Value)
		}
		return e.Value, nil
	case *ast.Ident:
		if value, ok := s.values[e.Name]; ok {
			return s.text(value)
		}
		return e.Name, nil // true or false.
	case *ast.CallExpr: // A conversion.
		if len(e.Args) == 1 {
			return s.text(e.Args[0])
		}
	case *ast.SelectorExpr:
		if unit, ok := units()[e.Sel.Name]; ok {
			return unit.String(), nil
		}
	case *ast.BinaryExpr:
		return s.binary(e)
	}
	return "", fmt.Errorf("%T: %w", e, errNotConstant)
}

// binary joins texts, and multiplies a number with a unit of time.
func (s *source) binary(e *ast.BinaryExpr) (string, error) {
	x, err := s.text(e.X)
	if err != nil {
		return "", err
	}
	y, err := s.text(e.Y)
	if err != nil {
		return "", err
	}
	if e.Op == token.ADD {
		return x + y, nil
	}
	n, err := strconv.Atoi(x)
	if err != nil {
		return "", err
	}
	unit, err := time.ParseDuration(y)
	text := (time.Duration(n) * unit).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text, err
}

func units() map[string]time.Duration {
	return map[string]time.Duration{
		"Millisecond": time.Millisecond, "Second": time.Second, "Minute": time.Minute, "Hour": time.Hour,
	}
}
