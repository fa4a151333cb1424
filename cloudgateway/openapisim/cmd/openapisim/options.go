package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
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
	snapshot  string            // file that the cloud is kept in
	version   bool              // only print the version
}

func parse(args []string, getenv func(string) string, stderr io.Writer) (options, error) {
	opts := options{addresses: map[string]string{}}
	cfg := &opts.config
	flags := flag.NewFlagSet("openapisim", flag.ContinueOnError)
	flags.SetOutput(stderr)
	listen := map[string]*string{}
	for _, e := range openapisim.Endpoints() {
		address := ""
		if e.Port != 0 {
			address = fmt.Sprintf("127.0.0.1:%d", e.Port)
		}
		listen[e.Name] = flags.String(e.Name, address, "listen `address` of "+e.About)
	}
	flags.StringVar(&cfg.Region, "region", "cn-hangzhou", "the only region of the cloud")
	flags.StringVar(&cfg.Account, "account", "1000000000000001", "id of the only account")
	flags.StringVar(&cfg.Role, "role", "", "RAM role of the instances (default KubernetesWorkerRole)")
	flags.DurationVar(&cfg.SessionDuration, "session-duration", 6*time.Hour, "how long keys from the metadata service live")
	keyID := flags.String("access-key-id", "", "AccessKey of the account (default $ACCESS_KEY_ID, else "+openapisim.DefaultAccessKeyID+")")
	secretFile := flags.String("access-key-secret-file", "", "`file` with the secret of the AccessKey (default $ACCESS_KEY_SECRET)")
	fast := flags.Bool("fast", false, "complete every change at once instead of after the time it takes in the cloud")
	limits := flags.String("limits", "on", "rate limits of the OpenAPI: on or off; they can be switched later at /admin/limits")
	file := flags.String("config", "", "JSON `file` with access keys, settings, limits and faults; flags win")
	flags.StringVar(&cfg.CertificateDir, "tls-dir", "", "`directory` that keeps the certificate authority of --tls (default: a new one at each start)")
	flags.StringVar(&opts.snapshot, "snapshot", "", "`file` that the cloud is read from at the start, if there is one, and written to at the end")
	var level slog.Level
	flags.TextVar(&level, "log-level", slog.LevelInfo, "`level` of what is logged; debug shows why the data plane reset a connection")
	flags.BoolVar(&opts.version, "version", false, "print the version and exit")
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
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if cfg.SessionDuration <= 0 {
		return options{}, fmt.Errorf("--session-duration: %v is not positive", cfg.SessionDuration)
	}
	if *limits != "on" && *limits != "off" {
		return options{}, fmt.Errorf("--limits: %q is neither on nor off", *limits)
	}
	settings := api.DefaultSettings()
	if *fast {
		settings = api.FastSettings()
		cfg.Settings = &settings
	}
	configured, err := readFile(cfg, *file, settings, given)
	if err != nil {
		return options{}, err
	}
	if cfg.LimitsOff = *limits == "off"; given["limits"] && cfg.Limits != nil {
		cfg.Limits.Enabled = nil
	}
	for name, address := range configured {
		if flag := listen[name]; flag == nil || !given[name] {
			listen[name] = &address
		}
	}
	for name, address := range listen {
		if *address != "" {
			opts.addresses[name] = *address
		}
	}
	if *traffic {
		cfg.Dataplane = &ranges
	} else if ranges.Internet.IsValid() || ranges.Intranet.IsValid() || len(ranges.Servers) > 0 {
		return options{}, fmt.Errorf("--dataplane-internet, --dataplane-intranet and --dataplane-servers need --dataplane")
	}
	cfg.Logger = slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level}))
	if len(cfg.AccessKeys) > 0 {
		getenv = func(string) string { return "" } // the file wins
	}
	if err := readAccessKey(cfg, cmp.Or(*keyID, getenv("ACCESS_KEY_ID")), *secretFile, getenv("ACCESS_KEY_SECRET")); err != nil {
		return options{}, err
	}
	if found, err := readSnapshot(cfg, opts.snapshot); found || err != nil {
		return opts, err
	}
	return opts, readSeed(cfg, *seed)
}

// readFile applies a configuration file, but for what flags say, and returns its addresses.
func readFile(cfg *openapisim.Config, file string, settings api.Settings, given map[string]bool) (map[string]string, error) {
	if file == "" {
		return nil, nil
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("--config: %w", err)
	}
	f, err := openapisim.ReadFile(content, settings)
	if err != nil {
		return nil, fmt.Errorf("--config %s: %w", file, err)
	}
	flags := *cfg
	f.Apply(cfg)
	for name, restore := range map[string]func(){
		"region": func() { cfg.Region = flags.Region }, "account": func() { cfg.Account = flags.Account }, "role": func() { cfg.Role = flags.Role },
		"session-duration": func() { cfg.SessionDuration = flags.SessionDuration },
	} {
		if given[name] {
			restore()
		}
	}
	return f.Listen, nil
}

// readSnapshot reports whether there is a snapshot to begin with.
func readSnapshot(cfg *openapisim.Config, file string) (bool, error) {
	if file == "" {
		return false, nil
	}
	content, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // the first start
	}
	if err != nil {
		return false, fmt.Errorf("--snapshot: %w", err)
	}
	cfg.Snapshot = content
	return true, nil
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
