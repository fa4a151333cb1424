package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// mutant is one changed operator.
type mutant struct {
	id           int    // what the instrumented package knows it by
	File         string // from the root of the checkout
	Type         string
	Line, Column int
	Source       string // the line of the file, without indentation
	Status       status
}

func (m mutant) String() string {
	return fmt.Sprintf("%s:%d:%d: %s: %s", m.File, m.Line, m.Column, m.Type, m.Source)
}

// mutation is what an operator is changed into.
type mutation struct {
	kind string
	into token.Token
}

// mutations of an operator. They are those that gremlins makes, with its names for them, and the one of its options that fits decisions:
// "and" in place of "or", and the other way round.
func mutations(op token.Token) []mutation {
	const (
		negation   = "CONDITIONALS_NEGATION"
		boundary   = "CONDITIONALS_BOUNDARY"
		arithmetic = "ARITHMETIC_BASE"
		logical    = "INVERT_LOGICAL"
	)
	switch op { //nolint:exhaustive // All other tokens stay.
	case token.EQL:
		return []mutation{{negation, token.NEQ}}
	case token.NEQ:
		return []mutation{{negation, token.EQL}}
	case token.LSS:
		return []mutation{{negation, token.GEQ}, {boundary, token.LEQ}}
	case token.LEQ:
		return []mutation{{negation, token.GTR}, {boundary, token.LSS}}
	case token.GTR:
		return []mutation{{negation, token.LEQ}, {boundary, token.GEQ}}
	case token.GEQ:
		return []mutation{{negation, token.LSS}, {boundary, token.GTR}}
	case token.ADD:
		return []mutation{{arithmetic, token.SUB}}
	case token.SUB:
		return []mutation{{arithmetic, token.ADD}}
	case token.MUL, token.REM:
		return []mutation{{arithmetic, token.QUO}}
	case token.QUO:
		return []mutation{{arithmetic, token.MUL}}
	case token.LAND:
		return []mutation{{logical, token.LOR}}
	case token.LOR:
		return []mutation{{logical, token.LAND}}
	}
	return nil
}

// instrumenter writes the source of a package with all of its mutants in it. Each operator becomes a function that asks which mutant
// is on, so that the package is compiled once:
//
//	a < b   func() bool { if mutantIsOn(1) { return a >= b }; if mutantIsOn(2) { return a <= b }; return a < b }()
//
// Constants stay: the compiler needs their values.
type instrumenter struct {
	pkg     *source
	module  string
	mutants []mutant
	err     error

	file *ast.File // in work
	text []byte    // its source
}

// instrument gives the changed files by name, and the mutants in them.
func instrument(pkg *source, t target) (map[string]string, []mutant, error) {
	in := &instrumenter{pkg: pkg, module: t.module}
	changed := map[string]string{}
	for name, f := range pkg.files {
		if len(t.files) > 0 && !slices.Contains(t.files, filepath.Base(name)) {
			continue
		}
		in.file, in.text = f.tree, f.text
		changed[name] = in.between(f.tree, f.tree.FileStart, f.tree.FileEnd)
	}
	changed[filepath.Join(pkg.dir, "mutants_of_this_run.go")] = fmt.Sprintf(switchboard, pkg.types.Name(), len(in.mutants)+1)
	slices.SortFunc(in.mutants, func(a, b mutant) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Type, b.Type))
	})
	return changed, in.mutants, in.err
}

// The variables that the switchboard reads: the mutant that is on, and the file that lists the operators that a run came across.
const (
	envMutant  = "MUTANT"
	envReached = "MUTANTS_REACHED"
)

// switchboard is added to the package.
const switchboard = `package %s

import (
	"os"
	"strconv"
	"sync/atomic"
)

var (
	mutantOn, _    = strconv.Atoi(os.Getenv("` + envMutant + `"))
	mutantsLog     = os.Getenv("` + envReached + `")
	mutantsReached [%d]atomic.Bool
)

func mutantIsOn(id int) bool {
	if mutantsLog != "" && !mutantsReached[id].Swap(true) {
		f, err := os.OpenFile(mutantsLog, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			panic(err)
		}
		defer f.Close()
		if _, err := f.WriteString(strconv.Itoa(id) + "\n"); err != nil {
			panic(err)
		}
	}
	return id == mutantOn
}
`

func (in *instrumenter) node(n ast.Node) string { return in.between(n, n.Pos(), n.End()) }

// between gives the source from one position to another, with the mutants of a node in it.
func (in *instrumenter) between(n ast.Node, from, to token.Pos) string {
	var out strings.Builder
	ast.Inspect(n, func(child ast.Node) bool {
		if child == nil {
			return false
		}
		if keepsConstant(child) {
			return false
		}
		text := in.switched(child)
		if text == "" {
			return true
		}
		out.Write(in.plain(from, child.Pos()))
		out.WriteString(text)
		from = child.End()
		return false
	})
	out.Write(in.plain(from, to))
	return out.String()
}

func (in *instrumenter) plain(from, to token.Pos) []byte {
	return in.text[from-in.file.FileStart : to-in.file.FileStart]
}

// keepsConstant reports whether there are expressions in a node that must stay constant.
func keepsConstant(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GenDecl:
		return n.Tok == token.CONST
	case *ast.ArrayType:
		return true
	}
	return false
}

// switched gives the source of an operator whose mutants can be switched on, or nothing if it has none.
func (in *instrumenter) switched(n ast.Node) string {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		all := mutations(n.Op)
		if len(all) == 0 || isArithmetic(n.Op) && !isNumber(in.pkg.info.TypeOf(n)) { // texts are joined by + and have no difference
			return ""
		}
		left, right := in.node(n.X), in.node(n.Y)
		return in.expression(n, n.OpPos, n.Op, all, func(op token.Token) string { return left + " " + op.String() + " " + right })
	case *ast.UnaryExpr:
		if n.Op != token.SUB {
			return ""
		}
		operand := in.node(n.X)
		return in.expression(n, n.OpPos, n.Op, []mutation{{"INVERT_NEGATIVES", token.ADD}}, func(op token.Token) string { return op.String() + operand })
	case *ast.IncDecStmt:
		other := token.INC
		if n.Tok == token.INC {
			other = token.DEC
		}
		id, operand := in.add(n.TokPos, "INCREMENT_DECREMENT"), in.node(n.X)
		return fmt.Sprintf("func() { if mutantIsOn(%d) { %s%s } else { %s%s } }()", id, operand, other, operand, n.Tok)
	}
	return ""
}

// expression gives the function that stands for an expression, which with writes with another operator.
func (in *instrumenter) expression(n ast.Expr, at token.Pos, op token.Token, all []mutation, with func(token.Token) string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "func() %s { ", in.typeName(in.pkg.info.TypeOf(n), at))
	for _, m := range all {
		fmt.Fprintf(&out, "if mutantIsOn(%d) { return %s }; ", in.add(at, m.kind), with(m.into))
	}
	fmt.Fprintf(&out, "return %s }()", with(op))
	return out.String()
}

func (in *instrumenter) add(at token.Pos, kind string) int {
	p := in.pkg.fset.Position(at)
	lines := strings.Split(string(in.text), "\n")
	m := mutant{
		id: len(in.mutants) + 1, File: path.Join(in.module, filepath.ToSlash(in.pkg.relative(p.Filename))),
		Type: kind, Line: p.Line, Column: p.Column, Source: strings.TrimSpace(lines[p.Line-1]),
	}
	in.mutants = append(in.mutants, m)
	return m.id
}

func isArithmetic(op token.Token) bool {
	return slices.Contains([]token.Token{token.ADD, token.SUB, token.MUL, token.QUO, token.REM}, op)
}

func isNumber(t types.Type) bool {
	basic, ok := t.Underlying().(*types.Basic)
	return ok && basic.Info()&types.IsNumeric != 0
}

// typeName is how the file in work calls a type.
func (in *instrumenter) typeName(t types.Type, at token.Pos) string {
	return types.TypeString(types.Default(t), func(p *types.Package) string {
		if p == in.pkg.types {
			return ""
		}
		for _, s := range in.file.Imports {
			if imported, err := strconv.Unquote(s.Path.Value); err != nil || imported != p.Path() {
				continue
			}
			if s.Name != nil {
				return s.Name.Name
			}
			return p.Name()
		}
		in.err = fmt.Errorf("%s: the file does not import %s, of which %s is", in.pkg.fset.Position(at), p.Path(), t)
		return p.Name()
	})
}
