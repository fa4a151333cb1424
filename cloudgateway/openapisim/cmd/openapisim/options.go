package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"strings"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/dataplane"
)

// options are what the command line says.
type options struct {
	config    openapisim.Config
	addresses map[string]string // where to listen, by endpoint
}

func parse(args []string, getenv func(string) string, stderr io.Writer) (options, error) {
	opts := options{addresses: map[string]string{}}
	cfg := &opts.config
	flags := flag.NewFlagSet("openapisim", flag.ContinueOnError)
	flags.SetOutput(stderr)
	listen := map[string]*string{}
	for _, e := range openapisim.Endpoints() {
		listen[e.Name] = flags.String(e.Name, fmt.Sprintf("127.0.0.1:%d", e.Port), "listen `address` of "+e.About)
	}
	flags.StringVar(&cfg.Region, "region", "cn-hangzhou", "the only region of the cloud")
	flags.StringVar(&cfg.Account, "account", "1000000000000001", "id of the only account")
	flags.StringVar(&cfg.Role, "role", "", "RAM role of the instances (default KubernetesWorkerRole)")
	flags.DurationVar(&cfg.SessionDuration, "session-duration", 6*time.Hour, "how long keys from the metadata service live")
	keyID := flags.String("access-key-id", "", "AccessKey of the account (default $ACCESS_KEY_ID, else "+openapisim.DefaultAccessKeyID+")")
	secretFile := flags.String("access-key-secret-file", "", "`file` with the secret of the AccessKey (default $ACCESS_KEY_SECRET)")
	fast := flags.Bool("fast", false, "complete every change at once instead of after the time it takes in the cloud")
	limits := flags.String("limits", "on", "rate limits of the OpenAPI: on or off; they can be switched later at /admin/limits")
	seed := flags.String("seed", "", "JSON `file` with what the cloud holds from the start, as for PUT /admin/seed")
	traffic := flags.Bool("dataplane", false, "let running listeners really listen, and forward to their servers; Linux only")
	var ranges dataplane.Ranges
	flags.Func("dataplane-internet", "`range` for addresses of internet load balancers (default 127.47.0.0/16)", prefixInto(&ranges.Internet))
	flags.Func("dataplane-intranet", "`range` for addresses of intranet load balancers (default 127.48.0.0/16)", prefixInto(&ranges.Intranet))
	flags.Func("dataplane-servers", "`range` of servers besides loopback, such as that of a network namespace; can be repeated", func(text string) error {
		prefix, err := netip.ParsePrefix(text)
		ranges.Servers = append(ranges.Servers, prefix)
		return err
	})
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if flags.NArg() > 0 {
		return options{}, fmt.Errorf("unexpected argument %q; see --help", flags.Arg(0))
	}
	for name, address := range listen {
		opts.addresses[name] = *address
	}
	if cfg.SessionDuration <= 0 {
		return options{}, fmt.Errorf("--session-duration: %v is not positive", cfg.SessionDuration)
	}
	if *limits != "on" && *limits != "off" {
		return options{}, fmt.Errorf("--limits: %q is neither on nor off", *limits)
	}
	cfg.LimitsOff = *limits == "off"
	if *fast {
		settings := api.FastSettings()
		cfg.Settings = &settings
	}
	if *traffic {
		cfg.Dataplane = &ranges
	} else if ranges.Internet.IsValid() || ranges.Intranet.IsValid() || len(ranges.Servers) > 0 {
		return options{}, fmt.Errorf("--dataplane-internet, --dataplane-intranet and --dataplane-servers need --dataplane")
	}
	cfg.Logger = slog.New(slog.NewTextHandler(stderr, nil))
	if err := readAccessKey(cfg, cmp.Or(*keyID, getenv("ACCESS_KEY_ID")), *secretFile, getenv("ACCESS_KEY_SECRET")); err != nil {
		return options{}, err
	}
	return opts, readSeed(cfg, *seed)
}

func prefixInto(prefix *netip.Prefix) func(string) error {
	return func(text string) (err error) {
		*prefix, err = netip.ParsePrefix(text)
		return err
	}
}

// readAccessKey sets the AccessKey, or leaves the default one if none is given.
func readAccessKey(cfg *openapisim.Config, id, secretFile, secret string) error {
	if secretFile != "" {
		content, err := os.ReadFile(secretFile)
		if err != nil {
			return fmt.Errorf("--access-key-secret-file: %w", err)
		}
		secret = strings.TrimSpace(string(content))
	}
	if id == "" && secret == "" {
		return nil
	}
	if id == "" || secret == "" {
		return fmt.Errorf("--access-key-id needs --access-key-secret-file or $ACCESS_KEY_SECRET, and the other way round")
	}
	cfg.AccessKeys = []openapisim.AccessKey{{ID: id, Secret: secret}}
	return nil
}

func readSeed(cfg *openapisim.Config, file string) error {
	if file == "" {
		return nil
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("--seed: %w", err)
	}
	if cfg.Seed, err = openapisim.ReadSeed(content); err != nil {
		return fmt.Errorf("--seed %s: %w", file, err)
	}
	return nil
}
