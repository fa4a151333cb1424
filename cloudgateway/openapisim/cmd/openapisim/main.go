// Command openapisim runs a simulated Alibaba Cloud on loopback, for development and for tests.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/console"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "openapisim:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 && args[0] == "seed" {
		return runSeed(args[1:], stdout, stderr)
	}
	opts, err := parse(args, os.Getenv, stderr)
	if err != nil {
		return err
	}
	if opts.version {
		_, err := fmt.Fprintln(stdout, about())
		return err
	}
	opts.config.Console = func(cloud openapisim.Shown, products []string) (http.Handler, error) {
		return console.New(console.Config{Source: cloud, Products: products})
	}
	sim, err := openapisim.New(opts.config)
	if err != nil {
		return err
	}
	if err := sim.Start(ctx, opts.addresses); err != nil {
		return err
	}
	for _, e := range openapisim.Endpoints() {
		if address := sim.Endpoint(e.Name); address != "" {
			fmt.Fprintf(stdout, "%-9s %s://%s\n", e.Name, cmp.Or(e.Scheme, "http"), address)
		}
	}
	printExports(stdout, opts.config, sim.Endpoint("all"))
	sim.Wait()
	return nil
}

// printExports prints what clients have to know, as commands of a shell. Their programs don't agree on names.
func printExports(out io.Writer, cfg openapisim.Config, address string) {
	if address == "" {
		return
	}
	key := openapisim.AccessKey{ID: openapisim.DefaultAccessKeyID, Secret: openapisim.DefaultAccessKeySecret}
	if len(cfg.AccessKeys) > 0 {
		key = cfg.AccessKeys[0]
		key.Secret = "…" // whoever set it knows it
	}
	fmt.Fprintf(out, `
export ALIBABA_CLOUD_ACCESS_KEY_ID=%[2]s ALIBABA_CLOUD_ACCESS_KEY_SECRET=%[3]s ALIBABA_CLOUD_REGION_ID=%[4]s  # SDKs, CLI
aliyun ecs DescribeInstances --RegionId %[4]s --endpoint %[1]s --insecure                                     # an example

# Terraform: it speaks TLS, so it has to know the authority; and without the account type it asks the real cloud for it.
export ALICLOUD_ACCESS_KEY=%[2]s ALICLOUD_SECRET_KEY=%[3]s ALICLOUD_REGION=%[4]s ALIBABA_CLOUD_ACCOUNT_TYPE=Domestic
curl -so openapisim-ca.pem http://%[1]s/admin/ca; export SSL_CERT_FILE=$PWD/openapisim-ca.pem
export%[5]s

Everything speaks HTTP and HTTPS at this port; http://%[1]s/console is for people.
`, address, key.ID, key.Secret, cfg.Region, endpoints(address))
}

// endpoints are the variables by which Terraform's provider finds the products.
func endpoints(address string) string {
	var out strings.Builder
	for _, p := range openapisim.Products() {
		out.WriteString(" " + strings.ToUpper(p.Name) + "_ENDPOINT=" + address)
	}
	return out.String()
}

// version is set by builds of images with -ldflags "-X main.version=…".
var version string

// about is what the build knows of itself: the version that it was given or that the module has, or the commit of a working tree.
func about() string {
	info, ok := debug.ReadBuildInfo()
	switch {
	case version != "":
		return "openapisim " + version + " " + runtime.Version()
	case !ok:
		return "openapisim, of an unknown version"
	}
	revision := ""
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			revision = " " + s.Value
		}
	}
	return "openapisim " + info.Main.Version + revision + " " + info.GoVersion
}
