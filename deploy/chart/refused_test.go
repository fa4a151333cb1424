package chart_test

import (
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chartutil"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// TestKeysWithoutValue: of a key without a value, as one above lines that are all comments, Helm takes the default away.
// Where that is empty, the key changes nothing; where it is needed, the key is named, and no template fails at it.
func TestKeysWithoutValue(t *testing.T) {
	t.Parallel()
	without := func(path string) map[string]any {
		all := map[string]any{}
		at, keys := all, strings.Split(path, ".")
		for _, key := range keys[:len(keys)-1] {
			next := map[string]any{}
			at[key], at = next, next
		}
		at[keys[len(keys)-1]] = nil
		return all
	}
	more := map[string]any{"prometheusRule": map[string]any{"enabled": true}}
	plain := render(t, "kube-system", more)
	for _, path := range []string{
		"components.cloudgateway.config", "components.lbcontroller.config", "components.nodecontroller.config",
		"components.routecontroller.config", "credentials.rrsa", "credentials.assumeRole", "tls.certManager",
		"tls.certManager.issuerRef", "podLabels", "podAnnotations", "commonLabels", "plan", "prometheusRule.alerts",
	} {
		changes := without(path)
		if _, is := changes["prometheusRule"]; is || path == "plan" {
			changes["prometheusRule"] = map[string]any{"enabled": true, "alerts": nil}
		} else {
			maps.Copy(changes, more)
		}
		if diff := cmp.Diff(plain, render(t, "kube-system", changes)); diff != "" {
			t.Errorf("%s without a value (-without the key +with it):\n%s", path, diff)
		}
	}
	for _, path := range []string{
		"gatewayPort", "gatewayActivePort", "front.port", "scopes.controllers", "components.cloudgateway.adminPort",
		"components.lbcontroller.replicas", "components.nodecontroller.enabled", "components.routecontroller.repository",
	} {
		_, err := tryRender(t, "kube-system", values(without(path)), cluster(t))
		if err == nil || !strings.Contains(err.Error(), "values: "+path+": a key without a value") {
			t.Errorf("%s without a value: %v", path, err)
		}
	}
	_, err := tryRender(t, "kube-system", values(without("components.lbcontroller")), cluster(t))
	if err == nil || !strings.Contains(err.Error(), "components.lbcontroller.adminPort: a key without a value") {
		t.Errorf("a component without a value: %v", err)
	}
}

// TestNamesLikeNumbers: a release, a namespace and Secrets may have names that YAML takes for numbers. The API server
// would refuse the objects.
func TestNamesLikeNumbers(t *testing.T) {
	t.Parallel()
	const name = "20261130"
	for source, changes := range map[string]map[string]any{
		"existingSecret": {"tls": map[string]any{"existingSecret": name, "clientCASecret": name},
			"front":   map[string]any{"enabled": true, "keysSecret": name},
			"tracing": map[string]any{"endpoint": "collector:4317", "caSecret": name}},
		"stsTokenSecret": {"cloudConfig": map[string]any{"configMap": name}},
		"ramRole": {"cloudConfig": map[string]any{"secret": name}, "components": map[string]any{
			"lbcontroller": map[string]any{"config": map[string]any{"tlsSecretNamespaces": []any{name}}}}},
	} {
		changes["credentials"] = map[string]any{source: name}
		changes["networkPolicy"] = map[string]any{"enabled": true}
		changes["serviceMonitor"] = map[string]any{"enabled": true, "tokenSecret": name}
		documents := renderRelease(t, chartutil.ReleaseOptions{Name: name, Namespace: name}, changes,
			cluster(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "cloudgateway-tls", Namespace: name},
				Data: map[string][]byte{"ca.crt": []byte("x"), corev1.TLSCertKey: []byte("x"), corev1.TLSPrivateKeyKey: []byte("x")}}))
		for key, document := range documents {
			for line := range strings.Lines(document) {
				if _, value, found := strings.Cut(line, ": "); found && looksLikeNumber.MatchString(value) {
					t.Errorf("%s: %s", key, line)
				}
			}
		}
		got := decode[appsv1.Deployment](t, documents["Deployment lbcontroller"])
		if labels := got.Spec.Selector.MatchLabels; got.Namespace != name || labels["app.kubernetes.io/instance"] != name {
			t.Errorf("Deployment of release %s in %s, selected by %v", name, got.Namespace, labels)
		}
	}
}

var looksLikeNumber = regexp.MustCompile(`(^|: )20261130\b`)
