package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"alicloud-controllers.dev/deploy/tools/local/world"
)

// bindingWorld is a world with the custom resource of ServerGroupBindings.
type bindingWorld struct {
	testWorld
	client dynamic.NamespaceableResourceInterface
}

func newBindingWorld(t *testing.T) bindingWorld {
	t.Helper()
	w := bindingWorld{testWorld: bootWith(t, world.Config{Nodes: 2, Controllers: world.Controllers(), Fast: true,
		LB: map[string]any{"serverGroupBindings": map[string]any{"enabled": true}}})}
	w.initialised(t)
	cfg, err := clientcmd.BuildConfigFromFlags("", w.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	rights, err := os.ReadFile("../../chart/files/rbac/lbcontroller-server-group-bindings.yaml")
	if err == nil {
		err = w.Apply(t.Context(), rights)
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../../chart/crds/servergroupbindings.yaml")
	if err != nil {
		t.Fatal(err)
	}
	definitions := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1",
		Resource: "customresourcedefinitions"})
	crd := decoded(t, string(text))
	if _, err := definitions.Create(t.Context(), crd,
		metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the custom resource is served", func(ctx context.Context) error {
		now, err := definitions.Get(ctx, crd.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		list, _, err := unstructured.NestedSlice(now.Object, "status", "conditions")
		if text := fmt.Sprint(list); err != nil || !strings.Contains(text, "status:True type:Established") {
			return fmt.Errorf("%s, %w", text, err)
		}
		return nil
	})
	w.client = client.Resource(schema.GroupVersionResource{Group: "alibabacloud.com", Version: "v1",
		Resource: "servergroupbindings"})
	return w
}

func decoded(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

func (w bindingWorld) make(t *testing.T, name, serverGroup, more string) error {
	t.Helper()
	_, err := w.client.Namespace("default").Create(t.Context(), decoded(t, fmt.Sprintf(`apiVersion: alibabacloud.com/v1
kind: ServerGroupBinding
metadata: {name: %s}
spec: {serviceRef: {name: shop, port: http}, serverGroup: {%s}%s}
`, name, serverGroup, more)), metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	return err
}

// says waits until a condition of a binding says something, "STATUS REASON", and the number of its servers.
func (w bindingWorld) says(t *testing.T, name, condition, want string, servers int64) {
	t.Helper()
	eventually(t, name+": "+condition+" is "+want, func(ctx context.Context) error {
		b, err := w.client.Namespace("default").Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		n, _, _ := unstructured.NestedInt64(b.Object, "status", "serverCount")
		list, _, _ := unstructured.NestedSlice(b.Object, "status", "conditions")
		isWanted := func(c any) bool {
			is, ok := c.(map[string]any)
			return ok && is["type"] == condition && fmt.Sprintf("%s %s", is["status"], is["reason"]) == want
		}
		if n != servers || !slices.ContainsFunc(list, isWanted) {
			return fmt.Errorf("%d servers, %v", n, list)
		}
		return nil
	})
}

// TestServerGroupBinding: with the custom resource and the rights of the chart, a binding fills a vServer group of the
// user's beside a server of others with the nodes of a Service of type ClusterIP. In the end all is as it was.
func TestServerGroupBinding(t *testing.T) {
	t.Parallel()
	w := newBindingWorld(t)
	users := oldCCM{testWorld: w.testWorld, t: t, api: w.slb(t)}
	users.call("CreateLoadBalancer", map[string]string{"AddressType": "internet", "LoadBalancerName": "mine",
		"InstanceChargeType": "PayByCLCU"})
	id := users.lbOf("mine").ID
	users.call("CreateVServerGroup", map[string]string{"LoadBalancerId": id, "VServerGroupName": "mine"})
	group := users.groupOf(id, "mine")
	nodes := slices.Collect(maps.Keys(w.state(t).Instances))
	users.seedOutsider()
	users.addServers(group, map[string]any{"ServerId": outsider, "Port": 9000, "Weight": 7})
	before := w.state(t)
	shop := newService("shop", nil, 80)
	shop.Spec.Type, shop.Spec.Ports[0].Name = corev1.ServiceTypeClusterIP, "http"
	w.create(t, shop)

	onLB := "kind: CLB, loadBalancerID: " + id
	for name, wrong := range map[string][2]string{
		"both": {onLB + ", id: " + group + ", name: mine", ""}, "neither": {onLB, ""}, "heavy": {onLB + ", name: mine",
			", weight: 101"},
		"other": {"kind: ALB, loadBalancerID: alb-1, name: mine", ""}, "unknown": {onLB + ", name: mine", ", wait: 1"},
	} {
		if err := w.make(t, name, wrong[0], wrong[1]); !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err) {
			t.Errorf("the API server takes %q: %v", wrong, err)
		}
	}
	for name, asked := range map[string]string{"web": "mine", "lost": "nowhere"} {
		if err := w.make(t, name, onLB+", name: "+asked, ", weight: 50"); err != nil {
			t.Fatal(err)
		}
	}
	w.says(t, "web", "Registered", "True Registered", 2)
	w.says(t, "lost", "Accepted", "False ServerGroupNotFound", 0)
	weights := func(want int) {
		t.Helper()
		all := map[string]int{outsider: 7}
		for _, id := range nodes {
			all[id] = want
		}
		users.servers(group, all)
	}
	weights(25)
	patch := func(text string) error {
		_, err := w.client.Namespace("default").Patch(t.Context(), "web", types.MergePatchType, []byte(text),
			metav1.PatchOptions{})
		return err
	}
	if err := patch(`{"spec":{"weight":10}}`); err != nil {
		t.Fatal(err)
	}
	weights(5)
	if err := patch(`{"spec":{"serverGroup":{"loadBalancerID":"lb-another"}}}`); !apierrors.IsInvalid(err) {
		t.Errorf("another load balancer: %v", err)
	}
	for _, name := range []string{"web", "lost"} {
		if err := w.client.Namespace("default").Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the bindings go", func(ctx context.Context) error {
		list, err := w.client.List(ctx, metav1.ListOptions{})
		if err == nil && len(list.Items) > 0 {
			err = fmt.Errorf("%d are left", len(list.Items))
		}
		return err
	})
	if diff := cmp.Diff(before.ServerGroups, w.state(t).ServerGroups); diff != "" {
		t.Errorf("vServer groups (-before +after):\n%s", diff)
	}
}
