// Package command is the command line that our processes share: a configuration file, the cloud-config file of the existing
// CCM, and the version.
package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"

	"alicloud-controllers.dev/services/logging"
	"alicloud-controllers.dev/services/version"
)

// Command is a process with a configuration of type C.
type Command[C any] struct {
	// Name of the process.
	Name string
	// About says in a sentence what the process does.
	About string
	// Load reads the configuration file and, if its path is not empty, the cloud-config file. The warnings are about settings of
	// the latter.
	Load func(path, cloudConfig string) (cfg C, warnings []string, err error)
	// Logging gives the configuration's part about the log.
	Logging func(cfg C) logging.Config
	// Run works until ctx ends or a signal comes.
	Run func(ctx context.Context, cfg C, log *slog.Logger) error
	// Subcommands are what the process does instead if its first argument is the name of one.
	Subcommands map[string]Subcommand
}

// CloudConfigVariable is the environment variable that names the cloud-config file where --cloud-config doesn't. The
// chart sets it, so that a command in a pod finds the file that the process itself has read.
const CloudConfigVariable = "CLOUD_CONFIG"

// CloudConfig defines the flag --cloud-config, the same for a process and each of its commands.
func CloudConfig(flags *flag.FlagSet) *string {
	return flags.String("cloud-config", os.Getenv(CloudConfigVariable),
		"cloud-config `FILE` of the existing CCM, for what the configuration leaves out; otherwise $"+CloudConfigVariable+" names it")
}

// Execute does what the arguments say and gives the exit code, 0 or 1. The log and a failure go to stderr.
func (c Command[C]) Execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	err := c.execute(ctx, args, stdout, stderr)
	if err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "%s: %s\n", c.Name, logging.Redact(err.Error()))
	return 1
}

func (c Command[C]) execute(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 {
		if sub, ok := c.Subcommands[args[0]]; ok {
			return sub.Run(args[1:], stdout)
		}
	}
	flags := flag.NewFlagSet(c.Name, flag.ContinueOnError)
	flags.SetOutput(io.Discard) // Errors are printed once, by Execute.
	path := flags.String("config", "", "configuration `FILE` (YAML); required")
	cloudConfig := CloudConfig(flags)
	showVersion := flags.Bool("version", false, "print the version and exit")
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return c.help(stdout, flags)
	case err != nil:
		return fmt.Errorf("%w; --help lists the flags", err)
	case flags.NArg() > 0:
		return fmt.Errorf("unknown argument %q; --help lists the commands and flags", flags.Arg(0))
	case *showVersion:
		_, err := fmt.Fprintln(stdout, c.Name, version.String())
		return err
	case *path == "":
		return fmt.Errorf("no configuration; name its file, e.g. --config /etc/%s/config.yaml", c.Name)
	}
	return c.run(ctx, *path, *cloudConfig, stderr)
}

func (c Command[C]) run(ctx context.Context, path, cloudConfig string, stderr io.Writer) error {
	cfg, warnings, err := c.Load(path, cloudConfig)
	if err != nil {
		return err
	}
	log, err := logging.New(c.Logging(cfg), stderr)
	if err != nil {
		return err
	}
	logging.Bridge(log)
	for _, warning := range warnings {
		log.Warn("setting of the cloud-config without effect", "setting", warning)
	}
	return c.Run(ctx, cfg, log)
}
