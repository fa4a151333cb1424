// Package plugin is `kubectl alicloud`: what the programs of an installation say, asked for from where kubectl is. It
// asks the cluster by kubectl, with its configuration and its rights, and changes nothing.
package plugin

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"alicloud-controllers.dev/deploy/chart"
	"alicloud-controllers.dev/deploy/tools/migrate"
	"alicloud-controllers.dev/services/version"
)

// Command is the plugin as it was called.
type Command struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Terminal is true if a person reads and writes.
	Terminal bool

	// flags are those of kubectl that choose the cluster.
	flags []string
	// installed is the namespace of the installation.
	installed string
	// piped is true if a program in a pod reads Stdin.
	piped bool
}

const usage = `Says what the Alibaba Cloud controllers do, and what stands in the way.

  kubectl alicloud why service/web [-n NAMESPACE]   what stands in the way of a Service, in one screen
  kubectl alicloud why node/NAME                    of a node
  kubectl alicloud why route/NODE                   of a node's route
  kubectl alicloud plan [-n NAMESPACE] [SERVICE]    what lbcontroller would change
  kubectl alicloud plan --gateways FILE             for the Gateways and routes of a file
  kubectl alicloud plan nodecontroller              what nodecontroller would change, or routecontroller
  kubectl alicloud convert NAMESPACE/SERVICE        the Service of an NLB for one of a CLB
  kubectl alicloud doctor                           credentials, permissions, network and clock of the gateway
  kubectl alicloud top                              the rate limits of the cloud, and who uses them
  kubectl alicloud bundle [-o FILE]                 a file for who is to look into a problem
  kubectl alicloud migrate ...                      values of the chart from the settings of the existing cloud controller manager
  kubectl alicloud version

Before the command: --context NAME, --kubeconfig FILE, --installed NAMESPACE (kube-system). After it: the flags of the command, and --help.
`

// Run does what the arguments say.
func (c Command) Run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("kubectl alicloud", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	of := func(name string) func(string) error {
		return func(value string) error {
			c.flags = append(c.flags, "--"+name+"="+value)
			return nil
		}
	}
	flags.Func("context", "", of("context"))
	flags.Func("kubeconfig", "", of("kubeconfig"))
	flags.StringVar(&c.installed, "installed", chart.Namespace, "")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp), err == nil && (flags.NArg() == 0 || flags.Arg(0) == "help"):
		_, err := io.WriteString(c.Stdout, usage)
		return err
	case err != nil:
		return fmt.Errorf("%w\n\n%s", err, usage)
	}
	rest := flags.Args()[1:]
	switch command := flags.Arg(0); command {
	case "why":
		return c.why(ctx, rest)
	case "plan":
		process := "lbcontroller"
		if len(rest) > 0 && slices.Contains(chart.Components()[1:], rest[0]) {
			process, rest = rest[0], rest[1:]
		}
		c, rest, err := c.withManifest(rest)
		if err != nil {
			return err
		}
		return c.exec(ctx, "deployment/"+process, append([]string{process, "plan"}, rest...))
	case "convert":
		return c.exec(ctx, "deployment/lbcontroller", append([]string{"lbcontroller", "convert"}, rest...))
	case "doctor", "top":
		return c.exec(ctx, c.active(ctx), append([]string{"cloudgateway", command, "--config", "/etc/cloudgateway/config.yaml"}, rest...))
	case "bundle":
		return c.bundle(ctx, rest)
	case "version":
		_, err := fmt.Fprintln(c.Stdout, version.String())
		return err
	case "migrate":
		return migrate.Command(ctx, rest, c.Stdout)
	default:
		return fmt.Errorf("there is no command %q\n\n%s", command, usage)
	}
}

// active is the gateway's pod that works, as its Lease says.
func (c Command) active(ctx context.Context) string {
	holder, err := c.get(ctx, "-n", c.installed, "get", "lease", "cloudgateway", "-o", "jsonpath={.spec.holderIdentity}")
	if pod, _, _ := strings.Cut(string(holder), "_"); err == nil && pod != "" {
		return pod
	}
	return "deployment/cloudgateway"
}

// exec runs a program in a pod.
func (c Command) exec(ctx context.Context, in string, program []string) error {
	args := []string{"-n", c.installed, "exec"}
	if c.piped {
		args = append(args, "-i")
	} else if c.Terminal {
		args = append(args, "-it")
	}
	cmd := c.kubectl(ctx, append(append(args, in, "--"), program...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, c.Stdout, c.Stderr
	return cmd.Run()
}

// withManifest reads the file that --gateways names, which is of this machine. In the pod it is the standard input.
func (c Command) withManifest(args []string) (Command, []string, error) {
	args = slices.Clone(args)
	for i, arg := range args {
		name, file, joined := strings.Cut(arg, "=")
		if name != "-gateways" && name != "--gateways" {
			continue
		}
		switch {
		case joined:
			args[i] = name + "=-"
		case i+1 < len(args):
			file, args[i+1] = args[i+1], "-"
		}
		if c.piped = true; file == "-" || file == "" {
			return c, args, nil
		}
		text, err := os.ReadFile(file)
		c.Stdin = bytes.NewReader(text)
		return c, args, err
	}
	return c, args, nil
}

// get returns what kubectl says.
func (c Command) get(ctx context.Context, args ...string) ([]byte, error) {
	cmd := c.kubectl(ctx, args...)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return out.Bytes(), nil
}

func (c Command) kubectl(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "kubectl", slices.Concat(c.flags, args)...) //nolint:gosec // The user's own kubectl, with their arguments.
}

// bundle runs the script of the chart. It asks the cluster that was chosen: its kubectl gets a file with that one
// alone.
func (c Command) bundle(ctx context.Context, args []string) (err error) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		return fmt.Errorf("bundle: it is a script, and needs a POSIX shell and curl: %w", err)
	}
	cmd := exec.CommandContext(ctx, shell, append([]string{"-s", "--", "-n", c.installed}, args...)...) //nolint:gosec // Our script.
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(chart.SupportBundle), c.Stdout, c.Stderr
	if len(c.flags) > 0 {
		config, err := c.get(ctx, "config", "view", "--minify", "--flatten", "--raw")
		if err != nil {
			return fmt.Errorf("bundle: %w", err)
		}
		file, err := os.CreateTemp("", "alicloud-kubeconfig-") // Only its owner may read it.
		if err != nil {
			return fmt.Errorf("bundle: %w", err)
		}
		defer func() { err = errors.Join(err, os.Remove(file.Name())) }()
		_, err = file.Write(config)
		if err = errors.Join(err, file.Close()); err != nil {
			return fmt.Errorf("bundle: %w", err)
		}
		cmd.Env = append(os.Environ(), "KUBECONFIG="+file.Name())
	}
	return cmd.Run()
}
