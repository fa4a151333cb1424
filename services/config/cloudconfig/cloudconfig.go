// Package cloudconfig reads the cloud-config file of the existing Alibaba CCM, so that a cluster can be taken over with the
// file it has. Each process takes its part of it.
package cloudconfig

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"alicloud-controllers.dev/services/config"
	"alicloud-controllers.dev/services/logging"
)

// CloudConfig is what the file says, decoded. What it does not say is left at zero, so that a process keeps its own default.
type CloudConfig struct {
	// AccessKeyID and AccessKeySecret are decoded from the file's base64.
	AccessKeyID     string
	AccessKeySecret logging.Secret
	ClusterID       string
	// KubernetesClusterTag is the tag key that marks the cluster's instances.
	KubernetesClusterTag string
	Region               string
	VpcID                string
	// VSwitchIDs are the ids of "zone:id" and ":id" items and bare ids, in the order of the file.
	VSwitchIDs                     []string
	ResourceGroupID                string
	ServiceBackendType             string
	DisablePublicSLB               bool
	ServiceMaxConcurrentReconciles int
	RouteTableIDs                  []string
	FeatureGates                   map[string]bool
	// NodeMonitorPeriod and NodeAddrSyncPeriod are seconds between looks at the instances of nodes and at their addresses.
	NodeMonitorPeriod  int
	NodeAddrSyncPeriod int
}

// Load reads the file, JSON or YAML. There is one warning for each setting that has no effect here. Without a path, the
// result is as if the file said nothing.
func Load(path string) (*CloudConfig, []string, error) {
	if path == "" {
		return &CloudConfig{}, nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("read the cloud-config: %w", err)
	}
	cfg, warnings, err := Parse(text)
	if err != nil {
		return nil, nil, fmt.Errorf("cloud-config %s: %w", path, err)
	}
	return cfg, warnings, nil
}

// Parse is Load for a text.
func Parse(text []byte) (*CloudConfig, []string, error) {
	sections := map[string]json.RawMessage{}
	if err := yaml.Unmarshal(text, &sections); err != nil {
		// The parser's text may quote the file, which holds the access key.
		return nil, nil, fmt.Errorf("not a valid YAML or JSON object")
	}
	r := reader{cfg: &CloudConfig{}}
	for _, name := range slices.Sorted(maps.Keys(sections)) {
		if !strings.EqualFold(name, "Global") {
			r.warnf("%s: unknown section, ignored; settings belong under Global", name)
			continue
		}
		r.global(sections[name])
	}
	if err := r.problems.Err(); err != nil {
		return nil, nil, err
	}
	return r.cfg, r.warnings, nil
}

// reader fills cfg, key by key.
type reader struct {
	cfg      *CloudConfig
	warnings []string
	problems config.Problems
}

func (r *reader) warnf(format string, args ...any) {
	r.warnings = append(r.warnings, fmt.Sprintf(format, args...))
}

// ineffective lists the settings that are accepted and do nothing, with what takes their place.
func ineffective() map[string]string {
	return map[string]string{
		"uid":                          "the account is that of the gateway's credentials",
		"zoneid":                       "the zones are those of the vSwitches",
		"nodemaxconcurrentreconciles":  "use workers of the nodecontroller",
		"routemaxconcurrentreconciles": "the routecontroller looks at all nodes at once",
		"privatezoneid":                "PrivateZone is not supported",
		"privatezonerecordttl":         "PrivateZone is not supported",
	}
}

func (r *reader) global(raw json.RawMessage) {
	values := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &values); err != nil {
		r.problems.Addf("Global", "want an object of settings")
		return
	}
	setters := r.setters()
	for _, key := range slices.Sorted(maps.Keys(values)) {
		name := strings.ToLower(key)
		if instead, ok := ineffective()[name]; ok {
			r.warnf("Global.%s: has no effect; %s", key, instead)
			continue
		}
		set, ok := setters[name]
		if !ok {
			r.warnf("Global.%s: unknown setting, ignored", key)
			continue
		}
		set("Global."+key, values[key])
	}
}

// setter stores the value of one key.
type setter func(key string, raw json.RawMessage)

// setters is the table of the file's keys, in lower case since the file's keys are case-insensitive.
func (r *reader) setters() map[string]setter {
	c := r.cfg
	return map[string]setter{
		"accesskeyid":                    r.encoded(&c.AccessKeyID),
		"accesskeysecret":                r.encoded((*string)(&c.AccessKeySecret)),
		"clusterid":                      r.text(&c.ClusterID),
		"kubernetesclustertag":           r.text(&c.KubernetesClusterTag),
		"region":                         r.text(&c.Region),
		"vpcid":                          r.text(&c.VpcID),
		"vswitchid":                      r.vSwitches,
		"resourcegroupid":                r.text(&c.ResourceGroupID),
		"servicebackendtype":             r.text(&c.ServiceBackendType),
		"disablepublicslb":               r.flag(&c.DisablePublicSLB),
		"servicemaxconcurrentreconciles": r.number(&c.ServiceMaxConcurrentReconciles),
		"nodemonitorperiod":              r.number(&c.NodeMonitorPeriod),
		"nodeaddrsyncperiod":             r.number(&c.NodeAddrSyncPeriod),
		"routetableids":                  r.routeTables,
		"featuregates":                   r.gates,
	}
}

func (r *reader) text(into *string) setter {
	return func(key string, raw json.RawMessage) {
		if err := json.Unmarshal(raw, into); err != nil {
			r.problems.Addf(key, "want a string")
		}
		*into = strings.TrimSpace(*into)
	}
}

// encoded reads base64. Errors do not contain the value, which is a secret.
func (r *reader) encoded(into *string) setter {
	return func(key string, raw json.RawMessage) {
		var value string
		r.text(&value)(key, raw)
		plain, err := base64.StdEncoding.DecodeString(value)
		if err != nil {
			r.problems.Addf(key, "want base64")
			return
		}
		*into = strings.TrimSpace(string(plain))
	}
}

func (r *reader) flag(into *bool) setter {
	return func(key string, raw json.RawMessage) {
		if err := json.Unmarshal(raw, into); err != nil {
			r.problems.Addf(key, "got %s, want true or false", raw)
		}
	}
}

func (r *reader) number(into *int) setter {
	return func(key string, raw json.RawMessage) {
		if err := json.Unmarshal(raw, into); err != nil || *into < 0 {
			r.problems.Addf(key, "got %s, want a number of 0 or more", raw)
		}
	}
}

// vSwitches reads a comma list of "zone:id", ":id" or "id".
func (r *reader) vSwitches(key string, raw json.RawMessage) {
	for _, item := range r.list(key, raw) {
		id := item
		if _, after, ok := strings.Cut(item, ":"); ok {
			id = strings.TrimSpace(after)
		}
		if id == "" || strings.Contains(id, ":") {
			r.problems.Addf(key, `%q is not of the form "zone:vsw-id" or "vsw-id"`, item)
			continue
		}
		r.cfg.VSwitchIDs = append(r.cfg.VSwitchIDs, id)
	}
}

func (r *reader) routeTables(key string, raw json.RawMessage) {
	for _, id := range r.list(key, raw) {
		if !strings.HasPrefix(id, "vtb-") {
			r.problems.Addf(key, `%q is not a route table id, "vtb-…"`, id)
			continue
		}
		r.cfg.RouteTableIDs = append(r.cfg.RouteTableIDs, id)
	}
}

// gates reads "Name=true,Other=false".
func (r *reader) gates(key string, raw json.RawMessage) {
	for _, item := range r.list(key, raw) {
		name, value, _ := strings.Cut(item, "=")
		on := strings.EqualFold(strings.TrimSpace(value), "true")
		if !on && !strings.EqualFold(strings.TrimSpace(value), "false") {
			r.problems.Addf(key, `%q is not of the form "Name=true" or "Name=false"`, item)
			continue
		}
		if r.cfg.FeatureGates == nil {
			r.cfg.FeatureGates = map[string]bool{}
		}
		r.cfg.FeatureGates[strings.TrimSpace(name)] = on
	}
}

// list reads a comma list without its blanks and empty items.
func (r *reader) list(key string, raw json.RawMessage) []string {
	var value string
	r.text(&value)(key, raw)
	var items []string
	for item := range strings.SplitSeq(value, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}
