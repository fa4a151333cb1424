package command

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// Subcommand is what a process does instead of its work if its first argument is the name of the subcommand.
type Subcommand struct {
	// About says in a line what it does.
	About string
	// Example is a whole command line.
	Example string
	Run     func(args []string, stdout io.Writer) error
}

// help writes what the process does, its subcommands with an example each, and its flags.
func (c Command[C]) help(w io.Writer, flags *flag.FlagSet) error {
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n\nUsage:\n  %s --config FILE [flags]\n", c.About, c.Name)
	names := slices.Sorted(maps.Keys(c.Subcommands))
	if len(names) > 0 {
		fmt.Fprintf(&text, "  %s COMMAND [flags]\n\nCommands; COMMAND --help lists the flags of each:\n", c.Name)
		table := tabwriter.NewWriter(&text, 0, 0, 3, ' ', 0)
		for _, name := range names {
			fmt.Fprintf(table, "  %s\t%s\n", name, c.Subcommands[name].About)
		}
		_ = table.Flush() // A builder takes everything.
	}
	fmt.Fprintf(&text, "\nExamples:\n  %s --config /etc/%s/config.yaml\n", c.Name, c.Name)
	for _, name := range names {
		fmt.Fprintf(&text, "  %s\n", c.Subcommands[name].Example)
	}
	text.WriteString("\nFlags:\n" + describe(flags))
	_, err := io.WriteString(w, text.String())
	return err
}

// Parse reads the flags of a subcommand. When they ask for help, it writes usage, a line about the command, and the
// flags, and reports true.
func Parse(flags *flag.FlagSet, about string, args []string, stdout io.Writer) (helped bool, err error) {
	flags.Init(flags.Name(), flag.ContinueOnError)
	flags.SetOutput(io.Discard) // Errors are printed once, by Execute.
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		_, err := fmt.Fprintf(stdout, "%s\n\nUsage:\n  %s [flags]\n\nFlags:\n%s", about, flags.Name(), describe(flags))
		return true, err
	case err != nil:
		return false, fmt.Errorf("%w; --help lists the flags", err)
	}
	return false, nil
}

// describe writes flags with what they say and their defaults, also those that are empty, which the package flag keeps silent about.
func describe(flags *flag.FlagSet) string {
	var text strings.Builder
	flags.VisitAll(func(f *flag.Flag) {
		value, usage := flag.UnquoteUsage(f)
		dashes := "--"
		if len(f.Name) == 1 {
			dashes = "-"
		}
		fmt.Fprintf(&text, "  %s%s %s\n      %s", dashes, f.Name, value, usage)
		if !strings.Contains(usage, "default") && !strings.HasSuffix(usage, "required") {
			fmt.Fprintf(&text, " (default: %s)", cmp.Or(f.DefValue, "none"))
		}
		text.WriteString("\n")
	})
	return strings.ReplaceAll(text.String(), " \n", "\n")
}
