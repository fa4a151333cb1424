package migrate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Environment reads the list of a manifest. A value that comes from elsewhere, such as a Secret, is empty.
func Environment(text string) (map[string]string, error) {
	env := map[string]string{}
	lists := json.NewDecoder(strings.NewReader(text))
	for {
		var list []struct{ Name, Value string }
		if err := lists.Decode(&list); errors.Is(err, io.EOF) {
			return env, nil
		} else if err != nil {
			return nil, fmt.Errorf("--env: not a JSON list of names and values: %w", err)
		}
		for _, variable := range list {
			env[variable.Name] = variable.Value
		}
	}
}

// environment takes over the variables of the process.
func (r *Result) environment(env map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(env)) {
		r.variable(name, env[name])
	}
}

func (r *Result) variable(name, value string) {
	setting := "environment " + name
	const gateway = "components.cloudgateway.config."
	switch name {
	case "ACCESS_KEY_ID", "ACCESS_KEY_SECRET":
		r.set("credentials.existingSecret", secretName)
		r.note(setting, "%s", credential)
	case "SERVICE_FORCE_BACKEND_ENI":
		r.forceBackend(setting, value)
	case "SLB_ENDPOINT", "VPC_ENDPOINT", "ECS_ENDPOINT":
		if _, host, ok := strings.Cut(value, "://"); ok {
			value = host
		}
		product, _, _ := strings.Cut(name, "_")
		r.move(setting, gateway+"endpoints."+strings.ToLower(product), value)
	case "NLB_ENDPOINT", "EFLO_CONTROLLER_ENDPOINT":
		r.note(setting, "none: the product is not supported")
	case "ALICLOUD_CLIENT_SCHEME":
		r.move(setting, gateway+"scheme", strings.ToUpper(value))
	case "METADATA_ENDPOINT":
		r.move(setting, gateway+"metadataEndpoint", value)
	case "X-ACSPROXY-ASCM-CONTEXT":
		r.note(setting, "none: the private cloud is not supported")
	case "POD_NAME", "POD_NAMESPACE":
		r.note(setting, "none: the chart sets what the processes need")
	default:
		r.note(setting, "unknown; nothing was taken over")
	}
}

// forceBackend overrides the cloud-config file, in both directions.
func (r *Result) forceBackend(setting, value string) {
	const path = "components.lbcontroller.config.backendType"
	switch value {
	case "":
		r.note(setting, "none: it is empty")
	case "true":
		r.move(setting, path, "eni")
	default:
		if r.has(path) {
			r.set(path, "node")
		}
		r.note(setting, "%s: nodes, which is the default", path)
	}
}
