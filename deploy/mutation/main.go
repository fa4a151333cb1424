// Command mutation changes the packages that decide, one operator at a time, and shows which changes their own tests miss. It
// prints a table and every mutant that survived, and fails when a package falls below the goals, when a survivor has no reason in
// survivors.yaml, or when a reason there has no survivor any more.
//
// It makes the mutants of gremlins, a mutation tester among the Go modules, but compiles all mutants of a package into one program and
// switches one of them on in each run. Gremlins and its like compile and link the tests for each mutant: about an hour, where this
// takes minutes. Besides, mutants are found by type here, so that none fails to compile, which gremlins counts as killed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The goals, in percent: of all mutants in lines that tests reach, and of those the ones that a test notices.
const (
	wantCovered = 95
	wantKilled  = 95
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if args := os.Args[1:]; len(args) > 0 && args[0] == isolateCommand {
		fmt.Fprintln(os.Stderr, isolated(args[1:]))
		os.Exit(failedIsolation)
	}
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// isolated becomes a program with its arguments, after the seconds and the directory that it may have.
func isolated(args []string) error {
	if len(args) < 3 {
		return fmt.Errorf("isolate: want seconds, directory and program, have %q", args)
	}
	seconds, err := strconv.ParseUint(args[0], 10, 32)
	if err != nil {
		return fmt.Errorf("isolate: seconds: %w", err)
	}
	return isolate(seconds, args[1], args[2:])
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("mutation", flag.ContinueOnError)
	root := flags.String("root", "..", "directory of the checkout")
	only := flags.String("only", "", "test only packages whose path contains this text")
	jobs := flags.Int("jobs", runtime.NumCPU(), "mutants that are tested at a time")
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("flags: %w", err)
	}
	reasons, err := readReasons(filepath.Join(*root, "deploy/mutation/survivors.yaml"))
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "mutation-")
	if err != nil {
		return fmt.Errorf("make a directory: %w", err)
	}
	defer os.RemoveAll(dir)
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	tester := tester{root: *root, dir: dir, self: self, jobs: *jobs, cpu: leastCPU, time: mostTime}
	begin := time.Now()

	var scores []score
	var survivors []mutant
	var problems []error
	list, err := targets(*root)
	if err != nil {
		return err
	}
	var paths []string
	for _, t := range list {
		paths = append(paths, t.path())
	}
	list = slices.DeleteFunc(list, func(t target) bool { return !strings.Contains(t.path(), *only) })
	if len(list) == 0 {
		return fmt.Errorf("ONLY: no package that is tested has %q in its path; there are\n  %s", *only, strings.Join(paths, "\n  "))
	}
	for _, t := range list {
		mutants, err := tester.test(ctx, t)
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted in %s: %w", t.path(), ctx.Err())
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", t.path(), err))
			continue
		}
		s := rate(t, mutants)
		if s.mutants > 0 {
			scores = append(scores, s)
		}
		fmt.Fprintf(os.Stderr, "%s: %d mutants, %d covered, %d survived\n", s.path, s.mutants, s.reached, s.survived)
		for _, m := range mutants {
			if m.Status != killed {
				fmt.Fprintf(os.Stderr, "  %s: %s\n", m.Status, m)
			}
			if m.Status == lived {
				survivors = append(survivors, m)
			}
		}
	}
	printScores(scores, time.Since(begin))
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

// printScores prints the table that docs/reference/mutation.md shows.
func printScores(scores []score, took time.Duration) {
	fmt.Fprintln(os.Stdout, "| package | mutants | covered | of these killed | survived |\n|---|---|---|---|---|")
	all := score{path: "all"}
	for _, s := range scores {
		all.mutants, all.reached, all.survived = all.mutants+s.mutants, all.reached+s.reached, all.survived+s.survived
	}
	for _, s := range append(scores, all) {
		fmt.Fprintf(os.Stdout, "| %s | %d | %.1f %% | %.1f %% | %d |\n", s.path, s.mutants, s.covered(), s.killed(), s.survived)
	}
	fmt.Fprintf(os.Stdout, "\n%s, %s on %d CPUs\n", time.Now().Format(time.DateOnly), took.Round(time.Second), runtime.NumCPU())
}
