package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// The verdicts of gremlins. A mutant that makes the tests run forever is noticed, too.
const (
	lived      = "LIVED"
	killed     = "KILLED"
	timedOut   = "TIMED OUT"
	notCovered = "NOT COVERED"
	notViable  = "NOT VIABLE"
)

// timeoutCoefficient gives the tests of a mutant this many times the time that they take without one: a shorter limit takes a busy
// machine for a killed mutant.
const timeoutCoefficient = "60"

// mutant is one changed operator.
type mutant struct {
	File   string // from the root of the checkout
	Type   string `json:"type"`
	Status string `json:"status"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Source string // the line of the file, without indentation
}

func (m mutant) String() string {
	return fmt.Sprintf("%s:%d:%d: %s: %s", m.File, m.Line, m.Column, m.Type, m.Source)
}

// tester runs gremlins on copies of modules, since gremlins copies the directory of a module itself, and a relative path to
// another module leads nowhere there.
type tester struct {
	root, dir, program string
	copied             map[string]string // by module
}

func (t tester) test(ctx context.Context, target target) ([]mutant, error) {
	module, err := t.copyOf(ctx, target.module)
	if err != nil {
		return nil, err
	}
	out := filepath.Join(t.dir, "result.json")
	if err := os.Remove(out); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove the result of the package before: %w", err)
	}
	args := []string{"unleash", "--silent", "--timeout-coefficient", timeoutCoefficient, "--output", out}
	others, err := otherFiles(filepath.Join(module, target.pkg), target.files)
	if err != nil {
		return nil, err
	}
	for _, name := range others {
		args = append(args, "--exclude-files", "(^|/)"+regexp.QuoteMeta(name)+"($|/)")
	}
	var env []string
	if target.skip != "" {
		env = append(env, "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -skip="+target.skip))
	}
	if _, err := output(ctx, module, env, t.program, append(args, "./"+target.pkg)...); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(out)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // gremlins found nothing to change
	}
	if err != nil {
		return nil, fmt.Errorf("read the result: %w", err)
	}
	mutants, err := parse(data, target, module)
	if err != nil {
		return nil, err
	}
	for i := range mutants {
		if err := correct(ctx, &mutants[i], module, target, env); err != nil {
			return nil, err
		}
	}
	return mutants, nil
}

// correct mends two verdicts of gremlins: it takes what Go's coverage does not count for not covered, and what does not compile for killed.
func correct(ctx context.Context, m *mutant, module string, target target, env []string) error {
	if m.Status == notCovered && outsideOfBlocks(m.Source) {
		ok, err := passes(ctx, *m, module, target, env, "test", "-timeout", "5m", "-failfast")
		if err != nil {
			return err
		}
		if m.Status = killed; ok {
			m.Status = lived
		}
	}
	if m.Status == killed && mayNotCompile(*m) {
		ok, err := passes(ctx, *m, module, target, nil, "build")
		if err != nil {
			return err
		}
		if !ok {
			m.Status = notViable
		}
	}
	return nil
}

// parse reads the result of gremlins. The names of its files are relative to the module or to the package.
func parse(data []byte, target target, module string) ([]mutant, error) {
	var result struct {
		Files []struct {
			Name      string   `json:"file_name"`
			Mutations []mutant `json:"mutations"`
		} `json:"files"`
	}
	if err := json.Unmarshal(data, &result); err != nil {
		return nil, fmt.Errorf("parse the result: %w", err)
	}
	var mutants []mutant
	for _, f := range result.Files {
		name := target.pkg + strings.TrimPrefix(f.Name, target.pkg)
		if !strings.HasPrefix(f.Name, target.pkg) {
			name = target.pkg + "/" + f.Name
		}
		source, err := os.ReadFile(filepath.Join(module, name))
		if err != nil {
			return nil, fmt.Errorf("read the source of a mutant: %w", err)
		}
		lines := strings.Split(string(source), "\n")
		for _, m := range f.Mutations {
			if m.Line < 1 || m.Line > len(lines) {
				return nil, fmt.Errorf("%s has no line %d", name, m.Line)
			}
			m.File, m.Source = target.module+"/"+name, strings.TrimSpace(lines[m.Line-1])
			mutants = append(mutants, m)
		}
	}
	return mutants, nil
}

// otherFiles lists what of a package's directory isn't to be changed: the packages below it, and files that aren't among files, unless
// that is empty.
func otherFiles(dir string, files []string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list the package: %w", err)
	}
	var others []string
	for _, e := range entries {
		name := e.Name()
		source := strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go")
		if e.IsDir() || source && len(files) > 0 && !slices.Contains(files, name) {
			others = append(others, name)
		}
	}
	return others, nil
}

func (t tester) copyOf(ctx context.Context, module string) (string, error) {
	if dir, ok := t.copied[module]; ok {
		return dir, nil
	}
	root, err := filepath.Abs(t.root)
	if err != nil {
		return "", fmt.Errorf("find the checkout: %w", err)
	}
	from, to := filepath.Join(root, module), filepath.Join(t.dir, module)
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return "", fmt.Errorf("copy the module: %w", err)
	}
	list, err := output(ctx, from, nil, "go", "mod", "edit", "-json")
	if err != nil {
		return "", err
	}
	var file struct {
		Replace []struct{ Old, New struct{ Path string } }
	}
	if err := json.Unmarshal(list, &file); err != nil {
		return "", fmt.Errorf("parse go.mod: %w", err)
	}
	for _, r := range file.Replace {
		if _, err := output(ctx, to, nil, "go", "mod", "edit", "-replace", r.Old.Path+"="+filepath.Join(from, r.New.Path)); err != nil {
			return "", err
		}
	}
	t.copied[module] = to
	return to, nil
}

func output(ctx context.Context, dir string, env []string, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...) //nolint:gosec // The arguments are ours.
	cmd.Dir, cmd.Env = dir, append(append(os.Environ(), "GOWORK=off"), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s%s", filepath.Base(name), args[0], err, out, stderr.String())
	}
	return out, nil
}
