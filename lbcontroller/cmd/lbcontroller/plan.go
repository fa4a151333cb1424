package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"alicloud-controllers.dev/services/command"

	"alicloud-controllers.dev/lbcontroller/internal/app"
	"alicloud-controllers.dev/lbcontroller/internal/config"
)

// plan is `lbcontroller plan`, of all Services or of some.
func plan() command.Subcommand {
	which := &selection{}
	sub := command.Plan(app.Name, config.Load, which, func(ctx context.Context, cfg config.Config) (app.Preview, error) {
		return app.Plan(ctx, cfg, which.Selection)
	})
	sub.Example = app.Name + " plan -n default web"
	return sub
}

// selection implements command.Selection.
type selection struct{ app.Selection }

// Flags adds that for the namespace.
func (s *selection) Flags(flags *flag.FlagSet) {
	flags.StringVar(&s.Namespace, "n", "", "only Services of this `NAMESPACE`; for one Service its name follows the flags")
	const about = "only Services of Gateways, as if the objects of this `FILE` were in the cluster; - for the standard input"
	flags.Func("gateways", about, func(path string) (err error) {
		s.Gateways, err = readManifest(path)
		return err
	})
}

// Arguments takes the name of a Service.
func (s *selection) Arguments(args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case len(args) > 1:
		return fmt.Errorf("unknown argument %q; flags come before the name of the Service", args[1])
	case s.Namespace == "":
		return errors.New("the namespace of Service " + args[0] + " is missing; give it with -n")
	}
	s.Service = args[0]
	return nil
}

func readManifest(path string) (string, error) {
	read := func() ([]byte, error) { return os.ReadFile(path) }
	if path == "-" {
		read = func() ([]byte, error) { return io.ReadAll(os.Stdin) }
	}
	text, err := read()
	if err == nil && strings.TrimSpace(string(text)) == "" {
		err = fmt.Errorf("read the manifest: %s is empty; kubectl exec needs -i to pass it on", path)
	}
	return string(text), err
}
