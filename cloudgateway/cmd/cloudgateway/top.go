package main

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/pem"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"alicloud-controllers.dev/services/command"
	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/version"

	"alicloud-controllers.dev/cloudgateway/internal/config"
	"alicloud-controllers.dev/cloudgateway/internal/top"
)

// podToken is where the chart puts the token for calls of the gateway.
const podToken = "/var/run/secrets/cloudgateway/token" //nolint:gosec // A path, not a credential.

const aboutTop = "Shows how the rate limits are used, in a terminal again and again."

// showStatus is `cloudgateway top`: it shows how the rate limits are used, in a terminal again and again.
func showStatus(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("cloudgateway top", flag.ContinueOnError)
	file := flags.String("config", "", "configuration `FILE` of the replica on this machine, from which its address and certificate are known")
	cloudConfig := command.CloudConfig(flags)
	var to gateway.Config
	flags.StringVar(&to.Address, "address", "", "`HOST:PORT` of the gateway, instead of --config")
	flags.StringVar(&to.CAFile, "ca-file", "", "`FILE` with the certificates that sign the gateway's")
	flags.StringVar(&to.ServerName, "server-name", "", "`NAME` in the gateway's certificate, if it is not the host of the address")
	flags.StringVar(&to.TokenFile, "token-file", "", "`FILE` with a ServiceAccount's token for the audience of the gateway; default "+podToken)
	flags.StringVar(&to.CertFile, "cert-file", "", "`FILE` with a client certificate, instead of a token")
	flags.StringVar(&to.KeyFile, "key-file", "", "`FILE` with its private key")
	interval := flags.Duration("interval", 2*time.Second, "time between two pictures")
	once := flags.Bool("once", false, "show the status once; so it is if the output is no terminal")
	form := flags.String("o", "text", "`FORM` of the output, text or json; with json the status is shown once")
	if helped, err := command.Parse(flags, aboutTop, args, out); helped || err != nil {
		return err
	}
	if *form != "text" && *form != "json" {
		return fmt.Errorf("top: -o: %q is neither text nor json", *form)
	}
	if (*file == "") == (to.Address == "") {
		return fmt.Errorf("top: name the gateway, either with --config FILE or with --address HOST:PORT and --ca-file FILE")
	}
	if *file != "" {
		if err := here(&to, *file, *cloudConfig); err != nil {
			return err
		}
	}
	if to.CertFile == "" && to.KeyFile == "" {
		to.TokenFile = cmp.Or(to.TokenFile, podToken)
	}
	to.UserAgent = "cloudgateway-top/" + version.String()
	conn, err := gateway.Dial(to)
	if err != nil {
		return fmt.Errorf("top: %w", err)
	}
	defer conn.Close()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cfg := top.Config{Status: conn.Client().Status, Interval: *interval, JSON: *form == "json", Out: out}
	if *once || cfg.JSON || !isTerminal(out) {
		cfg.Interval = 0
	}
	return top.Run(ctx, cfg)
}

// here is the way to the replica with that configuration, active or not. It shows the very certificate that the configuration names.
func here(to *gateway.Config, file, cloudConfig string) error {
	cfg, _, err := config.Load(file, cloudConfig, os.Getenv)
	if err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(cfg.Listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	name, err := nameIn(cfg.TLS.CertFile)
	if err != nil {
		return fmt.Errorf("tls.certFile: %w", err)
	}
	to.Address, to.CAFile, to.AnyReplica = net.JoinHostPort(host, port), cfg.TLS.CertFile, true
	to.ServerName = cmp.Or(to.ServerName, name)
	return nil
}

// nameIn is the first name in a certificate.
func nameIn(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return "", fmt.Errorf("%s holds no PEM certificate", file)
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return "", err
	}
	for _, name := range certificate.DNSNames {
		return name, nil
	}
	for _, ip := range certificate.IPAddresses {
		return ip.String(), nil
	}
	return "", fmt.Errorf("%s has no name", file)
}

// isTerminal reports whether the output is a terminal.
func isTerminal(out io.Writer) bool {
	f, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
