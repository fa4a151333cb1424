package chart_test

import (
	"strings"
	"testing"
)

// TestValuesThatCantWork: what would be rendered, and then refused by the API server, by a process or by Prometheus, is
// refused before, with the value to set.
func TestValuesThatCantWork(t *testing.T) {
	t.Parallel()
	component := func(name string, config map[string]any) map[string]any {
		return map[string]any{"components": map[string]any{name: map[string]any{"config": config}}}
	}
	for want, changes := range map[string]map[string]any{
		"components.nodecontroller.config.admin.listen: set components.nodecontroller.adminPort": component("nodecontroller",
			map[string]any{"admin": map[string]any{"listen": ":9000"}}),
		"components.cloudgateway.config.listen: set gatewayPort":             component("cloudgateway", map[string]any{"listen": ":9000"}),
		"components.cloudgateway.config.activeListen: set gatewayActivePort": component("cloudgateway", map[string]any{"activeListen": ":9000"}),
		"components.cloudgateway.config.front.listen: set front.port": component("cloudgateway",
			map[string]any{"front": map[string]any{"listen": ":9000"}}),
		"components.lbcontroller.config.leaderElection.name: take it out": component("lbcontroller",
			map[string]any{"leaderElection": map[string]any{"name": "ccm"}}),
		"components.lbcontroller.config.leaderElection.namespace: take it out": component("lbcontroller",
			map[string]any{"leaderElection": map[string]any{"namespace": "cloud"}}),
		"gatewayPort, gatewayActivePort, components.cloudgateway.adminPort: ": {"gatewayActivePort": 7443},
		"components.cloudgateway.adminPort, front.port: two of": {
			"front": map[string]any{"enabled": true, "keysSecret": "tools", "port": 7080}},
		"bad-label": {"prometheusRule": map[string]any{"enabled": true, "alerts": map[string]any{
			"AlicloudNotReady": map[string]any{"labels": map[string]any{"bad-label": "x"}}}}},
	} {
		if _, err := tryRender(t, "kube-system", values(changes), cluster(t)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want %q", changes, err, want)
		}
	}
	for name, changes := range map[string]map[string]any{
		"further addresses": component("lbcontroller", map[string]any{"admin": map[string]any{"alsoListen": []any{":10258"}}}),
		"times of Leases":   component("lbcontroller", map[string]any{"leaderElection": map[string]any{"leaseDuration": "30s"}}),
		"a front that is off has the port of another": {"front": map[string]any{"port": 7443}},
		"a label of an alert": {"prometheusRule": map[string]any{"enabled": true, "alerts": map[string]any{
			"AlicloudNotReady": map[string]any{"labels": map[string]any{"team": "net"}}}}},
	} {
		if _, err := tryRender(t, "kube-system", values(changes), cluster(t)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
