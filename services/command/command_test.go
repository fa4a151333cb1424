package command_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"alicloud-controllers.dev/services/command"
	"alicloud-controllers.dev/services/logging"
)

type settings struct{ path, cloudConfig, format string }

// process prints what it was run with.
func process(out io.Writer) command.Command[settings] {
	return command.Command[settings]{
		Name: "sample",
		Load: func(path, cloudConfig string) (settings, []string, error) {
			if path == "bad.yaml" {
				return settings{}, nil, errors.New("configuration bad.yaml: region: is required")
			}
			return settings{path: path, cloudConfig: cloudConfig, format: strings.TrimSuffix(path, ".yaml")}, []string{"Global.zone: unknown"}, nil
		},
		Logging: func(cfg settings) logging.Config { return logging.Config{Format: cfg.format} },
		Run: func(_ context.Context, cfg settings, log *slog.Logger) error {
			log.Info("running")
			fmt.Fprintf(out, "ran with %q and %q", cfg.path, cfg.cloudConfig)
			if cfg.cloudConfig == "fail" {
				return errors.New("AccessKeySecret=abcdefghijklmnop refused")
			}
			return nil
		},
		About: "Sample shows what commands do.",
		Subcommands: map[string]command.Subcommand{
			"look": {About: "Looks at things.", Example: "sample look --here", Run: func(args []string, stdout io.Writer) error {
				_, err := fmt.Fprintln(stdout, "looked at", args)
				return err
			}},
			"examine": {About: "Looks closely.", Example: "sample examine"},
		},
	}
}

const help = `Sample shows what commands do.

Usage:
  sample --config FILE [flags]
  sample COMMAND [flags]

Commands; COMMAND --help lists the flags of each:
  examine   Looks closely.
  look      Looks at things.

Examples:
  sample --config /etc/sample/config.yaml
  sample examine
  sample look --here

Flags:
  --cloud-config FILE
      cloud-config FILE of the existing CCM, for what the configuration leaves out; otherwise $CLOUD_CONFIG names it (default: none)
  --config FILE
      configuration FILE (YAML); required
  --version
      print the version and exit (default: false)
`

func TestExecute(t *testing.T) {
	tests := []struct {
		name string
		args []string
		code int
		// stdout and stderr are parts of the outputs; an empty one has to be empty.
		stdout, stderr string
	}{
		{name: "version", args: []string{"--version"}, stdout: "sample dev"},
		{name: "help", args: []string{"--help"}, stdout: help},
		{name: "subcommand", args: []string{"look", "--here"}, stdout: "looked at [--here]"},
		{name: "no configuration", code: 1, stderr: "sample: no configuration; name its file, e.g. --config /etc/sample/config.yaml"},
		{name: "unknown flag", args: []string{"--confg=x"}, code: 1,
			stderr: "sample: flag provided but not defined: -confg; --help lists the flags"},
		{name: "argument", args: []string{"--config", "text.yaml", "more"}, code: 1,
			stderr: `sample: unknown argument "more"; --help lists the commands and flags`},
		{name: "bad configuration", args: []string{"--config", "bad.yaml"}, code: 1,
			stderr: "sample: configuration bad.yaml: region: is required"},
		{name: "bad logging", args: []string{"--config", "xml.yaml"}, code: 1, stderr: `logging.format: "xml" is not one of json, text`},
		{name: "warnings are logged", args: []string{"--config", "text.yaml"}, stdout: `ran with "text.yaml" and ""`,
			stderr: `level=WARN msg="setting of the cloud-config without effect" setting="Global.zone: unknown"`},
		{name: "cloud-config", args: []string{"--config=json.yaml", "--cloud-config=old"},
			stdout: `ran with "json.yaml" and "old"`, stderr: `"msg":"running"`},
		{name: "a failure keeps secrets", args: []string{"--config=text.yaml", "--cloud-config=fail"}, code: 1,
			stdout: "fail", stderr: "sample: AccessKeySecret=REDACTED"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr strings.Builder
			if code := process(&stdout).Execute(t.Context(), tt.args, &stdout, &stderr); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			for _, output := range []struct{ name, got, want string }{{"stdout", stdout.String(), tt.stdout},
				{"stderr", stderr.String(), tt.stderr}} {
				if !strings.Contains(output.got, output.want) || output.want == "" && output.got != "" {
					t.Errorf("%s is %q, want %q", output.name, output.got, output.want)
				}
			}
			if strings.Contains(stderr.String(), "abcdefghijklmnop") {
				t.Errorf("a secret is printed: %s", stderr.String())
			}
		})
	}
}

// TestCloudConfigOfTheEnvironment: without the flag, a process and its commands take the file that the environment names.
func TestCloudConfigOfTheEnvironment(t *testing.T) {
	t.Setenv(command.CloudConfigVariable, "/etc/cloud-config/conf")
	for want, args := range map[string][]string{
		`ran with "json.yaml" and "/etc/cloud-config/conf"`: {"--config", "json.yaml"},
		`ran with "json.yaml" and "other"`:                  {"--config", "json.yaml", "--cloud-config", "other"},
		`ran with "json.yaml" and ""`:                       {"--config", "json.yaml", "--cloud-config="},
	} {
		var out, log strings.Builder
		if code := process(&out).Execute(t.Context(), args, io.Discard, &log); code != 0 || out.String() != want {
			t.Errorf("%q: code %d, %q, want %q: %s", args, code, out.String(), want, log.String())
		}
	}
}
