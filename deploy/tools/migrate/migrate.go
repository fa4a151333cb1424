// Package migrate turns the settings of the existing cloud controller manager into values of the Helm chart.
package migrate

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"alicloud-controllers.dev/services/config/cloudconfig"
)

// Result is what the chart is to be installed with, and what became of each setting.
type Result struct {
	Values map[string]any
	Notes  []Note
}

// Note says what became of a setting: where it is now, or why it is not needed.
type Note struct{ Setting, Became string }

// The Secret that the user makes of the access key in the cloud-config file.
const (
	secretName = "cloud-key"
	credential = "credentials.existingSecret; make the Secret, with the decoded key: kubectl -n kube-system create " +
		"secret generic " + secretName + " --from-literal=id=… --from-literal=secret=…"
)

// backendIPv6 is the setting for IPv6 addresses of pods, which the feature gate IPv6DualStack was about, too.
const backendIPv6 = "components.lbcontroller.config.backendIPv6"

// Convert reads the cloud-config file, which may be empty, the words of the command line, and the environment. Secrets are not taken over.
func Convert(cloudConfig []byte, words []string, env map[string]string) (Result, error) {
	old, warnings, err := cloudconfig.Parse(cloudConfig)
	if err != nil {
		return Result{}, fmt.Errorf("cloud-config: %w", err)
	}
	r := Result{Values: map[string]any{}}
	r.set(backendIPv6, false) // As without the feature gate.
	r.file(old)
	r.set("components.lbcontroller.config.serviceFields", false)
	r.note("fields of Services", "components.lbcontroller.config.serviceFields: off, since "+
		"sessionAffinity, loadBalancerIP and ipFamilies had no "+
		"effect; to let them have one, look at the plan with it on first, see docs/services.md")
	for _, warning := range warnings {
		setting, became, _ := strings.Cut(warning, ": ")
		r.note(setting, "%s", became)
	}
	f, err := parse(words)
	if err != nil {
		return Result{}, err
	}
	for _, name := range slices.Sorted(maps.Keys(f)) {
		if err := r.flag(name, f[name]); err != nil {
			return Result{}, err
		}
	}
	r.routing(f)
	for _, name := range slices.Sorted(maps.Keys(env)) {
		r.variable(name, env[name])
	}
	return r, nil
}

func (r *Result) note(setting, format string, args ...any) {
	r.Notes = append(r.Notes, Note{setting, fmt.Sprintf(format, args...)})
}

// set puts a value at a path with dots.
func (r *Result) set(path string, value any) {
	at := r.Values
	keys := strings.Split(path, ".")
	for _, key := range keys[:len(keys)-1] {
		next, ok := at[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			at[key] = next
		}
		at = next
	}
	at[keys[len(keys)-1]] = value
}

// move sets a value and notes where it is.
func (r *Result) move(setting, path string, value any) {
	r.set(path, value)
	r.note(setting, "%s", path)
}

// periods takes over the shorter of the two periods of nodes, since one look answers both questions; as the nodecontroller itself does with
// such a file.
func (r *Result) periods(old *cloudconfig.CloudConfig) {
	const path, least, usual = "components.nodecontroller.config.syncInterval", time.Minute, 5 * time.Minute
	interval := usual
	for _, period := range []struct {
		key     string
		seconds int
	}{{"nodeMonitorPeriod", old.NodeMonitorPeriod}, {"nodeAddrSyncPeriod", old.NodeAddrSyncPeriod}} {
		if period.seconds > 0 {
			interval = min(interval, max(least, time.Duration(period.seconds)*time.Second))
			r.note("Global."+period.key, "%s: the shorter of the two periods, from %s to %s", path, least, usual)
		}
	}
	if interval < usual {
		r.set(path, interval.String())
	}
}

// file takes over the settings of the cloud-config file.
func (r *Result) file(old *cloudconfig.CloudConfig) {
	const global = "Global."
	if old.ClusterID != "" {
		r.move(global+"clusterID", "clusterID", old.ClusterID)
	} else {
		// What the existing manager takes for it; its load balancers and routes are marked so.
		r.set("clusterID", "clusterid")
		r.note(global+"clusterID",
			"clusterID: it was left out, which stood for %q; every cluster of the account that was run so has the same, see "+
				"docs/compatibility.md", "clusterid")
	}
	for _, given := range []struct {
		key, path string
		value     any
	}{
		{"region", "region", old.Region},
		{"vpcid", "vpcID", old.VpcID},
		{"kubernetesClusterTag", "components.nodecontroller.config.clusterTag", old.KubernetesClusterTag},
		{"resourceGroupID", "components.lbcontroller.config.resourceGroupID", old.ResourceGroupID},
		{"vswitchid", "vswitchIDs", old.VSwitchIDs},
		{"routeTableIDs", "components.routecontroller.config.routeTableIDs", old.RouteTableIDs},
		{"disablePublicSLB", "components.lbcontroller.config.disablePublicLoadBalancer", old.DisablePublicSLB},
		{"serviceMaxConcurrentReconciles", "components.lbcontroller.config.workers", max(0, old.ServiceMaxConcurrentReconciles)},
	} {
		if !reflect.ValueOf(given.value).IsZero() {
			r.move(global+given.key, given.path, given.value)
		}
	}
	if old.ServiceBackendType != "" {
		// Any other word than eni had no effect.
		if old.ServiceBackendType == "eni" {
			r.move(global+"serviceBackendType", "components.lbcontroller.config.backendType", "eni")
		} else {
			r.note(global+"serviceBackendType", "none: %q is the default", old.ServiceBackendType)
		}
	}
	r.periods(old)
	if old.AccessKeyID != "" {
		r.set("credentials.existingSecret", secretName)
		r.note(global+"accessKeyID, accessKeySecret", credential)
	}
	for _, gate := range slices.Sorted(maps.Keys(old.FeatureGates)) {
		r.gate(gate, old.FeatureGates[gate])
	}
}

// gate takes over a feature gate.
func (r *Result) gate(name string, on bool) {
	setting := "feature gate " + name
	switch name {
	case "IPv6DualStack":
		const nodes = "components.nodecontroller.config.ipv6"
		r.set(nodes, on)
		r.set(backendIPv6, on)
		r.note(setting, "%s and %s", nodes, backendIPv6)
	case "LoadBalancerTypeAnnotation":
		r.move(setting, "components.lbcontroller.config.loadBalancerTypeAnnotation", on)
	default:
		r.noWork(setting, name, "none: unknown")
	}
}

// routing chooses the mode: routes are made if the route controller ran.
func (r *Result) routing(f map[string]string) {
	cidrs, routes := f["cluster-cidr"], true
	if value, ok := f["configure-cloud-routes"]; ok {
		routes = value != "false"
	}
	if value, ok := f["controllers"]; ok {
		routes = routes && slices.Contains(strings.Split(value, ","), "route")
	}
	if !routes || cidrs == "" {
		r.set("network.mode", "terway")
		return
	}
	r.set("network.mode", "flannel")
	r.set("network.clusterCIDRs", strings.Split(cidrs, ","))
}

// noWork notes what became of a setting that needs no work.
func (r *Result) noWork(setting, name, unknown string) {
	r.note(setting, "%s", cmp.Or(became()[name], unknown))
}

// became are the flags, feature gates and variables that need no work: what takes their place, in versions 1.9.3 to
// 2.14 of the existing manager.
func became() map[string]string {
	const (
		runtime  = "none: the processes have their own"
		always   = "none: it had no effect"
		gathered = "none: the gateway knows the cloud's limit"
	)
	return map[string]string{
		"address": "components.*.adminPort", "port": "components.*.adminPort", "metrics-bind-addr": "components.*.adminPort, with /metrics on it",
		"health-probe-bind-addr": "components.*.adminPort, with /livez and /readyz on it",
		"pprof-bind-addr":        "components.*.adminPort, with /debug/pprof/ on it",
		"profiling":              runtime, "contention-profiling": runtime, "master": runtime,
		"kubeconfig":   "none: the ServiceAccount of each process",
		"cloud-config": "the values that follow from the file", "cloud-provider": always, "cluster-name": always,
		"use-service-account-credentials": always,
		"allocate-node-cidrs":             "none: kube-controller-manager gives out the ranges",
		"allow-untagged-cloud":            always, "min-resync-period": always,
		"controller-start-interval": always, "node-status-update-frequency": "components.nodecontroller.config.syncInterval",
		"node-monitor-period":        "components.nodecontroller.config.syncInterval, which is 5m by default",
		"sg-batch-size":              gathered,
		"max-concurrent-actions":     "none: the rate limits decide",
		"max-throttling-retry-times": "none: the gateway waits for the rate limit", "enable-imdsv2": "none: always on",
		"node-reconcile-batch-size": gathered, "route-reconcile-batch-size": gathered,
		"kube-api-qps": "none: high enough; the API server limits", "kube-api-burst": "none: high enough; the API server limits",
		"leader-elect":                "none: always on",
		"leader-elect-lease-duration": "components.*.config.leaderElection.leaseDuration",
		"leader-elect-renew-deadline": "components.*.config.leaderElection.renewDeadline",
		"leader-elect-retry-period":   "components.*.config.leaderElection.retryPeriod", "leader-elect-resource-lock": "none: always a Lease",
		"leader-elect-resource-name": "none: one Lease for each process", "leader-elect-resource-namespace": "none: the namespace of the release",
		"dry-run": "plan: the chart's Jobs print what would change, see docs/migrate.md",
		"v":       "logging.level", "logtostderr": runtime, "alsologtostderr": runtime, "log-dir": runtime,
		"log_dir": runtime, "stderrthreshold": runtime, "vmodule": runtime,
		"add_dir_header": runtime, "log_backtrace_at": runtime, "log_file": runtime, "log_file_max_size": runtime, "one_output": runtime,
		"skip_headers": runtime, "skip_log_headers": runtime,
		"EndpointSlice": "none: always on", "FilterServiceOnNodeChange": "none: always on",
		"EFLO_CONTROLLER_ENDPOINT": "none: the product is not supported",
		"X-ACSPROXY-ASCM-CONTEXT":  "none: the private cloud is not supported",
		"POD_NAME":                 "none: the chart sets what the processes need",
		"POD_NAMESPACE":            "none: the chart sets what the processes need",
	}
}

func (r *Result) flag(name, value string) error {
	setting := "--" + name
	switch name {
	case "cluster-cidr":
		for cidr := range strings.SplitSeq(value, ",") {
			if _, err := netip.ParsePrefix(cidr); err != nil {
				return fmt.Errorf("%s: %q is not a range of addresses", setting, cidr)
			}
		}
		r.note(setting, "network.clusterCIDRs")
	case "configure-cloud-routes":
		r.note(setting, "network.mode: flannel if it is on and there is a --cluster-cidr, terway otherwise")
	case "controllers":
		r.controllers(setting, value)
	case "concurrent-service-syncs":
		n, err := strconv.Atoi(value)
		if err != nil {
			return fmt.Errorf("%s: %q is not a number", setting, value)
		}
		const path = "components.lbcontroller.config.workers"
		if !r.has(path) { // The file wins.
			r.set(path, n)
		}
		r.note(setting, path)
	case "network":
		if value == "vpc" || value == "" {
			r.note(setting, "none: the default")
		} else {
			r.move(setting, "components.cloudgateway.config.network", "public")
		}
	case "route-reconciliation-period":
		period, err := time.ParseDuration(value)
		if err != nil {
			return fmt.Errorf("%s: %q is not a duration", setting, value)
		}
		r.move(setting, "components.routecontroller.config.syncInterval", max(period, time.Minute).String())
	case "skip-disable-source-dest-check":
		r.move(setting, "components.nodecontroller.config.disableSourceDestCheck", value == "false")
	case "node-event-aggregation-wait-seconds":
		n, err := strconv.Atoi(value)
		if err != nil {
			return fmt.Errorf("%s: %q is not a number", setting, value)
		}
		if n > 0 {
			r.move(setting, "components.routecontroller.config.gather.quiet", (time.Duration(n) * time.Second).String())
		} else {
			r.note(setting, "none: the default of components.routecontroller.config.gather.quiet")
		}
	case "feature-gates":
		for gate := range strings.SplitSeq(value, ",") {
			gateName, on, _ := strings.Cut(gate, "=")
			r.gate(gateName, on == "true")
		}
	default:
		r.noWork(setting, name, "unknown; nothing was taken over")
	}
	return nil
}

// controllers takes over which of them run.
func (r *Result) controllers(setting, value string) {
	given := strings.Split(value, ",")
	if !slices.Contains(given, "node") {
		r.set("components.nodecontroller.enabled", false)
	}
	switch {
	case slices.Contains(given, "nlb"): // It is on by default.
	case slices.Contains(given, "service"):
		r.set("components.lbcontroller.config.nlb.enabled", false)
	default:
		r.set("components.lbcontroller.enabled", false)
	}
	r.note(setting, "components.*.enabled and components.lbcontroller.config.nlb.enabled; routes are a matter of network.mode, "+
		"and ingress and pvtz are not supported")
}

// has reports whether there is a value at a path.
func (r *Result) has(path string) bool {
	var value any = r.Values
	for key := range strings.SplitSeq(path, ".") {
		section, ok := value.(map[string]any)
		if !ok {
			return false
		}
		if value, ok = section[key]; !ok {
			return false
		}
	}
	return true
}

// Words splits a command line as it is copied from a manifest: JSON lists, those of the command and of its arguments, or words with blanks
// between them, which may be quoted or items of a YAML list.
func Words(text string) ([]string, error) {
	if text = strings.TrimSpace(text); strings.HasPrefix(text, "[") {
		words, err := lists[string](text)
		if err != nil {
			return nil, fmt.Errorf("--flags: not a JSON list of strings: %w", err)
		}
		return words, nil
	}
	var words []string
	for word := range strings.FieldsSeq(text) {
		if word = strings.Trim(word, `"'`); word != "" && word != "-" && word != `\` {
			words = append(words, word)
		}
	}
	return words, nil
}

// switches are the flags that may stand without a value.
func switches() []string {
	return []string{
		"use-service-account-credentials", "configure-cloud-routes", "allocate-node-cidrs", "dry-run", "allow-untagged-cloud", "enable-imdsv2",
		"skip-disable-source-dest-check", "leader-elect", "profiling", "contention-profiling", "logtostderr",
		"alsologtostderr", "add_dir_header", "one_output",
		"skip_headers", "skip_log_headers",
	}
}

// parse gives the flags with their values. Words before the first flag are the name of the program.
func parse(words []string) (map[string]string, error) {
	flags := map[string]string{}
	for i := 0; i < len(words); i++ {
		name, value, given := strings.Cut(strings.TrimLeft(words[i], "-"), "=")
		if !strings.HasPrefix(words[i], "-") {
			if len(flags) > 0 {
				return nil, fmt.Errorf("--flags: %q is not a flag and belongs to none", words[i])
			}
			continue
		}
		switch {
		case given:
		case slices.Contains(switches(), name):
			value = "true"
		case i+1 < len(words):
			i++
			value = words[i]
		default:
			return nil, fmt.Errorf("--flags: --%s has no value", name)
		}
		flags[name] = strings.Trim(value, `"'`)
	}
	return flags, nil
}
