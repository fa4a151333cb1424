package command_test

import (
	"bytes"
	"context"
	"errors"
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
	plan := command.Plan("sample", load, func(_ context.Context, cfg string) (found, error) {
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
		err := plan(strings.Fields(tt.args), &out)
		if out.String() != tt.out || (tt.err == "") != (err == nil) || err != nil && err.Error() != tt.err {
			t.Errorf("plan %s: %q, %v; want %q, %s", tt.args, out.String(), err, tt.out, tt.err)
		}
	}
	var out bytes.Buffer
	if err := plan([]string{"--help"}, &out); err != nil || !strings.Contains(out.String(), "-o FORMAT") {
		t.Errorf("help %q, %v", out.String(), err)
	}
}
