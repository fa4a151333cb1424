package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/deploy/tools/local/world"
	"alicloud-controllers.dev/services/nodes"
)

// inTrouble is a world whose users ask the plugin of kubectl.
type inTrouble struct {
	testWorld
	t      *testing.T
	plugin string // the directory with it, and with a kubectl
}

// TestWhy brings Services, nodes and routes into trouble of many kinds, one after the other, and asks `kubectl alicloud
// why` each time. What it names first is the cause, with what to do; afterwards nothing stands in the way.
func TestWhy(t *testing.T) {
	t.Parallel()
	w := inTrouble{testWorld: boot(t, 2, instant), t: t}
	w.initialised(t)
	w.tool(t) // Its token is asked with.
	w.install()
	w.serve("web")
	w.says("service/web", "")
	w.services()
	w.processes()
	w.ofNodes()
	w.ofRoutes()
	w.says("service/web", "")
}

// install builds the plugin, and makes a kubectl for it: the pods of a world are processes of this machine.
func (w *inTrouble) install() {
	w.t.Helper()
	w.plugin = w.t.TempDir()
	build := exec.CommandContext(w.t.Context(), "go", "build", "-o", w.plugin+"/", "./deploy/plugin/cmd/kubectl-alicloud")
	build.Dir = built.root
	if out, err := build.CombinedOutput(); err != nil {
		w.t.Fatalf("build the plugin: %v\n%s", err, out)
	}
	program, err := kubectl()
	if err != nil {
		w.t.Fatal(err)
	}
	script := fmt.Sprintf("#!/bin/sh\n[ \"$1\" = exec ] && exec '%s' top --config '%s' --token-file '%s' -o json\nexec '%s' \"$@\"\n",
		filepath.Join(built.bin, "cloudgateway"), filepath.Join(w.Dir(), "config", "cloudgateway.yaml"), w.toolToken(), program)
	if err := os.WriteFile(filepath.Join(w.plugin, "kubectl"), []byte(script), 0o700); err != nil {
		w.t.Fatal(err)
	}
}

// says waits until what stands first in the way of a thing has the texts; with an empty one, until nothing does.
func (w *inTrouble) says(thing string, texts ...string) {
	w.t.Helper()
	var screen string
	eventually(w.t, "why "+thing, func(ctx context.Context) error {
		cmd := exec.CommandContext(ctx, filepath.Join(w.plugin, "kubectl-alicloud"), "why", thing)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+w.Kubeconfig(), "PATH="+w.plugin+":"+os.Getenv("PATH"))
		out, err := cmd.Output() // What stands in the way is an error.
		screen = string(out)
		_, first, found := strings.Cut(screen, "\n  1. ")
		first, _, _ = strings.Cut(first, "\n\n")
		for _, text := range texts {
			if text == "" && (found || err != nil) || !strings.Contains(first, text) {
				return errors.Join(err, fmt.Errorf("the first obstacle lacks %q:\n%s", text, screen))
			}
		}
		return nil
	})
	w.t.Logf("why %s\n%s", thing, screen)
}

// serve makes a Service with a ready endpoint.
func (w *inTrouble) serve(name string, changes ...func(*corev1.Service)) {
	w.t.Helper()
	svc := newService(name, nil, 80)
	for _, change := range changes {
		change(svc)
	}
	yes, port := true, int32(8080)
	slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: name + "-test", Namespace: svc.Namespace,
		Labels: map[string]string{discoveryv1.LabelServiceName: name}}, AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.5"}, Conditions: discoveryv1.EndpointConditions{Ready: &yes}}},
		Ports:     []discoveryv1.EndpointPort{{Name: &svc.Spec.Ports[0].Name, Port: &port}}}
	if _, err := w.Client().DiscoveryV1().EndpointSlices(svc.Namespace).Create(w.t.Context(), slice, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	w.create(w.t, svc)
}

func annotated(key, value string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Annotations[annotationPrefix+key] = value }
}

// struck lets the cloud refuse an action while something is done.
func (w *inTrouble) struck(action, code string, status int, do func()) {
	w.t.Helper()
	refused := &fault.Error{Code: code, Status: status, Message: "refused by the test"}
	if err := w.Cloud().SetFaults(w.t.Context(), fault.Rule{Action: action, Error: refused}); err != nil {
		w.t.Fatal(err)
	}
	do()
	if err := w.Cloud().ClearFaults(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

func (w *inTrouble) services() {
	w.t.Helper()
	w.serve("fastest", annotated("scheduler", "fastest"))
	w.says("service/fastest", "Synced is False", "scheduler", `"fastest"`)
	w.serve("others", func(s *corev1.Service) { s.Spec.LoadBalancerClass = new("metallb.io/metallb") })
	w.says("service/others", "metallb.io/metallb, which is another controller's")
	w.serve("inside", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeClusterIP })
	w.says("service/inside", "its type is ClusterIP")
	w.says("service/nowhere", "there is no service nowhere")
	w.create(w.t, newService("idle", nil, 80))
	w.says("service/idle", "no pod that it selects (app=idle) is ready", "get pods -l app=idle")

	w.struck("CreateLoadBalancer", "Throttling.User", 400, func() {
		w.serve("throttled")
		w.says("service/throttled", "Synced is ", "Throttled", "CreateLoadBalancer")
	})
	w.says("service/throttled", "")
	w.struck("CreateLoadBalancer", "Forbidden.RAM", 403, func() {
		w.serve("denied")
		w.says("service/denied", "Synced is False", "CreateLoadBalancer", "RAM")
	})
	w.remove(w.t, "denied")
	full := func(n int) {
		w.t.Helper()
		if err := w.Cloud().Limits(w.t.Context(), func(doc *openapisim.LimitsDocument) { doc.Settings.Quotas.LoadBalancers = n }); err != nil {
			w.t.Fatal(err)
		}
	}
	full(len(w.state(w.t).LoadBalancers))
	w.serve("one-too-many")
	w.says("service/one-too-many", "Synced is False", "quota")
	full(100)
	w.remove(w.t, "one-too-many")
}

// end ends a process as a rollout does.
func (w *inTrouble) end(process string) {
	w.t.Helper()
	if err := w.Process(process).Stop(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *inTrouble) processes() {
	w.t.Helper()
	w.end("cloudgateway")
	w.says("service/web", "no cloudgateway leads", "app.kubernetes.io/name=cloudgateway")
	if err := w.Restart(w.t.Context(), "cloudgateway"); err != nil {
		w.t.Fatal(err)
	}
	w.says("service/web", "")

	// The existing cloud controller manager is back before our leader.
	w.end(world.LB)
	leases := w.Client().CoordinationV1().Leases("kube-system")
	holder, seconds, now := "master-1_x", int32(600), metav1.NewMicroTime(time.Now())
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "ccm"},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &now}}
	if _, err := leases.Create(w.t.Context(), lease, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	if err := w.Process(world.LB).Start(); err != nil {
		w.t.Fatal(err)
	}
	w.says("service/web", "no lbcontroller leads", "master-1 renews the Lease kube-system/ccm", "docs/migrate.md")
	if err := leases.Delete(w.t.Context(), "ccm", metav1.DeleteOptions{}); err != nil {
		w.t.Fatal(err)
	}
	w.says("service/web", "")
}

func (w *inTrouble) ofNodes() {
	w.t.Helper()
	w.says("node/nowhere", "there is no node nowhere in the cluster", "kubelet")
	w.struck("DescribeInstances", "Forbidden.RAM", 403, func() {
		name := w.add()
		w.says("node/"+name, "it is not initialised", "DescribeInstances", "RAM")
	})
	w.initialised(w.t)
	for _, node := range w.nodes(w.t) {
		w.says("node/"+node.Name, "")
	}
	elsewhere := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "elsewhere"}, Spec: corev1.NodeSpec{ProviderID: "cn-beijing.i-bp1elsewhere",
		Taints: []corev1.Taint{{Key: nodes.TaintUninitialized, Value: "true", Effect: corev1.TaintEffectNoSchedule}}}}
	all := w.Client().CoreV1().Nodes()
	if _, err := all.Create(w.t.Context(), elsewhere, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	w.says("node/elsewhere", "it is not initialised", "cn-beijing", world.Region)
	patch := []byte(`{"metadata":{"labels":{"` + nodes.LabelExclude + `":"true"}}}`)
	if _, err := all.Patch(w.t.Context(), "elsewhere", "application/merge-patch+json", patch, metav1.PatchOptions{}); err != nil {
		w.t.Fatal(err)
	}
	w.says("node/elsewhere", "it is none of ours", nodes.LabelExclude)
	if err := all.Delete(w.t.Context(), "elsewhere", metav1.DeleteOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// add adds a node.
func (w *inTrouble) add() string {
	w.t.Helper()
	names, err := w.AddNodes(w.t.Context(), 1)
	if err != nil {
		w.t.Fatal(err)
	}
	return names[0]
}

func (w *inTrouble) ofRoutes() {
	w.t.Helper()
	w.struck("CreateRouteEntries", "Forbidden.RAM", 403, func() {
		name := w.add()
		w.says("route/"+name, "NetworkUnavailable is True", "create route", "RAM")
	})
	w.initialised(w.t)
	for _, node := range w.nodes(w.t) {
		w.says("route/"+node.Name, "")
	}

	// Somebody else has an entry for the range of the next node.
	w.end(world.Route)
	name := w.add()
	other := instanceOf(&w.nodes(w.t)[0])
	var entry map[string]string
	eventually(w.t, "the node has a range of pods", func(ctx context.Context) error {
		node, err := w.Client().CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil || node.Spec.PodCIDR == "" {
			return errors.Join(err, errors.New("it has none"))
		}
		entry = map[string]string{"RegionId": world.Region, "RouteTableId": world.RouteTableID, "DestinationCidrBlock": node.Spec.PodCIDR,
			"NextHopType": "Instance", "NextHopId": other, "Description": "by hand"}
		return nil
	})
	vpc := w.product(w.t, "VPC", "2016-04-28")
	if err := vpc.Call(w.t.Context(), "CreateRouteEntry", entry); err != nil {
		w.t.Fatal(err)
	}
	if err := w.Restart(w.t.Context(), world.Route); err != nil {
		w.t.Fatal(err)
	}
	w.says("route/"+name, "NetworkUnavailable is True", entry["DestinationCidrBlock"], "by hand")
	if err := vpc.Call(w.t.Context(), "DeleteRouteEntry", entry); err != nil {
		w.t.Fatal(err)
	}
	w.end(world.Route) // A new one looks at once, and not only at its next turn.
	if err := w.Restart(w.t.Context(), world.Route); err != nil {
		w.t.Fatal(err)
	}
	w.says("route/"+name, "")
}
