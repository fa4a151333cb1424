// Command mutation changes the packages that decide, one operator at a time, and shows which changes their own tests miss. It
// runs gremlins on a copy of each module, prints a table and every mutant that survived, and fails when a package falls below
// the goals, when a survivor has no reason in survivors.yaml, or when a reason there has no survivor any more.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"text/tabwriter"
)

// The goals, in percent: of all mutants in lines that tests reach, and of those the ones that a test notices.
const (
	wantCovered = 95
	wantKilled  = 95
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("mutation", flag.ContinueOnError)
	root := flags.String("root", "..", "directory of the checkout")
	gremlins := flags.String("gremlins", "gremlins", "the mutation tester")
	only := flags.String("only", "", "test only packages whose path contains this text")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("flags: %w", err)
	}
	reasons, err := readReasons(filepath.Join(*root, "deploy/mutation/survivors.yaml"))
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mutation-")
	if err != nil {
		return fmt.Errorf("make a directory for the copies: %w", err)
	}
	defer os.RemoveAll(dir)
	tester := tester{root: *root, dir: dir, program: *gremlins, copied: map[string]string{}}

	var scores []score
	var survivors []mutant
	var problems []error
	list, err := targets(*root)
	if err != nil {
		return err
	}
	for _, t := range list {
		if !strings.Contains(t.path(), *only) {
			continue
		}
		mutants, err := tester.test(ctx, t)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", t.path(), err))
			continue
		}
		s := rate(t, mutants)
		fmt.Fprintf(os.Stderr, "%s: %d mutants, %d covered, %d survived\n", s.path, s.mutants, s.reached, s.survived)
		scores = append(scores, s)
		for _, m := range mutants {
			switch m.Status {
			case lived:
				survivors = append(survivors, m)
			case notCovered:
				fmt.Fprintf(os.Stderr, "  not covered: %s\n", m)
			}
		}
	}
	printScores(scores)
	unexplained, stale := reasons.match(survivors)
	for _, m := range unexplained {
		fmt.Fprintf(os.Stdout, "survived without a reason: %s\n", m)
	}
	for _, s := range scores {
		if err := s.check(); err != nil {
			problems = append(problems, err)
		}
	}
	if len(unexplained) > 0 {
		problems = append(problems, fmt.Errorf("%d mutants survived without a reason: test them or add them to survivors.yaml", len(unexplained)))
	}
	if len(stale) > 0 && *only == "" {
		problems = append(problems, fmt.Errorf("survivors.yaml has reasons for what no longer survives: %v", stale))
	}
	return errors.Join(problems...)
}

func printScores(scores []score) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "package\tmutants\tcovered %\tkilled %\tsurvived")
	for _, s := range scores {
		fmt.Fprintf(w, "%s\t%d\t%.1f\t%.1f\t%d\n", s.path, s.mutants, s.covered(), s.killed(), s.survived)
	}
	_ = w.Flush()
}
