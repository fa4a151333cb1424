package world

import (
	"fmt"
	"strings"
)

// variable is one line of the environment file.
type variable struct{ name, value string }

// env is what another process needs to join the world.
func (w *World) env() []variable {
	a := w.addresses
	vars := []variable{
		{"KUBECONFIG", w.Kubeconfig()},
		{"SLB_ENDPOINT", a["slb"]}, {"ECS_ENDPOINT", a["ecs"]}, {"VPC_ENDPOINT", a["vpc"]}, {"NLB_ENDPOINT", a["nlb"]},
		{"CAS_ENDPOINT", a["cas"]}, {"QUOTAS_ENDPOINT", a["quotas"]},
		{"METADATA_ENDPOINT", "http://" + a["metadata"]},
		{"ALICLOUD_CLIENT_SCHEME", "HTTP"},
		{"ACCESS_KEY_ID", w.accessKey.id}, {"ACCESS_KEY_SECRET", w.accessKey.secret},
		{"REGION_ID", Region}, {"VPC_ID", VpcID}, {"CLUSTER_ID", ClusterID},
		{"OPENAPISIM_ADMIN", w.cloud.URL()},
		{"GATEWAY_ADDR", a["cloudgateway"]}, {"GATEWAY_CA", w.caFile},
	}
	if w.cfg.Front {
		vars = append(vars, w.frontEnv()...)
	}
	for _, process := range append([]string{"cloudgateway"}, w.cfg.Controllers...) {
		vars = append(vars, variable{"METRICS_" + strings.ToUpper(process), w.AdminURL(process) + "/metrics"})
	}
	return vars
}

// MetadataEndpoint is where instances ask for what they are.
func (w *World) MetadataEndpoint() string { return "http://" + w.addresses["metadata"] }

// EnvFile is the file to be sourced by a shell.
func (w *World) EnvFile() string { return w.path("env") }

func (w *World) writeEnv() error {
	var text strings.Builder
	for _, v := range w.env() {
		fmt.Fprintf(&text, "export %s='%s'\n", v.name, strings.ReplaceAll(v.value, "'", `'\''`))
	}
	return replaceFile(w.EnvFile(), []byte(text.String()))
}
