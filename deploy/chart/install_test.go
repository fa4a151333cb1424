package chart_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/strvals"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	ours "alicloud-controllers.dev/deploy/chart"
)

// TestMissing: what is needed is asked for at once, with the place where to find it.
func TestMissing(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		values map[string]any
		want   []string // all that is asked for
	}{
		"nothing": {want: []string{"clusterID: ", "vpcID: ", "network.mode: "}},
		"no ranges": {
			values: values(map[string]any{"network": map[string]any{"mode": "flannel"}}), want: []string{"network.clusterCIDRs: "},
		},
		"routes in a network of another kind": {
			values: values(map[string]any{
				"network": map[string]any{"mode": "terway"}, "components": map[string]any{"routecontroller": map[string]any{"enabled": true}},
			}),
			want: []string{"network.clusterCIDRs: "},
		},
		"the existing controller manager's file has the rest": {
			values: map[string]any{"network": map[string]any{"mode": "terway"}, "cloudConfig": map[string]any{"configMap": "cloud-config"}},
		},
		"two files": {
			values: values(map[string]any{"cloudConfig": map[string]any{"configMap": "a", "secret": "b"}}), want: []string{"cloudConfig: "},
		},
		"two sources of the certificate": {
			values: values(map[string]any{"tls": map[string]any{"existingSecret": "a", "certManager": map[string]any{"enabled": true}}}),
			want:   []string{"tls: "},
		},
		"two monitors": {
			values: values(map[string]any{"podMonitor": map[string]any{"enabled": true}, "serviceMonitor": map[string]any{"enabled": true}}),
			want:   []string{"podMonitor, serviceMonitor: "},
		},
		"no token for metrics": {values: values(map[string]any{"podMonitor": map[string]any{"enabled": true}}),
			want: []string{"podMonitor.tokenSecret: "}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := tryRender(t, "kube-system", tt.values, cluster(t))
			if len(tt.want) == 0 {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil {
				t.Fatalf("nothing is asked for, want %q", tt.want)
			}
			var got []string
			for line := range strings.Lines(err.Error()) {
				if key, _, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && strings.HasPrefix(line, "  ") {
					got = append(got, key+": ")
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%q is asked for, want %q, by: %v", got, tt.want, err)
			}
		})
	}
}

// TestConfigurations writes what each process gets from the chart, in several clusters. That the processes take it is tested where
// their configurations are.
func TestConfigurations(t *testing.T) {
	t.Parallel()
	for name, changes := range map[string]map[string]any{
		"flannel":  nil,
		"located":  {"region": ""},
		"migrated": decode[map[string]any](t, read(t, "../tools/migrate/testdata/everything.yaml")),
		"terway":   {"network": map[string]any{"mode": "terway"}},
		"two-families": {
			"network":    map[string]any{"mode": "flannel", "clusterCIDRs": []any{"10.0.0.0/8", "fd00:10::/56"}},
			"vswitchIDs": []any{"vsw-1", "vsw-2"}, "tracing": map[string]any{"endpoint": "collector:4317"},
		},
	} {
		documents := render(t, "kube-system", changes)
		for _, component := range ours.Components()[1:] { // The gateway has variants of its own.
			if document, ok := documents["ConfigMap "+component]; ok {
				golden(t, component+"/"+name, decode[corev1.ConfigMap](t, document).Data["config.yaml"])
			}
		}
	}
}

// TestSetOnTheCommandLine: helm's --set makes strings of decimal fractions.
func TestSetOnTheCommandLine(t *testing.T) {
	t.Parallel()
	v := values(nil)
	for _, set := range []string{"budget.part=0.25", "budget.share=0.5", "budget.learnUpTo=2.5",
		"tracing.endpoint=collector:4317", "tracing.sampleRatio=0.25"} {
		if err := strvals.ParseInto(set, v); err != nil {
			t.Fatal(err)
		}
	}
	got := decode[map[string]any](t, decode[corev1.ConfigMap](t, render(t, "kube-system", v)["ConfigMap cloudgateway"]).Data["config.yaml"])
	budget, _ := got["budget"].(map[string]any)
	tracing, _ := got["tracing"].(map[string]any)
	if budget["part"] != 0.25 || budget["share"] != 0.5 || budget["learnUpTo"] != 2.5 || tracing["sampleRatio"] != 0.25 {
		t.Errorf("the gateway gets %v and %v", budget, tracing)
	}
}

// TestCertificateIsMadeOnce: the authority that clients trust is made by the first installation and stays. Rendering without a
// cluster to look into would make another one each time, and fails with a message that says so.
func TestCertificateIsMadeOnce(t *testing.T) {
	t.Parallel()
	first := decode[corev1.Secret](t, renderFirst(t, "kube-system", nil)["Secret cloudgateway-tls"])
	if len(first.Data["ca.crt"]) == 0 || len(first.Data["tls.crt"]) == 0 || len(first.Data["tls.key"]) == 0 {
		t.Errorf("the Secret has %d entries", len(first.Data))
	}
	old := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "cloudgateway-tls", Namespace: "kube-system"}, Data: map[string][]byte{"ca.crt": []byte("old")},
	}
	files, err := tryRender(t, "kube-system", values(nil), newCluster(t, old))
	if err != nil {
		t.Fatal(err)
	}
	if text := files["alicloud-controllers/templates/tls.yaml"]; !strings.Contains(text, "ca.crt: b2xk") || strings.Contains(text, "tls.key") {
		t.Errorf("an upgrade makes another certificate:\n%s", text)
	}
	if _, err := tryRender(t, "kube-system", values(nil), nil); err == nil || !strings.Contains(err.Error(), "tls.existingSecret") {
		t.Errorf("without a cluster: %v", err)
	}
	for name, tls := range map[string]map[string]any{
		"Secret": {"existingSecret": "mine"}, "cert-manager": {"certManager": map[string]any{"enabled": true}},
	} {
		files, err := tryRender(t, "kube-system", values(map[string]any{"tls": tls}), nil)
		if err != nil || strings.Contains(files["alicloud-controllers/templates/tls.yaml"], "kind: Secret") {
			t.Errorf("%s, without a cluster: %v\n%s", name, err, files["alicloud-controllers/templates/tls.yaml"])
		}
	}
}

// TestCertManager: the certificate has the name by which the controllers know the gateway, and comes in the Secret that all mount.
func TestCertManager(t *testing.T) {
	t.Parallel()
	documents := render(t, "cloud", map[string]any{"tls": map[string]any{"certManager": map[string]any{"enabled": true}}})
	var certificate struct {
		Spec struct {
			SecretName string
			DNSNames   []string
			IssuerRef  struct{ Kind, Name string }
		}
	}
	if err := yaml.Unmarshal([]byte(documents["Certificate cloudgateway"]), &certificate); err != nil {
		t.Fatal(err)
	}
	spec := certificate.Spec
	if spec.SecretName != "cloudgateway-tls" || len(spec.DNSNames) != 15 ||
		spec.DNSNames[0] != "cloudgateway.cloud.svc" || spec.DNSNames[4] != "cloudgateway-ecs.cloud.svc" ||
		documents[spec.IssuerRef.Kind+" "+spec.IssuerRef.Name] == "" {
		t.Errorf("certificate %+v", spec)
	}
	got := volume(decode[appsv1.Deployment](t, documents["Deployment lbcontroller"]), "tls", "/etc/tls")
	if got == nil || got.Secret.SecretName != spec.SecretName {
		t.Errorf("lbcontroller mounts %+v", got)
	}
}

// TestNameOfTheGateway: the certificate has the names by which the pages for tools let them verify it.
func TestNameOfTheGateway(t *testing.T) {
	t.Parallel()
	secret := decode[corev1.Secret](t, renderFirst(t, ours.Namespace, nil)["Secret cloudgateway-tls"])
	block, _ := pem.Decode(secret.Data["tls.crt"])
	if block == nil {
		t.Fatal("no certificate")
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	for _, named := range regexp.MustCompile(
		`(?:-servername |ssl_target_name_override': '|"dns:///)([a-z.-]+)`).FindAllStringSubmatch(read(t,
		"../../docs/gateway-api.md")+read(t, "../../docs/gateway-for-tools.md"), -1) {
		if err := certificate.VerifyHostname(named[1]); err != nil {
			t.Errorf("the page says %q: %v", named[0], err)
		}
	}
	names := regexp.MustCompile(`cloudgateway[a-z-]*\.kube-system\.svc`).FindAllString(read(t, "../../docs/openapi-front.md"), -1)
	for _, name := range append(names, "cloudgateway-kms.kube-system.svc") {
		if err := certificate.VerifyHostname(name); err != nil {
			t.Errorf("%s, by which a tool calls the front: %v", name, err)
		}
	}
}

// TestCertificateByHand: what docs/recipes.md makes with one command is what the controllers trust.
func TestCertificateByHand(t *testing.T) {
	t.Parallel()
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Skip("openssl is not there")
	}
	command := regexp.MustCompile(`(?s)\nopenssl (.*?) &&\n`).FindStringSubmatch(read(t, "../../docs/recipes.md"))
	if command == nil {
		t.Fatal("docs/recipes.md has no command")
	}
	run := exec.CommandContext(t.Context(), openssl, strings.Fields(strings.ReplaceAll(command[1], "\\\n", " "))...)
	run.Dir = t.TempDir()
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(run.Dir, "tls.crt"), filepath.Join(run.Dir, "tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	authorities := x509.NewCertPool()
	authorities.AppendCertsFromPEM([]byte(read(t, filepath.Join(run.Dir, "tls.crt"))))
	config := decode[map[string]any](t, decode[corev1.ConfigMap](t, render(t, ours.Namespace, map[string]any{
		"tls": map[string]any{"existingSecret": "cloudgateway-tls"},
	})["ConfigMap lbcontroller"]).Data["config.yaml"])
	name, _ := config["gateway"].(map[string]any)["serverName"].(string)
	if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: authorities, DNSName: name}); err != nil {
		t.Errorf("the controllers ask for %q: %v", name, err)
	}
}

// TestCloudConfig: every process gets the existing controller manager's file, and nothing in its own hides the credentials in it.
func TestCloudConfig(t *testing.T) {
	t.Parallel()
	documents := render(t, "kube-system", map[string]any{"cloudConfig": map[string]any{"configMap": "old", "key": "conf"}})
	for _, component := range ours.Components() {
		d := decode[appsv1.Deployment](t, documents["Deployment "+component])
		got := volume(d, "cloud-config", "/etc/cloud-config")
		if got == nil || got.ConfigMap == nil || got.ConfigMap.Name != "old" ||
			!slices.Contains(d.Spec.Template.Spec.Containers[0].Args, "--cloud-config=/etc/cloud-config/conf") {
			t.Errorf("%s mounts %+v, args %q", component, got, d.Spec.Template.Spec.Containers[0].Args)
		}
	}
	file := decode[map[string]any](t, decode[corev1.ConfigMap](t, documents["ConfigMap cloudgateway"]).Data["config.yaml"])
	if c, ok := file["credentials"].(map[string]any); !ok || len(c) > 0 {
		t.Errorf("credentials %v", file["credentials"])
	}
}

// TestCloudConfigChanges: an upgrade after a change of that file starts the processes anew, which read it once. helm template can't see it.
func TestCloudConfigChanges(t *testing.T) {
	t.Parallel()
	digests := func(key string, objects ...runtime.Object) map[string]string {
		t.Helper()
		found := map[string]string{}
		documents := render(t, "kube-system", map[string]any{"cloudConfig": map[string]any{key: "old"}}, objects...)
		for _, component := range ours.Components() {
			d := decode[appsv1.Deployment](t, documents["Deployment "+component])
			found[component] = d.Spec.Template.Annotations["checksum/cloud-config"]
		}
		return found
	}
	about := metav1.ObjectMeta{Name: "old", Namespace: "kube-system"}
	first := digests("configMap", &corev1.ConfigMap{ObjectMeta: about, Data: map[string]string{"cloud-config.conf": "{}"}})
	again := digests("configMap", &corev1.ConfigMap{ObjectMeta: about, Data: map[string]string{"cloud-config.conf": "{}"}})
	changed := digests("configMap", &corev1.ConfigMap{ObjectMeta: about, Data: map[string]string{"cloud-config.conf": "{ }"}})
	secret := digests("secret", &corev1.Secret{ObjectMeta: about, Data: map[string][]byte{"cloud-config.conf": []byte("{}")}})
	missing := digests("secret")
	for name, digest := range first {
		if digest == "" || again[name] != digest || changed[name] == digest || changed[name] == "" || secret[name] == "" || missing[name] != "" {
			t.Errorf("%s: %q, again %q, changed %q, of a Secret %q, of none %q", name, digest, again[name], changed[name],
				secret[name], missing[name])
		}
	}
}

// TestTolerations: the pods run on nodes in every state that a node has while a cluster comes up, and leave those that are lost.
func TestTolerations(t *testing.T) {
	t.Parallel()
	pod := decode[appsv1.Deployment](t, render(t, "kube-system", nil)["Deployment nodecontroller"]).Spec.Template.Spec
	tolerated := func(key string, effect corev1.TaintEffect) *corev1.Toleration {
		for _, toleration := range pod.Tolerations {
			if toleration.Key == key && (toleration.Effect == "" || toleration.Effect == effect) &&
				toleration.Operator == corev1.TolerationOpExists {
				return &toleration
			}
		}
		return nil
	}
	for key, effects := range map[string][]corev1.TaintEffect{
		"node.cloudprovider.kubernetes.io/uninitialized": {corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute},
		"node.kubernetes.io/not-ready":                   {corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute},
		"node.kubernetes.io/network-unavailable":         {corev1.TaintEffectNoSchedule},
		"node.kubernetes.io/unreachable":                 {corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute},
		"node-role.kubernetes.io/control-plane":          {corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute},
		"node-role.kubernetes.io/master":                 {corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute},
	} {
		for _, effect := range effects {
			if got := tolerated(key, effect); got == nil {
				t.Errorf("%s:%s is not tolerated", key, effect)
			}
		}
	}
	if lost := tolerated("node.kubernetes.io/unreachable", corev1.TaintEffectNoExecute); lost == nil || lost.TolerationSeconds == nil {
		t.Error("replicas on lost nodes are never replaced")
	}
}

// TestImages: one tag for all, and one of its own for a component that is upgraded first.
func TestImages(t *testing.T) {
	t.Parallel()
	digest := "sha256:" + strings.Repeat("a", 64)
	documents := render(t, "kube-system", map[string]any{
		"image": map[string]any{"registry": "registry.example.com", "tag": "v2"},
		"components": map[string]any{
			"cloudgateway": map[string]any{"tag": "v3", "replicas": 3}, "nodecontroller": map[string]any{"digest": digest},
		},
	})
	for component, want := range map[string]string{
		"cloudgateway": ":v3", "lbcontroller": ":v2", "nodecontroller": "@" + digest, "routecontroller": ":v2",
	} {
		d := decode[appsv1.Deployment](t, documents["Deployment "+component])
		if got := d.Spec.Template.Spec.Containers[0].Image; got != "registry.example.com/alicloud-controllers/"+component+want {
			t.Errorf("%s has image %s", component, got)
		}
		if got := *d.Spec.Replicas; (got == 3) != (component == "cloudgateway") {
			t.Errorf("%s has %d replicas", component, got)
		}
	}
}

// TestUninstall: what a pod needs to give its Lease back is there until the end. What Helm leaves is named.
func TestUninstall(t *testing.T) {
	t.Parallel()
	documents := render(t, "kube-system", nil)
	for _, component := range ours.Components() {
		for _, key := range []string{"ServiceAccount " + component, "Role alicloud:" + component, "RoleBinding alicloud:" + component} {
			object := loose[metav1.PartialObjectMetadata](t, documents[key])
			if object.Annotations["helm.sh/resource-policy"] != "keep" || object.Labels["app.kubernetes.io/instance"] != "alicloud" {
				t.Errorf("%s goes with the release, or can't be found later: %v, %v", key, object.Annotations, object.Labels)
			}
		}
		for _, rule := range decode[rbacv1.Role](t, documents["Role alicloud:"+component]).Rules {
			if slices.Contains(rule.Resources, "leases") && slices.Contains(rule.Verbs, "update") &&
				!slices.Equal(rule.ResourceNames, []string{component}) {
				t.Errorf("%s may update the Leases %v", component, rule.ResourceNames)
			}
		}
		if object := loose[metav1.PartialObjectMetadata](t, documents["ClusterRole alicloud:"+component]); len(object.Annotations) > 0 {
			t.Errorf("the ClusterRole of %s stays: %v", component, object.Annotations)
		}
	}
	definitions, err := filepath.Glob("crds/*.yaml") // Helm never deletes them.
	if err != nil || len(definitions) == 0 {
		t.Fatalf("%d definitions: %v", len(definitions), err)
	}
	files, err := tryRender(t, "kube-system", values(nil), cluster(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range definitions {
		command := "kubectl delete crd --ignore-not-found " + loose[metav1.PartialObjectMetadata](t, read(t, file)).Name + "\n"
		for where, text := range map[string]string{
			"docs/install.md": read(t, "../../docs/install.md"), "the notes": files["alicloud-controllers/templates/NOTES.txt"] + "\n",
		} {
			if !strings.Contains(text, command) {
				t.Errorf("%s: no word of %s", where, command)
			}
		}
	}
}

// loose reads the part of a document that T knows.
func loose[T any](t *testing.T, document string) T {
	t.Helper()
	var object T
	if err := yaml.Unmarshal([]byte(document), &object); err != nil {
		t.Fatalf("%v\n%s", err, document)
	}
	return object
}

// TestNotes: they say what to look at, which level of Pod Security the pods need, and what uninstalling leaves.
func TestNotes(t *testing.T) {
	t.Parallel()
	for mode, privileged := range map[string]bool{"flannel": true, "terway": false} {
		changes := map[string]any{"network": map[string]any{"mode": mode, "clusterCIDRs": []any{"10.0.0.0/8"}},
			"tracing": map[string]any{"endpoint": "c:4317"}}
		files, err := tryRender(t, "cloud", values(changes), cluster(t))
		if err != nil {
			t.Fatal(err)
		}
		notes := files["alicloud-controllers/templates/NOTES.txt"]
		for _, part := range []string{
			"kubectl -n cloud exec deployment/cloudgateway -- cloudgateway doctor --config /etc/cloudgateway/config.yaml",
			"service.k8s.alibaba/resources", "wait --for=delete pod", "delete lease --ignore-not-found cloudgateway",
			"app.kubernetes.io/instance=alicloud", "tracing.endpoint c:4317",
			"image.registry is empty",
		} {
			if !strings.Contains(notes, part) {
				t.Errorf("%s: the notes lack %q:\n%s", mode, part, notes)
			}
		}
		if got := strings.Contains(notes, `level "privileged"`); got != privileged {
			t.Errorf("%s: the notes mention privileged pods: %t\n%s", mode, got, notes)
		}
		changes["image"] = map[string]any{"registry": "registry.example.com"}
		if files, err = tryRender(t, "cloud", values(changes), cluster(t)); err != nil ||
			strings.Contains(files["alicloud-controllers/templates/NOTES.txt"], "image.registry") {
			t.Errorf("%s: with a registry the notes still ask for one, %v", mode, err)
		}
		for authority, certManager := range map[string]map[string]any{"own": {"enabled": true},
			"another": {"enabled": true, "issuerRef": map[string]any{"name": "x"}}, "none": {}} {
			changes["tls"] = map[string]any{"certManager": certManager}
			files, err := tryRender(t, "cloud", values(changes), cluster(t))
			if left := strings.Contains(files["alicloud-controllers/templates/NOTES.txt"], "cloudgateway-tls cloudgateway-ca\n"); err != nil ||
				left != (authority == "own") {
				t.Errorf("%s, authority %s of cert-manager: its Secret is removed: %t, %v", mode, authority, left, err)
			}
		}
	}
}

// TestEventsInTheRunbook: it says what to do about each event of the controllers, and about no other.
func TestEventsInTheRunbook(t *testing.T) {
	t.Parallel()
	reasons := func(text string) []string {
		var list []string
		for line := range strings.Lines(text) {
			if first, _, ok := strings.Cut(strings.TrimPrefix(line, "| "), " |"); ok && strings.HasPrefix(first, "`") {
				for reason := range strings.SplitSeq(first, ", ") {
					list = append(list, strings.Trim(reason, "`"))
				}
			}
		}
		slices.Sort(list)
		return list
	}
	_, runbook, _ := strings.Cut(read(t, "../../docs/runbook.md"), "\n## Events\n")
	want := slices.Compact(reasons(read(t, "../../docs/reference/events.md"))) // Two controllers may have one reason.
	if diff := cmp.Diff(want, slices.Compact(reasons(runbook))); diff != "" || len(want) == 0 {
		t.Errorf("events (-of the controllers +of the runbook):\n%s", diff)
	}
}

// TestDoctorPod: helm test examines the same configuration as the gateway's pods have, with the same files, and is no gateway.
func TestDoctorPod(t *testing.T) {
	t.Parallel()
	documents := render(t, "cloud", map[string]any{
		"credentials": map[string]any{"existingSecret": "key"}, "cloudConfig": map[string]any{"configMap": "old"},
		"tls": map[string]any{"clientCASecret": "callers"},
		"components": map[string]any{"cloudgateway": map[string]any{
			"extraEnv":          []any{map[string]any{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}},
			"extraVolumes":      []any{map[string]any{"name": "more", "configMap": map[string]any{"name": "more"}}},
			"extraVolumeMounts": []any{map[string]any{"name": "more", "mountPath": "/etc/more"}},
		}},
	})
	gateway := decode[appsv1.Deployment](t, documents["Deployment cloudgateway"]).Spec
	pod := decode[corev1.Pod](t, documents["Pod cloudgateway-doctor"])
	if pod.Annotations["helm.sh/hook"] != "test" || len(pod.Spec.Containers) != 1 || pod.Spec.Containers[0].Args[0] != "doctor" {
		t.Fatalf("%+v", pod)
	}
	// The token is for calls of the gateway.
	spec := &gateway.Template.Spec
	spec.Containers[0].VolumeMounts = slices.DeleteFunc(spec.Containers[0].VolumeMounts,
		func(m corev1.VolumeMount) bool { return m.Name == "token" })
	spec.Volumes = slices.DeleteFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Name == "token" })
	if diff := cmp.Diff(spec.Containers[0].VolumeMounts, pod.Spec.Containers[0].VolumeMounts); diff != "" {
		t.Errorf("files (-gateway +doctor):\n%s", diff)
	}
	// It holds no Lease, and has no limit of memory.
	env := slices.DeleteFunc(spec.Containers[0].Env, func(e corev1.EnvVar) bool {
		return strings.HasPrefix(e.Name,
			"POD_") || e.Name == "GOMEMLIMIT"
	})
	if diff := cmp.Diff(env, pod.Spec.Containers[0].Env); diff != "" || len(env) == 0 {
		t.Errorf("environment (-gateway +doctor):\n%s", diff)
	}
	if diff := cmp.Diff(spec.Volumes, pod.Spec.Volumes); diff != "" {
		t.Errorf("volumes (-gateway +doctor):\n%s", diff)
	}
	if selector := gateway.Selector.MatchLabels["app.kubernetes.io/name"]; pod.Labels["app.kubernetes.io/name"] == selector {
		t.Error("the gateway's Service would lead to it")
	}
}

// metricNames finds our metrics in a query.
func metricNames() *regexp.Regexp {
	return regexp.MustCompile(`\b(cloudgateway|reconcile|readiness|lbcontroller|nodecontroller|routecontroller|ccm|leader_election)_[a-z_]+`)
}

// TestDashboard: every panel asks for metrics and labels that there are.
func TestDashboard(t *testing.T) {
	t.Parallel()
	object := decode[corev1.ConfigMap](t,
		render(t, "cloud", map[string]any{"dashboard": map[string]any{"enabled": true}})["ConfigMap alicloud-controllers-dashboard"])
	var dashboard struct {
		Title  string
		Panels []struct {
			Type, Title, Description string
			GridPos                  struct{ X, Y, W int }
			Targets                  []struct{ Expr, LegendFormat string }
			FieldConfig              struct {
				Defaults struct {
					Unit   string
					Custom struct{ AxisLabel string }
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(object.Data["alicloud-controllers.json"]), &dashboard); err != nil {
		t.Fatalf("%v\n%s", err, object.Data["alicloud-controllers.json"])
	}
	if dashboard.Title == "" || len(dashboard.Panels) < 10 || object.Labels["grafana_dashboard"] != "1" {
		t.Errorf("%q has %d panels, labels %v", dashboard.Title, len(dashboard.Panels), object.Labels)
	}
	labels := map[string][]string{} // of each metric
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| [a-z]+ \\| ([a-z_, ]*) \\|").FindAllStringSubmatch(
		read(t, "../../docs/reference/metrics.md"), -1) {
		labels[row[1]] = strings.Split(row[2], ", ")
	}
	by, suffix := regexp.MustCompile(`by \(([a-z_, ]+)\)`), regexp.MustCompile("_(bucket|sum|count)$")
	filter := regexp.MustCompile(` and on \([^)]*\) leader_election_master_status\{[^}]*\}`) // only keeps the series of others out
	places := map[[2]int]bool{}
	runbook := read(t, "../../docs/runbook.md")
	for _, panel := range dashboard.Panels {
		if panel.Type == "row" {
			continue
		}
		_, part, ok := strings.Cut(panel.Description, "docs/runbook.md#")
		if ok && !strings.Contains(strings.ToLower(runbook), "\n## "+part+"\n") {
			t.Errorf("%s leads to %s of the runbook, which isn't there", panel.Title, part)
		}
		if panel.Type == "timeseries" && (panel.FieldConfig.Defaults.Custom.AxisLabel == "" || panel.Description == "") {
			t.Errorf("%s says neither what its axis counts nor what it shows: %+v", panel.Title, panel)
		}
		if place := [2]int{panel.GridPos.X, panel.GridPos.Y}; places[place] || panel.FieldConfig.Defaults.Unit == "" ||
			panel.Title == "" || len(panel.Targets) == 0 {
			t.Errorf("panel %+v is not complete, or is on another", panel)
		} else {
			places[place] = true
		}
		for _, target := range panel.Targets {
			expr := filter.ReplaceAllString(target.Expr, "")
			asked := metricNames().FindAllString(expr, -1)
			if len(asked) == 0 {
				t.Errorf("%s asks for nothing of ours: %s", panel.Title, target.Expr)
			}
			for _, metric := range asked {
				known, ok := labels[metric]
				if !ok {
					known, ok = labels[suffix.ReplaceAllString(metric, "")]
				}
				if !ok {
					t.Errorf("%s asks for %s, which there is not", panel.Title, metric)
				}
				for _, group := range by.FindAllStringSubmatch(expr, -1) {
					for label := range strings.SplitSeq(group[1], ", ") {
						// The job is a label that Prometheus adds.
						if label != "le" && label != "job" && !slices.Contains(known, label) {
							t.Errorf("%s: %s has no label %s", panel.Title, metric, label)
						}
					}
				}
			}
			for _, label := range regexp.MustCompile(`\{\{([a-z_]+)\}\}`).FindAllStringSubmatch(target.LegendFormat, -1) {
				if grouped := by.FindString(target.Expr); grouped != "" && !strings.Contains(grouped, label[1]) {
					t.Errorf("%s: the legend shows %s, which is summed up", panel.Title, label[1])
				}
			}
		}
	}
}

// TestDashboardOfManyClusters: each figure is that of a cluster, with its name, and a link leads to the runbook where
// it is published. A row is there if what it is about is installed.
func TestDashboardOfManyClusters(t *testing.T) {
	t.Parallel()
	type panel struct {
		Type, Title string
		Links       []struct{ URL string }
		GridPos     struct{ X, Y, W, H int }
		Targets     []struct{ Expr, LegendFormat string }
	}
	panels := func(values map[string]any) (all []panel, rows []string) {
		values["dashboard"] = map[string]any{"enabled": true}
		object := decode[corev1.ConfigMap](t, render(t, "cloud", values)["ConfigMap alicloud-controllers-dashboard"])
		var dashboard struct{ Panels []panel }
		if err := json.Unmarshal([]byte(object.Data["alicloud-controllers.json"]), &dashboard); err != nil {
			t.Fatal(err)
		}
		for _, p := range dashboard.Panels {
			if p.Type == "row" {
				rows = append(rows, p.Title)
			}
		}
		return dashboard.Panels, rows
	}
	all, rows := panels(map[string]any{"prometheusRule": map[string]any{
		"aggregationLabels": []any{"cluster", "site"}, "runbookURL": "https://wiki.example.com/runbook"}})
	taken := map[[2]int]string{}
	for _, p := range all {
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" {
					t.Fatalf("%s lies on %s", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		for _, target := range p.Targets {
			if strings.Contains(target.Expr, " by ") != strings.Contains(target.Expr, "by (cluster, site") ||
				strings.Contains(target.Expr, "LABELS") || strings.Contains(target.Expr, "ZERO") || strings.Contains(target.Expr, "vector(") ||
				!strings.HasPrefix(target.LegendFormat, "{{cluster}} {{site}}") {
				t.Errorf("%s asks %s, and shows it as %s", p.Title, target.Expr, target.LegendFormat)
			}
		}
		if p.Type == "stat" && (len(p.Links) != 1 || !strings.HasPrefix(p.Links[0].URL, "https://wiki.example.com/runbook#alicloud")) {
			t.Errorf("%s leads to %v", p.Title, p.Links)
		}
	}
	if !slices.Contains(rows, "routecontroller") || slices.Contains(rows, "The OpenAPI front") {
		t.Errorf("the rows are %q", rows)
	}
	_, rows = panels(map[string]any{"network": map[string]any{"mode": "terway", "clusterCIDRs": []any{}}})
	if slices.Contains(rows, "routecontroller") || !slices.Contains(rows, "nodecontroller") {
		t.Errorf("without routes the rows are %q", rows)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
