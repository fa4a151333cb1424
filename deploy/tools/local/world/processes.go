package world

import (
	"crypto/rand"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"

	"sigs.k8s.io/yaml"

	"alicloud-controllers.dev/deploy/chart"
	"alicloud-controllers.dev/deploy/tools/local/proc"
)

// ClusterID is that of the world's cluster.
const ClusterID = "c-local"

// accessKey is the key to the simulated cloud, made anew for every world so that finding it in a log proves a leak.
type accessKey struct {
	id, secret         string
	idFile, secretFile string
}

func (w *World) makeAccessKey() error {
	const idLength, secretLength = 24, 30
	w.accessKey = accessKey{
		id: ("LTAI5t" + rand.Text())[:idLength], secret: (rand.Text() + rand.Text())[:secretLength],
		idFile: w.path("secrets", "access-key-id"), secretFile: w.path("secrets", "access-key-secret"),
	}
	for file, value := range map[string]string{w.accessKey.idFile: w.accessKey.id, w.accessKey.secretFile: w.accessKey.secret} {
		if err := os.WriteFile(file, []byte(value), 0o600); err != nil {
			return fmt.Errorf("write access key: %w", err)
		}
	}
	return nil
}

// AccessKeyID is that of the gateway's key.
func (w *World) AccessKeyID() string { return w.accessKey.id }

// AccessKeySecret is what no log may contain.
func (w *World) AccessKeySecret() string { return w.accessKey.secret }

func (w *World) simulator() proc.Spec {
	args := []string{
		"--region=" + Region, "--admin=" + w.addresses["openapisim"],
		"--access-key-id=" + w.accessKey.id, "--access-key-secret-file=" + w.accessKey.secretFile,
	}
	for _, endpoint := range products() {
		args = append(args, "--"+endpoint+"="+w.addresses[endpoint])
	}
	if w.cfg.Fast {
		args = append(args, "--fast")
	}
	if w.cfg.Traffic {
		args = append(args, "--dataplane", "--dataplane-internet="+w.plan.internet, "--dataplane-intranet="+w.plan.intranet)
	}
	return proc.Spec{
		Name: "openapisim", Path: filepath.Join(w.cfg.BinDir, "openapisim"), Args: args, Ready: w.cloud.Healthy,
	}
}

// section is a part of a configuration file.
type section map[string]any

// lease says how a process is elected. One that is alone keeps its Lease through a minute in which the machine, or the
// API server, does not get round to it, and goes on with it if it is started again, as a container does. A Lease is
// shorter where another replica has to wait for its end, but a leader that halts for some seconds keeps it there, too.
func lease(name string, replicas int) section {
	cfg := section{"enabled": true, "namespace": chart.Namespace, "name": name, "leaseDuration": "65s",
		"renewDeadline": "60s", "retryPeriod": "2s"}
	if replicas > 1 {
		maps.Copy(cfg, section{"leaseDuration": "12s", "renewDeadline": "10s", "retryPeriod": "500ms"})
	}
	return cfg
}

// controllerSection is what all controllers have in their configuration.
func (w *World) controllerSection(name string) section {
	return section{
		"kubernetes": section{"kubeconfig": w.componentKubeconfig(name)},
		"gateway": section{
			"address": w.controllersGateway(), "caFile": w.caFile, "serverName": "cloudgateway",
			"tokenFile": w.tokenFile(name, "gateway"),
		},
		"clusterID":      ClusterID,
		"region":         Region,
		"leaderElection": lease(name, 1),
	}
}

func (w *World) controller(name string) (proc.Spec, error) {
	cfg := w.controllerSection(name)
	switch name {
	case LB:
		maps.Copy(cfg, section{"vpcID": VpcID, "vswitchIDs": VSwitchIDs()})
		if w.cfg.GatewayAPI {
			cfg["gatewayAPI"] = section{"enabled": true}
			cfg["serverGroupBindings"] = section{"enabled": true}
		}
		maps.Copy(cfg, w.cfg.LB)
	case Node:
		maps.Copy(cfg, section{"ipv6": w.cfg.DualStack})
		maps.Copy(cfg, w.cfg.Node)
	case Route:
		maps.Copy(cfg, section{"vpcID": VpcID, "clusterCIDRs": w.podCIDRs(), "ipv6": w.cfg.DualStack})
		maps.Copy(cfg, w.cfg.Route)
	default:
		return proc.Spec{}, fmt.Errorf("controller %q is not one of %v", name, Controllers())
	}
	return w.ours(name, name, cfg)
}

// Reconfigure replaces keys of the configuration of one of our processes, which reads it when it starts the next time.
func (w *World) Reconfigure(name string, keys map[string]any) error {
	cfg, err := w.Configuration(name)
	if err != nil {
		return err
	}
	maps.Copy(cfg, keys)
	return writeConfig(w.configFile(name), cfg)
}

// Configuration is that of one of our processes.
func (w *World) Configuration(name string) (map[string]any, error) {
	data, err := os.ReadFile(w.configFile(name))
	if err != nil {
		return nil, fmt.Errorf("read configuration of %s: %w", name, err)
	}
	var cfg map[string]any
	if err := yaml.Unmarshal(data, &cfg); err != nil {
		return nil, fmt.Errorf("read configuration of %s: %w", name, err)
	}
	return cfg, nil
}

func writeConfig(file string, cfg section) error {
	data, err := yaml.Marshal(cfg)
	if err != nil {
		return fmt.Errorf("encode %s: %w", file, err)
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	return nil
}

// ours writes the configuration of one of our processes, which is ready when it says so on its admin port.
func (w *World) ours(name, program string, cfg section) (proc.Spec, error) {
	level := w.cfg.LogLevel
	if level == "" {
		level = "info"
	}
	cfg["admin"] = section{"listen": w.addresses[name+"-admin"]}
	cfg["logging"] = section{"level": level, "format": "json"}
	file := w.configFile(name)
	if err := writeConfig(file, cfg); err != nil {
		return proc.Spec{}, err
	}
	env := []string{"POD_NAME=" + name, "POD_UID=local"} // who holds a Lease, also when it is started again
	if program == "cloudgateway" {
		// Not in its configuration: an earlier version refuses the keys.
		env = append(env, "CAS_ENDPOINT="+w.addresses["cas"], "QUOTAS_ENDPOINT="+w.addresses["quotas"])
	}
	return proc.Spec{
		Name: name, Path: filepath.Join(w.cfg.BinDir, program), Args: []string{"--config=" + file},
		Env:     env,
		Ready:   w.answers(w.AdminURL(name)+"/readyz", ""),
		Restart: true,
	}, nil
}

func (w *World) configFile(name string) string { return w.path("config", name+".yaml") }

// ParseControllers reads "none", or a list of lb, node and route.
func ParseControllers(list []string) ([]string, error) {
	names := map[string]string{"lb": LB, "node": Node, "route": Route}
	if slices.Equal(list, []string{"none"}) {
		return nil, nil
	}
	var out []string
	for _, short := range list {
		name, ok := names[short]
		if !ok {
			return nil, fmt.Errorf("CONTROLLERS: %q is not one of lb, node, route; or none", short)
		}
		out = append(out, name)
	}
	return out, nil
}

func port(address string) string {
	_, p, err := net.SplitHostPort(address)
	if err != nil {
		return address // Never: the addresses are those of listeners.
	}
	return p
}
