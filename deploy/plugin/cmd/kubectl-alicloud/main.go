// Command kubectl-alicloud is a plugin of kubectl: `kubectl alicloud why service/web`.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"

	"alicloud-controllers.dev/deploy/plugin"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := plugin.Command{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Terminal: isTerminal(os.Stdin) && isTerminal(os.Stdout)}.
		Run(ctx, os.Args[1:])
	stop()
	var ended *exec.ExitError
	switch {
	case err == nil:
	case errors.As(err, &ended): // kubectl has said why.
		os.Exit(ended.ExitCode())
	default:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func isTerminal(file *os.File) bool {
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
