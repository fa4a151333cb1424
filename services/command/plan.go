package command

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
)

// Preview is what a process would change.
type Preview interface {
	// WriteText writes it for people. For programs it is encoded as JSON.
	WriteText(w io.Writer) error
}

// Selection says what of a cluster is looked at.
type Selection interface {
	// Flags adds the flags that select.
	Flags(flags *flag.FlagSet)
	// Arguments takes what follows the flags.
	Arguments(args []string) error
}

// All is the Selection of everything.
type All struct{}

// Flags adds none.
func (All) Flags(*flag.FlagSet) {}

// Arguments takes none.
func (All) Arguments(args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unknown argument %q; --help lists the flags", args[0])
	}
	return nil
}

// Plan makes the subcommand "plan" of a process, for Command.Subcommands: it prints what the process would change and changes nothing. It
// fails only if that can't be found out, so that the exit code is 0 whether or not there is something to change.
func Plan[C any, P Preview](name string, load func(path, cloudConfig string) (C, []string, error), which Selection,
	plan func(ctx context.Context, cfg C) (P, error),
) Subcommand {
	const about = "Prints what would be changed, and changes nothing."
	return Subcommand{About: about, Example: name + " plan -o json", Run: func(args []string, stdout io.Writer) error {
		flags := flag.NewFlagSet(name+" plan", flag.ContinueOnError)
		path := flags.String("config", "/etc/"+name+"/config.yaml", "configuration `FILE` (YAML)")
		cloudConfig := CloudConfig(flags)
		output := flags.String("o", "text", "`FORMAT` of the output, text or json")
		which.Flags(flags)
		switch helped, err := Parse(flags, about, args, stdout); {
		case err != nil:
			return fmt.Errorf("plan: %w", err)
		case helped:
			return nil
		case *output != "text" && *output != "json":
			return fmt.Errorf("plan: -o is %q; use text or json", *output)
		}
		if err := which.Arguments(flags.Args()); err != nil {
			return fmt.Errorf("plan: %w", err)
		}
		cfg, _, err := load(*path, *cloudConfig)
		if err != nil {
			return err
		}
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
		defer stop()
		found, err := plan(ctx, cfg)
		if err != nil {
			return fmt.Errorf("plan: %w", err)
		}
		if *output == "text" {
			return found.WriteText(stdout)
		}
		encoder := json.NewEncoder(stdout)
		encoder.SetIndent("", "  ")
		return encoder.Encode(found)
	}}
}
