package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// outsideOfBlocks reports whether a line is one that Go's coverage counts in no block, reached or not: the conditions of a switch, and
// constants. Gremlins takes mutants there for not covered and leaves them out.
func outsideOfBlocks(source string) bool {
	return strings.HasPrefix(source, "case ") || strings.Contains(source, " = ") && !strings.Contains(source, ":=") && !strings.HasPrefix(source, "if ")
}

// operators are what the mutations of gremlins make of an operator, by the type of the mutation; longer ones first.
func operators() map[string][][2]string {
	return map[string][][2]string{
		"CONDITIONALS_NEGATION": {{"==", "!="}, {"!=", "=="}, {"<=", ">"}, {">=", "<"}, {"<", ">="}, {">", "<="}},
		"CONDITIONALS_BOUNDARY": {{"<=", "<"}, {">=", ">"}, {"<", "<="}, {">", ">="}},
		"ARITHMETIC_BASE":       {{"+", "-"}, {"-", "+"}, {"*", "/"}, {"/", "*"}, {"%", "*"}},
		"INVERT_NEGATIVES":      {{"-", "+"}},
		"INCREMENT_DECREMENT":   {{"++", "--"}, {"--", "++"}},
	}
}

// mutate gives a file with one operator changed.
func mutate(source []byte, m mutant) ([]byte, error) {
	lines := bytes.SplitAfter(source, []byte("\n"))
	if m.Line < 1 || m.Line > len(lines) || m.Column < 1 || m.Column > len(lines[m.Line-1]) {
		return nil, fmt.Errorf("%s: no such place", m)
	}
	before, after := lines[m.Line-1][:m.Column-1], lines[m.Line-1][m.Column-1:]
	for _, change := range operators()[m.Type] {
		if rest, ok := bytes.CutPrefix(after, []byte(change[0])); ok {
			lines[m.Line-1] = bytes.Join([][]byte{before, []byte(change[1]), rest}, nil)
			return bytes.Join(lines, nil), nil
		}
	}
	return nil, fmt.Errorf("%s: no operator of that kind", m)
}

// mayNotCompile reports whether the type of a mutant is one that makes mistakes that the compiler finds, e.g. "-" between texts.
func mayNotCompile(m mutant) bool { return m.Type == "ARITHMETIC_BASE" || m.Type == "INVERT_NEGATIVES" }

// passes makes the change of a mutant, runs go, and puts the operator back. It reports whether go was content.
func passes(ctx context.Context, m mutant, module string, target target, env []string, args ...string) (ok bool, err error) {
	name := filepath.Join(module, strings.TrimPrefix(m.File, target.module+"/"))
	source, err := os.ReadFile(name)
	if err != nil {
		return false, fmt.Errorf("read the source of a mutant: %w", err)
	}
	changed, err := mutate(source, m)
	if err != nil {
		return false, err
	}
	if err := os.WriteFile(name, changed, 0o600); err != nil { //nolint:gosec // A file of the copy.
		return false, fmt.Errorf("write a mutant: %w", err)
	}
	//nolint:gosec // The same file.
	defer func() { err = errors.Join(err, os.WriteFile(name, source, 0o600)) }()
	const failed = 1 // of go, for tests and for what does not compile alike
	_, err = output(ctx, module, env, "go", append(args, "./"+target.pkg)...)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == failed {
		return false, nil
	}
	return err == nil, err
}
