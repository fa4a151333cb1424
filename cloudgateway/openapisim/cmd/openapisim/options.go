package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/dataplane"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
)

// defaultAddress is where everything is served if nothing says where.
const defaultAddress = "127.0.0.1:9108"

// options are what the command line, the environment and the configuration file say.
type options struct {
	config    openapisim.Config
	addresses map[string]string // where to listen, by endpoint
	version   bool              // only print the version
}

// parse reads flags; each can be given as a variable of the environment instead: --limits as OPENAPISIM_LIMITS.
func parse(args []string, getenv func(string) string, stderr io.Writer) (options, error) {
	opts := options{addresses: map[string]string{}}
	cfg := &opts.config
	flags := flag.NewFlagSet("openapisim", flag.ContinueOnError)
	flags.SetOutput(stderr)
	listen := map[string]*string{}
	for _, e := range openapisim.Endpoints() {
		listen[e.Name] = flags.String(e.Name, "", "listen `address` of "+e.About)
	}
	flags.StringVar(&cfg.Region, "region", "cn-hangzhou", "the first region of the cloud")
	flags.Func("regions", "further `regions`, separated by commas", func(text string) error {
		cfg.Regions = append(cfg.Regions, strings.Split(text, ",")...)
		return nil
	})
	flags.StringVar(&cfg.Account, "account", "1000000000000001", "id of the first account; --config has others")
	flags.StringVar(&cfg.Role, "role", "", "RAM role of the instances (default KubernetesWorkerRole)")
	flags.DurationVar(&cfg.SessionDuration, "session-duration", 6*time.Hour, "how long keys from the metadata service live")
	keyID := flags.String("access-key-id", "", "AccessKey of the account (default $ACCESS_KEY_ID, else "+openapisim.DefaultAccessKeyID+")")
	secretFile := flags.String("access-key-secret-file", "", "`file` with the secret of the AccessKey (default $ACCESS_KEY_SECRET)")
	flags.BoolVar(&cfg.AnyCredentials, "any-credentials", false, "take every AccessKey, and check no signature")
	fast := flags.Bool("fast", false, "complete every change at once instead of after the time it takes in the cloud")
	strict := flags.Bool("strict", false, "refuse writes with documented parameters that are not simulated, instead of ignoring these")
	weather := flags.String("weather", "",
		"a set of `faults`, besides those of --config: bad answers calls with the codes on which clients repeat")
	limits := flags.String("limits", "on", "rate limits of the OpenAPI: on or off; they can be switched later at /admin/limits")
	file := flags.String("config", "", "JSON `file` with access keys, accounts, settings, limits and faults; flags win")
	flags.StringVar(&cfg.StateDir, "state", "", "`directory` that keeps what the cloud holds, and the authority of --tls, for the next start")
	flags.StringVar(&cfg.CertificateDir, "tls-dir", "", "`directory` that keeps the certificate authority of --tls (default that of --state)")
	var level slog.Level
	flags.TextVar(&level, "log-level", slog.LevelInfo, "`level` of what is logged; debug shows why the data plane reset a connection")
	flags.BoolVar(&opts.version, "version", false, "print the version and exit")
	seed := flags.String("seed", "",
		"JSON `file` with what the cloud holds from the start, as for PUT /admin/seed; none: nothing (default a small world, "+
			"where everything is served at one port)")
	traffic := flags.Bool("dataplane", false, "let running listeners really listen, and forward to their servers; Linux only")
	var ranges dataplane.Ranges
	flags.Func("dataplane-internet", "`range` for addresses of internet load balancers (default 127.47.0.0/16)", prefixInto(&ranges.Internet))
	flags.Func("dataplane-intranet", "`range` for addresses of intranet load balancers (default 127.48.0.0/16)", prefixInto(&ranges.Intranet))
	flags.Func("dataplane-servers",
		"`range` of servers besides loopback, such as that of a network namespace; can be repeated", func(text string) error {
			prefix, err := netip.ParsePrefix(text)
			ranges.Servers = append(ranges.Servers, prefix)
			return err
		})
	flags.Func("dataplane-ipv6", "`range` of IPv6 in which load balancers listen, besides ::1; it needs a local route; can be repeated",
		func(text string) error {
			prefix, err := netip.ParsePrefix(text)
			ranges.IPv6 = append(ranges.IPv6, prefix)
			return err
		})
	flags.BoolVar(&ranges.Transparent, "dataplane-transparent", false,
		"let servers see the addresses of clients on other machines, too; it needs CAP_NET_ADMIN, and routes that bring the answers back")
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if flags.NArg() > 0 {
		return options{}, fmt.Errorf("unexpected argument %q; see --help", flags.Arg(0))
	}
	if err := readEnvironment(flags, getenv); err != nil {
		return options{}, err
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
	if *strict {
		settings.Strict = true
		cfg.Settings = &settings
	}
	configured, err := readFile(cfg, *file, settings, given)
	if err != nil {
		return options{}, err
	}
	if cfg.LimitsOff = *limits == "off"; given["limits"] && cfg.Limits != nil {
		cfg.Limits.Enabled = nil
	}
	if rules := fault.Weather(*weather); rules != nil {
		cfg.Faults = append(slices.Clone(cfg.Faults), rules...)
	} else if *weather != "" {
		return options{}, fmt.Errorf("--weather: %q is none of %s", *weather, strings.Join(fault.Weathers(), ", "))
	}
	opts.listen(listen, configured, given)
	if *traffic {
		cfg.Dataplane = &ranges
	} else if !reflect.ValueOf(ranges).IsZero() {
		return options{}, errors.New("what begins with --dataplane- needs --dataplane")
	}
	cfg.Logger = slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level}))
	if len(cfg.AccessKeys) > 0 {
		getenv = func(string) string { return "" } // the file wins
	}
	if err := readAccessKey(cfg, cmp.Or(*keyID, getenv("ACCESS_KEY_ID")), *secretFile, getenv("ACCESS_KEY_SECRET")); err != nil {
		return options{}, err
	}
	return opts, readSeed(cfg, *seed, opts.addresses["all"]+opts.addresses["tls"] != "")
}

// readEnvironment sets the flags that the command line doesn't.
func readEnvironment(flags *flag.FlagSet, getenv func(string) string) error {
	given := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
	var problems []error
	flags.VisitAll(func(f *flag.Flag) {
		name := "OPENAPISIM_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		if value := getenv(name); value != "" && !given[f.Name] {
			if err := flags.Set(f.Name, value); err != nil {
				problems = append(problems, fmt.Errorf("%s: %w", name, err))
			}
		}
	})
	return errors.Join(problems...)
}

// listen decides where to listen: as flags say, else as the file does, else at one port.
func (o *options) listen(flags map[string]*string, configured map[string]string, given map[string]bool) {
	for name, address := range configured {
		if flag := flags[name]; flag == nil || !given[name] {
			flags[name] = &address
		}
	}
	named := false
	for name, address := range flags {
		if named = named || given[name] || configured[name] != ""; *address != "" {
			o.addresses[name] = *address
		}
	}
	if !named {
		o.addresses["all"] = defaultAddress
	}
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
		"region": func() { cfg.Region = flags.Region }, "account": func() { cfg.Account = flags.Account },
		"role":             func() { cfg.Role = flags.Role },
		"session-duration": func() { cfg.SessionDuration = flags.SessionDuration },
	} {
		if given[name] {
			restore()
		}
	}
	return f.Listen, nil
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

func readSeed(cfg *openapisim.Config, file string, onePort bool) error {
	switch file {
	case "":
		cfg.SmallWorld = onePort
		return nil
	case "none":
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
