package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim/journal"
	"alicloud-controllers.dev/deploy/tools/local/binaries"
	"alicloud-controllers.dev/deploy/tools/local/world"
)

// TestUpgrade lets the controllers of an earlier commit serve the examples of its docs/services.md, nodes and routes,
// on this gateway, which is upgraded first. Then each controller is upgraded in its place, with what the earlier one
// left in objects, ConfigMaps, Leases and the cloud. The upgrade alone writes nothing to the cloud, and to objects what
// is documented; nor do the next looks at all of them write to the cloud. `make skew` names the commit in SKEW_FROM.
func TestUpgrade(t *testing.T) {
	from := os.Getenv("SKEW_FROM")
	if from == "" {
		t.Skip("SKEW_FROM names no commit: make skew chooses one, which takes a clone with history")
	}
	root, err := binaries.Root()
	if err != nil {
		t.Fatal(err)
	}
	earlier := checkout(t, root, from)
	earlierBin, dir := filepath.Join(t.TempDir(), "bin"), filepath.Join(t.TempDir(), "bin")
	programs := world.Controllers()
	if err := binaries.BuildProcesses(t.Context(), earlier, earlierBin, false, programs...); err != nil {
		t.Fatal(err)
	}
	link(t, dir, built.bin, "openapisim", "cloudgateway")
	link(t, dir, earlierBin, programs...)
	u := upgrade{skewed{oldCCM{t: t, testWorld: bootWith(t, world.Config{
		Nodes: 2, BinDir: dir, Fast: bool(instant),
		Gateway: map[string]any{"api": map[string]any{"enable": []string{}}}, // An earlier one hasn't all that tools use.
	})}}}
	u.api = u.slb(t)
	u.installChart()
	u.initialised(t)
	u.serveExamples(filepath.Join(earlier, "docs", "services.md"))
	u.addNodes(t, 1)
	u.initialised(t)
	since, before := u.position(t), u.left()

	for _, name := range slices.Backward(programs) {
		if err := u.Process(name).Stop(); err != nil {
			t.Fatal(err)
		}
	}
	link(t, dir, built.bin, programs...)
	for _, name := range programs {
		if err := u.Install(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	u.looked(since)
	since = u.nothingWritten("the upgrade", since)
	after := u.left()
	for name, is := range after.services {
		if was, ok := before.services[name]; ok {
			before.services[name] = u.documented(was, is)
		}
	}
	if diff := cmp.Diff(before, after, cmp.AllowUnexported(left{})); diff != "" {
		t.Errorf("the upgrade wrote to objects (-before +after):\n%s", diff)
	}

	u.touchAll()
	u.nothingWritten("the next look at each Service", since)
	u.checkLogs()
}

// link has programs of one directory in another.
func link(t *testing.T, in, of string, programs ...string) {
	t.Helper()
	if err := os.MkdirAll(in, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, program := range programs {
		path := filepath.Join(in, program)
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(of, program), path); err != nil {
			t.Fatal(err)
		}
	}
}

type upgrade struct{ skewed }

// left is what the controllers leave in the cluster: Services, of nodes all but what kubelets report again and again,
// and the ConfigMaps for the next leader.
type left struct {
	services       map[string]corev1.Service
	nodes, records map[string][]any
}

func (u upgrade) left() left {
	u.t.Helper()
	all := left{services: map[string]corev1.Service{}, nodes: map[string][]any{}, records: map[string][]any{}}
	services, err := u.Client().CoreV1().Services(metav1.NamespaceAll).List(u.t.Context(), metav1.ListOptions{})
	if err != nil {
		u.t.Fatal(err)
	}
	for _, svc := range services.Items {
		svc.ManagedFields, svc.ResourceVersion = nil, ""
		all.services[svc.Name] = svc
	}
	nodes, err := u.Client().CoreV1().Nodes().List(u.t.Context(), metav1.ListOptions{})
	if err != nil {
		u.t.Fatal(err)
	}
	for _, node := range nodes.Items {
		for i := range node.Status.Conditions {
			node.Status.Conditions[i].LastHeartbeatTime = metav1.Time{}
		}
		all.nodes[node.Name] = []any{node.Labels, node.Annotations, node.Finalizers, node.Spec, node.Status.Addresses, node.Status.Conditions}
	}
	records, err := u.Client().CoreV1().ConfigMaps("kube-system").List(u.t.Context(), metav1.ListOptions{})
	if err != nil {
		u.t.Fatal(err)
	}
	for _, record := range records.Items {
		if slices.ContainsFunc(world.Controllers(), func(name string) bool { return strings.HasPrefix(record.Name, name+"-") }) {
			all.records[record.Name] = []any{record.Data, record.BinaryData, record.Labels, record.Annotations}
		}
	}
	return all
}

// documented is a Service as it was, with what the upgrade notes of CHANGELOG.md say that an upgrade from 0.1.0
// changes: once, and nothing else.
func (u upgrade) documented(was, is corev1.Service) corev1.Service {
	const applied = "service.k8s.alibaba/applied-annotations"
	want := was.DeepCopy()
	proxied := slices.ContainsFunc(is.Status.LoadBalancer.Ingress, func(i corev1.LoadBalancerIngress) bool {
		return i.IPMode != nil && *i.IPMode == corev1.LoadBalancerIPModeProxy
	})
	switch {
	case proxied && cmp.Equal(was.Spec, is.Spec):
		u.t.Logf("%s: ipMode is Proxy", is.Name)
		for i := range want.Status.LoadBalancer.Ingress {
			want.Status.LoadBalancer.Ingress[i].IPMode = is.Status.LoadBalancer.Ingress[i].IPMode
		}
		want.Labels[hashLabel], want.Annotations[applied] = is.Labels[hashLabel], "ip-mode,"+was.Annotations[applied]
		if strings.HasPrefix(was.Annotations[applied], "ip-mode,") {
			want.Annotations[applied] = was.Annotations[applied]
		}
	case annotation(&is, "external-ip-type") == "eip":
		u.t.Logf("%s: EIPs are part of the hash", is.Name)
		want.Labels[hashLabel] = is.Labels[hashLabel]
	}
	return *want
}

// looked waits until each controller has read what it looks after.
func (u upgrade) looked(since int64) {
	u.t.Helper()
	eventually(u.t, "the new controllers have looked at everything", func(ctx context.Context) error {
		calls, _, err := u.Cloud().Calls(ctx, since)
		if err != nil {
			return err
		}
		for _, action := range []string{"DescribeInstances", "DescribeRouteEntryList"} {
			if !slices.ContainsFunc(calls, func(c journal.Call) bool { return c.Action == action && c.Code == "" }) {
				return fmt.Errorf("%s was not called yet", action)
			}
		}
		return nil
	})
}

// touched is an annotation that means nothing. Whoever sets it has the load balancer compared at once.
const touched = "example.com/touched"

func (u upgrade) touchAll() {
	u.t.Helper()
	services, err := u.Client().CoreV1().Services(metav1.NamespaceDefault).List(u.t.Context(), metav1.ListOptions{})
	if err != nil {
		u.t.Fatal(err)
	}
	for _, svc := range services.Items {
		if svc.Spec.Type == corev1.ServiceTypeLoadBalancer {
			u.change(u.t, svc.Name, func(s *corev1.Service) { metav1.SetMetaDataAnnotation(&s.ObjectMeta, touched, "1") })
		}
	}
}

// nothingWritten waits until all is quiet, and returns where the journal ends.
func (u upgrade) nothingWritten(what string, since int64) int64 {
	u.t.Helper()
	calls, next := u.settle(u.t, since)
	reads := 0
	for _, call := range calls {
		if call.Mutating {
			u.t.Errorf("%s: a write: %s %s %v, answered %q", what, call.Product, call.Action, call.Params, call.Code)
		} else {
			reads++
		}
	}
	u.t.Logf("%s: %d reads of the cloud and no write", what, reads)
	return next
}
