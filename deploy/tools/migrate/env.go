package migrate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Environment reads the list of a manifest. A value that comes from elsewhere, such as a Secret, is empty.
func Environment(text string) (map[string]string, error) {
	variables, err := lists[struct{ Name, Value string }](text)
	if err != nil {
		return nil, fmt.Errorf("--env: not a JSON list of names and values: %w", err)
	}
	env := map[string]string{}
	for _, variable := range variables {
		env[variable.Name] = variable.Value
	}
	return env, nil
}

// lists reads the items of JSON lists, one after the other.
func lists[T any](text string) (all []T, err error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	for {
		var list []T
		if err := decoder.Decode(&list); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
}

// variable takes over a variable of the process.
func (r *Result) variable(name, value string) {
	setting := "environment " + name
	const gateway = "components.cloudgateway.config."
	switch name {
	case "ACCESS_KEY_ID", "ACCESS_KEY_SECRET":
		r.set("credentials.existingSecret", secretName)
		r.note(setting, "%s", credential)
	case "SERVICE_FORCE_BACKEND_ENI":
		r.forceBackend(setting, value)
	case "SLB_ENDPOINT", "NLB_ENDPOINT", "VPC_ENDPOINT", "ECS_ENDPOINT", "CAS_ENDPOINT", "QUOTAS_ENDPOINT", "RAM_ENDPOINT",
		"CS_ENDPOINT", "ESS_ENDPOINT", "ALB_ENDPOINT", "ALIDNS_ENDPOINT", "PVTZ_ENDPOINT", "NAS_ENDPOINT", "KMS_ENDPOINT",
		"ALIBABA_CLOUD_STS_ENDPOINT":
		if _, host, ok := strings.Cut(value, "://"); ok {
			value = host
		}
		product, _, _ := strings.Cut(strings.TrimPrefix(name, "ALIBABA_CLOUD_"), "_")
		r.move(setting, gateway+"endpoints."+strings.ToLower(product), value)
	case "ALICLOUD_CLIENT_SCHEME":
		r.move(setting, gateway+"scheme", strings.ToUpper(value))
	case "METADATA_ENDPOINT":
		r.move(setting, gateway+"metadataEndpoint", value)
	default:
		r.noWork(setting, name, "unknown; nothing was taken over")
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
