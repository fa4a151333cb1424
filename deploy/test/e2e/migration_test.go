package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"alicloud-controllers.dev/cloudgateway/openapisim/journal"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/deploy/chart"
	"alicloud-controllers.dev/deploy/tools/local/binaries"
	"alicloud-controllers.dev/deploy/tools/local/world"
)

// TestMigration moves a cluster from each version of the existing controller manager, back, and over again, by the commands of
// docs/migrate.md. What Helm does is done by hand: there are no kubelets that would run its pods.
func TestMigration(t *testing.T) {
	t.Parallel()
	for _, e := range eras() {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			w := bootWith(t, world.Config{Nodes: 3, Fast: bool(instant)})
			if err := w.Process("cloudgateway").Stop(); err != nil { // It is installed later.
				t.Fatal(err)
			}
			m := migration{oldCCM: oldCCM{testWorld: w, t: t, api: w.slb(t), version: e.version}, era: e}
			m.prepare()
			if faults := m.rejects(); len(faults) > 0 {
				t.Fatalf("what %s leaves is not what it accepts:\n%s", e.name, strings.Join(faults, "\n"))
			}
			book := m.book()

			book.run("kubectl -n kube-system get daemonset")
			book.run("migrate --cloud-config")
			components := m.configure()
			m.writesNothing("the plan", func() {
				if err := w.Install(t.Context(), "cloudgateway"); err != nil {
					t.Fatal(err)
				}
				m.plan(components)
			})
			book.run("kubectl -n kube-system patch daemonset")
			m.awaitOld(0)
			before := m.inCluster()
			m.writesNothing("the takeover", func() { m.install(components) })
			m.compare(before)
			book.run("kubectl get events -A --field-selector type=Warning")
			m.warnedOf("PreservedOnDelete") // The old one says that, too.
			m.goOn()

			m.writesNothing("going back", func() {
				m.uninstall()
				book.run("kubectl -n kube-system delete lease")
				if e.version.noFinalizer {
					book.run("kubectl get services -A -o jsonpath")
				}
				book.run("kubectl -n kube-system patch daemonset cloud-controller-manager --type=json")
				m.awaitOld(1)
			})
			if faults := m.rejects(); len(faults) > 0 {
				t.Errorf("%s would not take this for what it left:\n%s", e.name, strings.Join(faults, "\n"))
			}

			m.resume()
			book.run("kubectl -n kube-system patch daemonset")
			m.awaitOld(0)
			before = m.inCluster()
			m.writesNothing("the second takeover", func() {
				if err := w.Install(t.Context(), "cloudgateway"); err != nil {
					t.Fatal(err)
				}
				m.install(components)
			})
			m.compare(before)
		})
	}
}

// kubectl is that of the control plane's version.
var kubectl = sync.OnceValues(func() (string, error) {
	root, err := binaries.Root()
	if err != nil {
		return "", err
	}
	return binaries.EnsureKubectl(context.Background(), binaries.Config{Root: root, Assets: os.Getenv("KUBEBUILDER_ASSETS"), Out: os.Stderr})
})

// shell runs a command with the cluster's kubectl and our programs, in the directory of the operator.
func (m migration) shell(text string) *exec.Cmd {
	m.t.Helper()
	program, err := kubectl()
	if err != nil {
		m.t.Fatal(err)
	}
	cmd := exec.CommandContext(m.t.Context(), "sh", "-ec", text)
	cmd.Dir = filepath.Join(m.Dir(), "operator")
	if err := os.MkdirAll(cmd.Dir, 0o700); err != nil {
		m.t.Fatal(err)
	}
	cmd.Env = append(os.Environ(), "KUBECONFIG="+m.Kubeconfig(), "METADATA_ENDPOINT="+m.MetadataEndpoint(),
		"PATH="+filepath.Dir(program)+":"+built.bin+":"+os.Getenv("PATH"))
	return cmd
}

// book is docs/migrate.md, as an operator follows it.
type book struct {
	migration
	blocks []string
}

func (m migration) book() book {
	m.t.Helper()
	text, err := os.ReadFile("../../../docs/migrate.md")
	if err != nil {
		m.t.Fatal(err)
	}
	var blocks []string
	for _, part := range strings.Split(string(text), "```sh\n")[1:] {
		block, _, _ := strings.Cut(part, "```")
		blocks = append(blocks, block)
	}
	return book{m, blocks}
}

// run runs the block that begins so.
func (b book) run(beginning string) {
	b.t.Helper()
	for _, block := range b.blocks {
		if strings.HasPrefix(block, beginning) {
			if out, err := b.shell(block).CombinedOutput(); err != nil {
				b.t.Fatalf("%s: %v\n%s", block, err, out)
			}
			return
		}
	}
	b.t.Fatalf("docs/migrate.md has no block that begins with %q", beginning)
}

// writesNothing fails if the cloud is written to, until it is left alone if controllers run then.
func (m migration) writesNothing(what string, do func()) {
	m.t.Helper()
	before, since := m.state(m.t), m.end()
	do()
	if slices.ContainsFunc(m.Ours(), func(name string) bool {
		return name != "openapisim" && name != "cloudgateway" && m.Process(name).Running()
	}) {
		m.settle(m.t, since)
	}
	calls, _, err := m.Cloud().Calls(m.t.Context(), since)
	if err != nil {
		m.t.Fatal(err)
	}
	for _, call := range calls {
		if call.Mutating {
			m.t.Errorf("%s: a write: %s %s %v, answered %q", what, call.Product, call.Action, call.Params, call.Code)
		}
	}
	after := m.state(m.t)
	if diff := cmp.Diff(resources(before), resources(after)); diff != "" {
		m.t.Errorf("%s: the cloud changed (-before +after):\n%s", what, diff)
	}
}

// warnedOf fails if our processes have warned of anything but this. Kubernetes' controllers warn of conflicts that they
// then resolve, and the API server of addresses that it repairs.
func (m migration) warnedOf(reasons ...string) {
	m.t.Helper()
	list, err := m.Client().CoreV1().Events(metav1.NamespaceAll).List(m.t.Context(), metav1.ListOptions{FieldSelector: "type=Warning"})
	if err != nil {
		m.t.Fatal(err)
	}
	for _, e := range list.Items {
		if slices.Contains([]string{"service-controller", world.Node, world.Route, "cloudgateway"}, e.Source.Component) &&
			!slices.Contains(reasons, e.Reason) {
			m.t.Errorf("after the takeover, %s warns about %s: %s: %s", e.Source.Component, e.InvolvedObject.Name, e.Reason, e.Message)
		}
	}
}

// end is the end of the journal now.
func (m migration) end() int64 {
	m.t.Helper()
	_, next, err := m.Cloud().Calls(m.t.Context(), 0)
	if err != nil {
		m.t.Fatal(err)
	}
	return next
}

// resources are what the controllers could change.
func resources(c *state.Cloud) map[string]any {
	return map[string]any{"CLBs": c.LoadBalancers, "vServer groups": c.ServerGroups, "route tables": c.RouteTables,
		"interfaces": c.Interfaces, "instances": c.Instances}
}

// configure writes the configurations that the chart makes of the converted values, and returns the components that it installs.
func (m migration) configure() []string {
	m.t.Helper()
	text, err := os.ReadFile(filepath.Join(m.Dir(), "operator", "values.yaml"))
	if err != nil {
		m.t.Fatal(err)
	}
	if bytes.Contains(text, []byte("not-the-key")) || bytes.Contains(text, []byte("unknown")) {
		m.t.Errorf("the values have a secret, or a setting is unknown:\n%s", text)
	}
	var values map[string]any
	if err := yaml.Unmarshal(text, &values); err != nil {
		m.t.Fatalf("%v\n%s", err, text)
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", m.Kubeconfig())
	if err != nil {
		m.t.Fatal(err)
	}
	files := map[string]string{}
	for _, document := range renderChart(m.t, cfg, values) {
		var c corev1.ConfigMap
		if err := yaml.Unmarshal([]byte(document), &c); err == nil && c.Kind == "ConfigMap" && c.Data["config.yaml"] != "" {
			files[c.Name] = c.Data["config.yaml"]
		}
	}
	var components []string
	for _, component := range chart.Components() {
		file, ok := files[component]
		if !ok {
			continue
		}
		if _, err := m.Configure(component, []byte(file)); err != nil {
			m.t.Fatal(err)
		}
		if component != "cloudgateway" {
			components = append(components, component)
		}
	}
	if want := 3; m.era.routes != (len(components) == want) {
		m.t.Errorf("the chart installs %v, where the old one made routes: %t", components, m.era.routes)
	}
	return components
}

// plan has each controller print what it would change, which must be nothing.
func (m migration) plan(components []string) {
	m.t.Helper()
	for _, component := range components {
		command := component + " plan --config ../config/" + component + ".yaml"
		out, err := m.shell(command + " -o json").Output()
		if err != nil {
			m.t.Fatalf("%s: %v\n%s", command, err, out)
		}
		var found struct {
			Services []struct {
				Service, Error             string
				Actions, Refused, Warnings []string
			}
			Orphans []any
			Nodes   []struct {
				Node, Problem string
				Changes       []string
			}
			RouteTables []struct {
				Create, Delete, Problems []any
				Available                int
			}
		}
		if err := json.Unmarshal(out, &found); err != nil {
			m.t.Fatalf("%s: %v\n%s", command, err, out)
		}
		for _, s := range found.Services {
			if s.Error != "" || len(s.Actions)+len(s.Refused)+len(s.Warnings) > 0 {
				m.t.Errorf("%s: %+v", command, s)
			}
		}
		for _, node := range found.Nodes { // Labels that are newer than the version are added.
			if node.Problem != "" || slices.ContainsFunc(node.Changes, func(change string) bool { return !strings.Contains(change, "label") }) {
				m.t.Errorf("%s: %+v", command, node)
			}
		}
		for _, table := range found.RouteTables {
			if len(table.Create)+len(table.Delete)+len(table.Problems) > 0 || table.Available == 0 {
				m.t.Errorf("%s: %+v", command, table)
			}
		}
		if looked := len(found.Services) + len(found.Orphans) + len(found.RouteTables); looked == 0 &&
			component != world.Node || len(found.Orphans) > 0 {
			m.t.Errorf("%s: %s", command, out)
		}
	}
}

// install starts the controllers, and waits until each has done its first work.
func (m migration) install(components []string) {
	m.t.Helper()
	since := m.end()
	for _, component := range components {
		if err := m.Install(m.t.Context(), component); err != nil {
			m.t.Fatal(err)
		}
	}
	eventually(m.t, "the controllers have looked at everything", func(ctx context.Context) error {
		calls, _, err := m.Cloud().Calls(ctx, since)
		if err != nil {
			return err
		}
		read := func(action string) bool {
			return slices.ContainsFunc(calls, func(c journal.Call) bool { return c.Action == action && c.Code == "" })
		}
		if !read("DescribeInstances") || m.era.routes && !read("DescribeRouteEntryList") {
			return fmt.Errorf("instances or routes are not read yet, of %d calls", len(calls))
		}
		services, err := m.Client().CoreV1().Services(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, svc := range services.Items {
			if svc.Spec.Type != corev1.ServiceTypeLoadBalancer {
				continue
			}
			synced := slices.ContainsFunc(svc.Status.Conditions, func(c metav1.Condition) bool {
				return c.Type == "Synced" &&
					c.Status == metav1.ConditionTrue
			})
			if hash := svc.Labels[hashLabel]; hash == "" || strings.Trim(hash, "ab") == "" ||
				!slices.Contains(svc.Finalizers, clbFinalizer) || !synced {
				return fmt.Errorf("Service %s has labels %v, finalizers %v, conditions %v; events: %v", svc.Name, svc.Labels,
					svc.Finalizers, svc.Status.Conditions, m.events(ctx, svc.Name))
			}
		}
		nodes, err := m.Client().CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, node := range nodes.Items {
			if node.Labels["node.alibabacloud.com/spot-strategy"] == "" {
				return fmt.Errorf("node %s has the labels %v", node.Name, node.Labels)
			}
		}
		return nil
	})
}

// shown is what users and other programs see of the objects in the cluster.
type shown struct {
	Services map[string]corev1.LoadBalancerStatus
	Gates    map[string]corev1.PodCondition
	Nodes    map[string][]corev1.NodeAddress
	Taints   map[string][]corev1.Taint
	Networks map[string]corev1.NodeCondition
}

func (m migration) inCluster() shown {
	m.t.Helper()
	s := shown{
		Services: map[string]corev1.LoadBalancerStatus{}, Gates: map[string]corev1.PodCondition{}, Nodes: map[string][]corev1.NodeAddress{},
		Taints: map[string][]corev1.Taint{}, Networks: map[string]corev1.NodeCondition{},
	}
	services, err := m.Client().CoreV1().Services(metav1.NamespaceAll).List(m.t.Context(), metav1.ListOptions{})
	if err != nil {
		m.t.Fatal(err)
	}
	for _, svc := range services.Items {
		s.Services[svc.Name] = svc.Status.LoadBalancer
	}
	pods, err := m.Client().CoreV1().Pods(metav1.NamespaceDefault).List(m.t.Context(), metav1.ListOptions{})
	if err != nil {
		m.t.Fatal(err)
	}
	for _, pod := range pods.Items {
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady || strings.HasPrefix(string(c.Type), "service.readiness") {
				s.Gates[pod.Name+" "+string(c.Type)] = c // With the time of its last change.
			}
		}
	}
	nodes, err := m.Client().CoreV1().Nodes().List(m.t.Context(), metav1.ListOptions{})
	if err != nil {
		m.t.Fatal(err)
	}
	for _, node := range nodes.Items {
		s.Nodes[node.Name], s.Taints[node.Name] = node.Status.Addresses, node.Spec.Taints
		for _, c := range node.Status.Conditions {
			if c.Type == corev1.NodeNetworkUnavailable {
				s.Networks[node.Name] = c
			}
		}
	}
	return s
}

// compare fails if something in the cluster is not what it was.
func (m migration) compare(before shown) {
	m.t.Helper()
	if diff := cmp.Diff(before, m.inCluster()); diff != "" {
		m.t.Errorf("the cluster changed (-before +after):\n%s", diff)
	}
}

// goOn lets users and nodes go on while our controllers run.
func (m migration) goOn() {
	m.t.Helper()
	m.addNodes(m.t, 1)
	m.create(m.t, newService("new", map[string]string{"additional-resource-tags": "team=green"}, 80, 81))
	m.change(m.t, "plain", balanceByWeight)
	m.balanced(m.t, "new")
	m.done()
}

// done waits until what was asked for is done, by the rules of the existing controller manager.
func (m migration) done() {
	m.t.Helper()
	known := m
	known.version.noFinalizer = false // While ours run, all Services have it.
	eventually(m.t, "the changes are carried out", func(context.Context) error {
		if faults := known.rejects(); len(faults) > 0 {
			return fmt.Errorf("%s", strings.Join(faults, "\n"))
		}
		return nil
	})
	m.position(m.t)
}

// uninstall ends our processes, which give their Leases back.
func (m migration) uninstall() {
	m.t.Helper()
	for _, name := range slices.Backward(m.Ours()) {
		if name == "openapisim" {
			continue
		}
		if err := m.Process(name).Stop(); err != nil {
			m.t.Error(err)
		}
		if holder := m.leader(m.t.Context(), name); holder != "" {
			m.t.Errorf("%s has left its Lease to %s", name, holder)
		}
	}
}

// resume is the old one at work again: it looks at every Service once, since no hash is its own, and makes one more.
func (m migration) resume() {
	m.t.Helper()
	services, err := m.Client().CoreV1().Services(metav1.NamespaceDefault).List(m.t.Context(), metav1.ListOptions{})
	if err != nil {
		m.t.Fatal(err)
	}
	for _, svc := range services.Items {
		if svc.Spec.Type == corev1.ServiceTypeLoadBalancer {
			m.change(m.t, svc.Name, func(s *corev1.Service) { s.Labels[hashLabel] = strings.Repeat("b", 56) })
		}
	}
	later := tcpService("later", nil, nil)
	later.servers = m.nodePorts
	later.service.Annotations[backendType] = "ecs"
	m.serve(later)
}
