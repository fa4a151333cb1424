package command_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"testing"

	"alicloud-controllers.dev/services/command"
)

// found is what a process would change.
type found struct {
	Changes int `json:"changes"`
}

func (f found) WriteText(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%d changes\n", f.Changes)
	return err
}

func TestPlan(t *testing.T) {
	t.Parallel()
	load := func(path, cloudConfig string) (string, []string, error) {
		if path == "missing" {
			return "", nil, errors.New("no such file")
		}
		return path + "+" + cloudConfig, nil, nil
	}
	plan := command.Plan("sample", load, command.All{}, func(_ context.Context, cfg string) (found, error) {
		if strings.HasPrefix(cfg, "bad") {
			return found{}, errors.New("no answer")
		}
		return found{Changes: len(cfg)}, nil
	})
	for _, tt := range []struct{ args, out, err string }{
		{args: "", out: "24 changes\n"}, // of /etc/sample/config.yaml
		{args: "-config a --cloud-config b", out: "3 changes\n"},
		{args: "-config a -o json", out: "{\n  \"changes\": 2\n}\n"},
		{args: "-config a -o yaml", err: `plan: -o is "yaml"; use text or json`},
		{args: "-config missing", err: "no such file"},
		{args: "-config bad", err: "plan: no answer"},
		{args: "--colour", err: "plan: flag provided but not defined: -colour; --help lists the flags"},
		{args: "x", err: `plan: unknown argument "x"; --help lists the flags`},
	} {
		var out bytes.Buffer
		err := plan.Run(strings.Fields(tt.args), &out)
		if out.String() != tt.out || (tt.err == "") != (err == nil) || err != nil && err.Error() != tt.err {
			t.Errorf("plan %s: %q, %v; want %q, %s", tt.args, out.String(), err, tt.out, tt.err)
		}
	}
	var out bytes.Buffer
	if err := plan.Run([]string{"--help"}, &out); err != nil ||
		!strings.Contains(out.String(), "  -o FORMAT\n      FORMAT of the output, text or json (default: text)\n") {
		t.Errorf("help %q, %v", out.String(), err)
	}
}

// one selects one thing by name.
type one struct{ name, kind string }

func (o *one) Flags(flags *flag.FlagSet) { flags.StringVar(&o.kind, "k", "", "the `KIND`") }

func (o *one) Arguments(args []string) error {
	if len(args) != 1 {
		return errors.New("name one")
	}
	o.name = args[0]
	return nil
}

func TestPlanOfASelection(t *testing.T) {
	t.Parallel()
	which := &one{}
	load := func(string, string) (string, []string, error) { return "", nil, nil }
	plan := command.Plan("sample", load, which, func(context.Context, string) (found, error) {
		return found{Changes: len(which.kind + which.name)}, nil
	})
	var out bytes.Buffer
	if err := plan.Run([]string{"-k", "abc", "de"}, &out); err != nil || out.String() != "5 changes\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
	if err := plan.Run([]string{"-k", "abc"}, &out); err == nil || err.Error() != "plan: name one" {
		t.Errorf("error %v", err)
	}
}
