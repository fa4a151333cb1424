package main

import (
	"fmt"
	"os"
	"slices"

	"go.yaml.in/yaml/v3"
)

// score is how well the tests of a package notice changes.
type score struct {
	path                       string
	mutants, reached, survived int
}

func rate(t target, mutants []mutant) score {
	s := score{path: t.path()}
	for _, m := range mutants {
		switch m.Status {
		case notCovered:
			s.mutants++
		case killed, timedOut:
			s.mutants++
			s.reached++
		case lived:
			s.mutants++
			s.reached++
			s.survived++
		}
	}
	return s
}

func (s score) covered() float64 { return percent(s.reached, s.mutants) }
func (s score) killed() float64  { return percent(s.reached-s.survived, s.reached) }

// percent is 100 of nothing: a package without a mutant has none that survived.
func percent(part, whole int) float64 {
	if whole == 0 {
		return 100
	}
	return 100 * float64(part) / float64(whole)
}

func (s score) check() error {
	if s.covered() < wantCovered || s.killed() < wantKilled {
		return fmt.Errorf("%s: %.1f %% covered and %.1f %% of those killed, want %d %% and %d %%", s.path, s.covered(), s.killed(), wantCovered, wantKilled)
	}
	return nil
}

// reason says why a mutant may survive. It names the source and not the line, which moves.
type reason struct {
	File   string `yaml:"file"`
	Type   string `yaml:"type"`
	Source string `yaml:"source"`
	Reason string `yaml:"reason"`
}

type reasons []reason

func readReasons(name string) (reasons, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read the reasons: %w", err)
	}
	var list reasons
	if err := yaml.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for i, r := range list {
		if r.File == "" || r.Type == "" || r.Source == "" || r.Reason == "" {
			return nil, fmt.Errorf("%s: entry %d: file, type, source and reason are required", name, i+1)
		}
	}
	return list, nil
}

// match finds the survivors without a reason, and the reasons without a survivor. Each reason is for one of them.
func (rs reasons) match(survivors []mutant) (unexplained []mutant, stale []string) {
	rest := slices.Clone(rs)
	for _, m := range survivors {
		i := slices.IndexFunc(rest, func(r reason) bool { return r.File == m.File && r.Type == m.Type && r.Source == m.Source })
		if i < 0 {
			unexplained = append(unexplained, m)
			continue
		}
		rest = slices.Delete(rest, i, i+1)
	}
	for _, r := range rest {
		stale = append(stale, r.File+": "+r.Source)
	}
	return unexplained, stale
}
