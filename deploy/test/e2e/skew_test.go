package e2e

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/deploy/chart"
	"alicloud-controllers.dev/deploy/tools/local/binaries"
	"alicloud-controllers.dev/deploy/tools/local/world"
)

// TestSkew runs an earlier commit's controllers on this gateway, and these controllers on the earlier gateway, all with
// the configuration of this chart, over the examples of docs/services.md. `make skew` chooses the commit and names it
// in SKEW_FROM.
func TestSkew(t *testing.T) {
	from := os.Getenv("SKEW_FROM")
	if from == "" {
		t.Skip("SKEW_FROM names no commit: make skew chooses one, which takes a clone with history")
	}
	root, err := binaries.Root()
	if err != nil {
		t.Fatal(err)
	}
	earlier := checkout(t, root, from)
	earlierBin := filepath.Join(t.TempDir(), "bin")
	if err := binaries.BuildProcesses(t.Context(), earlier, earlierBin, false); err != nil {
		t.Fatal(err)
	}
	for name, versions := range map[string]struct{ gateway, controllers, tree string }{
		"earlier controllers on this gateway":      {built.bin, earlierBin, earlier},
		"these controllers on the earlier gateway": {earlierBin, built.bin, root},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "bin")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			for program, source := range map[string]string{
				"openapisim": built.bin, "cloudgateway": versions.gateway, world.LB: versions.controllers,
				world.Node: versions.controllers, world.Route: versions.controllers,
			} {
				if err := os.Symlink(filepath.Join(source, program), filepath.Join(dir, program)); err != nil {
					t.Fatal(err)
				}
			}
			s := skewed{oldCCM{t: t, testWorld: bootWith(t, world.Config{
				Nodes: 2, BinDir: dir, Fast: bool(instant),
				Gateway: map[string]any{"api": map[string]any{"enable": []string{}}}, // An earlier one hasn't all that tools use.
			})}}
			s.api = s.slb(t)
			if versions.gateway != built.bin {
				s.grantAsBefore(earlier)
			}
			s.installChart()
			s.initialised(t)
			s.serveExamples(filepath.Join(versions.tree, "docs", "services.md"))
			s.addNodes(t, 1)
			s.initialised(t)
			s.removeExamples()
			s.checkLogs()
		})
	}
}

// checkout writes the tree of a commit, without touching the repository.
func checkout(t *testing.T, root, commit string) string {
	t.Helper()
	dir := t.TempDir()
	archive := exec.CommandContext(t.Context(), "git", "-C", root, "archive", commit)
	tree, err := archive.Output()
	if err != nil {
		t.Skipf("commit %s is not in this clone, which may be a shallow one (git fetch --unshallow): %v", commit, err)
	}
	unpack := exec.CommandContext(t.Context(), "tar", "-x", "-C", dir)
	unpack.Stdin = bytes.NewReader(tree)
	if out, err := unpack.CombinedOutput(); err != nil {
		t.Fatalf("unpack %s: %v\n%s", commit, err, out)
	}
	return dir
}

type skewed struct{ oldCCM }

// installChart replaces the gateway and starts the controllers, with what this chart says. So a key that the chart adds
// without being asked, and that an earlier process does not know, fails here.
func (s skewed) installChart() {
	s.t.Helper()
	cfg, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig())
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.Process("cloudgateway").Stop(); err != nil {
		s.t.Fatal(err)
	}
	switches := []any{}
	for _, id := range world.VSwitchIDs() {
		switches = append(switches, id)
	}
	files := map[string]string{}
	for _, document := range renderChart(s.t, cfg, map[string]any{
		"clusterID": world.ClusterID, "region": world.Region, "vpcID": world.VpcID, "vswitchIDs": switches,
		"network": map[string]any{"mode": "flannel", "clusterCIDRs": []any{"10.0.0.0/10"}},
	}) {
		var c corev1.ConfigMap
		if err := yaml.Unmarshal([]byte(document), &c); err == nil && c.Kind == "ConfigMap" {
			files[c.Name] = c.Data["config.yaml"]
		}
	}
	for _, component := range chart.Components() {
		if _, err := s.Configure(component, []byte(files[component])); err != nil {
			s.t.Fatal(err)
		}
		if err := s.Install(s.t.Context(), component); err != nil {
			s.t.Fatal(err)
		}
	}
}

// grantAsBefore gives nodecontroller the role of the earlier chart. An earlier gateway does not know the permission
// for the source/destination check alone, so that nodecontroller waits for the end of a roll-out
// (docs/adr/0009-scopes.md).
func (s skewed) grantAsBefore(tree string) {
	s.t.Helper()
	role, err := os.ReadFile(filepath.Join(tree, "deploy", "chart", "files", "rbac", "nodecontroller.yaml"))
	if err != nil {
		s.t.Fatal(err)
	}
	for document := range strings.SplitSeq("\n"+string(role), "\n---") {
		var r rbacv1.ClusterRole
		if err := yaml.Unmarshal([]byte(document), &r); err != nil {
			s.t.Fatal(err)
		}
		if r.Kind != "ClusterRole" {
			continue
		}
		if _, err := s.Client().RbacV1().ClusterRoles().Update(s.t.Context(), &r, metav1.UpdateOptions{}); err != nil {
			s.t.Fatal(err)
		}
	}
}

// notServed are examples that have no load balancer of the whole shape: one asks for no writes, one is about CLBs from
// before, such as are not sold any more, one needs a configuration that an earlier process doesn't know, and others bind an
// EIP, which an earlier gateway doesn't do for lbcontroller.
var notServed = []string{"sync-policy: report", "instance-charge-type: PayBySpec", "tls-secret:", "loadbalancer-eip-"}

// serveExamples makes a Service of each example, and waits until all are as they ask for.
func (s skewed) serveExamples(page string) {
	s.t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		s.t.Fatal(err)
	}
	s.call("CreateLoadBalancer", map[string]string{"AddressType": "internet", "LoadBalancerName": "users", "InstanceChargeType": "PayByCLCU"})
	lb := s.lbOf("users").ID
	s.call("CreateVServerGroup", map[string]string{"LoadBalancerId": lb, "VServerGroupName": "users"})
	ours := strings.NewReplacer(
		"lb-bp1example", lb, "rsp-bp1example", s.groupOf(lb, "users"), "vsw-bp1example", world.VSwitchIDs()[0], "acl-bp1example", world.AclID,
		"rg-example", state.DefaultResourceGroup, "cn-hangzhou-g", world.Region+"-i",
		"1234567890_18e3a5b0f9c_1234567890_-12345678", world.CertificateID, "1234567890_18e3a5b0f9c_1234567890_-87654321", world.CertificateID,
	)
	examples := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(examples) == 0 {
		s.t.Fatalf("%s has no examples", page)
	}
	for i, example := range examples {
		if slices.ContainsFunc(notServed, func(part string) bool { return strings.Contains(example[1], part) }) {
			continue
		}
		service := newService(fmt.Sprintf("example-%d", i), nil, 80)
		given := parseService(s.t, ours.Replace(example[1]))
		maps.Copy(service.Annotations, given.Annotations)
		if len(given.Spec.Ports) > 0 {
			service.Spec.Ports = given.Spec.Ports
		}
		s.create(s.t, service)
	}
	eventually(s.t, "all examples are served", func(ctx context.Context) error {
		services, err := s.Client().CoreV1().Services(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, svc := range services.Items {
			synced := slices.ContainsFunc(svc.Status.Conditions, func(c metav1.Condition) bool {
				return c.Type == "Synced" &&
					c.Status == metav1.ConditionTrue
			})
			if svc.Spec.Type == corev1.ServiceTypeLoadBalancer && !synced {
				return fmt.Errorf("%s with %v: conditions %v; events %v", svc.Name, svc.Annotations, svc.Status.Conditions, s.events(ctx, svc.Name))
			}
		}
		return nil
	})
}

// removeExamples deletes the Services: all of theirs goes, but for what is to be kept.
func (s skewed) removeExamples() {
	s.t.Helper()
	services, err := s.Client().CoreV1().Services(metav1.NamespaceDefault).List(s.t.Context(), metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	kept := 1 // The user's.
	for _, svc := range services.Items {
		if svc.Spec.Type != corev1.ServiceTypeLoadBalancer {
			continue
		}
		if annotation(&svc, "preserve-lb-on-delete") != "" {
			kept++
		}
		s.delete(s.t, svc.Name)
	}
	eventually(s.t, "the examples go", func(ctx context.Context) error {
		left := len(s.state(s.t).LoadBalancers)
		list, err := s.Client().CoreV1().Services(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
		if err == nil && (len(list.Items) > 1 || left != kept) { // That of the API server stays.
			err = fmt.Errorf("there are %d Services and %d CLBs, want 1 and %d", len(list.Items), left, kept)
		}
		return err
	})
}

// checkLogs looks for answers that only a gateway and a controller of different minds give.
func (s skewed) checkLogs() {
	s.t.Helper()
	for _, controller := range world.Controllers() {
		log, err := os.ReadFile(s.Process(controller).LogFile())
		if err != nil {
			s.t.Fatal(err)
		}
		for line := range strings.Lines(string(log)) {
			for _, misunderstanding := range []string{"code = Unimplemented", "code = InvalidArgument",
				"code = PermissionDenied", "CALLER_FORBIDDEN", "INVALID_REQUEST"} {
				if strings.Contains(line, misunderstanding) {
					s.t.Errorf("%s: %s", controller, line)
				}
			}
		}
	}
}
