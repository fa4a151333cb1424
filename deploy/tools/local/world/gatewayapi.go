package world

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"alicloud-controllers.dev/deploy/chart"
	"alicloud-controllers.dev/deploy/tools/local/binaries"
)

// gatewayVersion is that of the Gateway API's kinds.
var gatewayVersion = schema.GroupVersion{Group: "gateway.networking.k8s.io", Version: "v1"} //nolint:gochecknoglobals // A constant.

// gatewayClasses are those of a world that serves Gateways.
const gatewayClasses = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: nlb}
spec: {controllerName: alibabacloud.com/nlb}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: clb}
spec: {controllerName: alibabacloud.com/clb}
`

// serveGateways installs the custom resources of the Gateway API and of ServerGroupBindings, gives lbcontroller its rights for
// them, and makes the GatewayClasses.
func (w *World) serveGateways(ctx context.Context) error {
	root, err := binaries.Root()
	if err != nil {
		return err
	}
	definitions, err := gatewayDefinitions(ctx, root)
	if err != nil {
		return err
	}
	for _, file := range append([]string{filepath.Join(root, "deploy/chart/crds/servergroupbindings.yaml")}, definitions...) {
		text, err := os.ReadFile(file)
		if err != nil {
			return fmt.Errorf("read a custom resource: %w", err)
		}
		if err := w.ApplyAny(ctx, text); err != nil {
			return err
		}
	}
	for _, rights := range []string{LB + "-gateway-api", LB + "-server-group-bindings"} {
		rbac, err := chart.RBAC(rights)
		if err != nil {
			return err
		}
		if err := w.Apply(ctx, rbac); err != nil {
			return err
		}
	}
	for { // The API server serves a new kind some time after it took its definition.
		served, err := w.client.Discovery().ServerResourcesForGroupVersion(gatewayVersion.String())
		if err == nil && len(slices.DeleteFunc(served.APIResources, func(r metav1.APIResource) bool { return strings.Contains(r.Name, "/") })) ==
			len(definitions) {
			return w.ApplyAny(ctx, []byte(gatewayClasses))
		}
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("wait for the Gateway API: %w", ctx.Err()), err)
		case <-time.After(100 * time.Millisecond): //nolint:mnd // Until it is looked again.
		}
	}
}

// gatewayDefinitions are the files of the custom resources, of the version with which lbcontroller is built.
func gatewayDefinitions(ctx context.Context, root string) ([]string, error) {
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api")
	list.Dir = filepath.Join(root, LB)
	dir, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("find the custom resources of the Gateway API: %w", err)
	}
	pattern := filepath.Join(strings.TrimSpace(string(dir)), "config/crd/standard/"+gatewayVersion.Group+"_*s.yaml")
	files, err := filepath.Glob(pattern)
	files = slices.DeleteFunc(files, func(name string) bool { return strings.Contains(name, "_vap_") })
	if err == nil && len(files) == 0 {
		err = errors.New("nothing is there")
	}
	if err != nil {
		return nil, fmt.Errorf("find the custom resources of the Gateway API, %s: %w", pattern, err)
	}
	return files, nil
}

// ApplyAny creates the objects of YAML documents, of any kind whose plural has an s or es more, or changes those that exist to that.
func (w *World) ApplyAny(ctx context.Context, documents []byte) error {
	cfg, err := clientcmd.BuildConfigFromFlags("", w.Kubeconfig())
	if err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return fmt.Errorf("make Kubernetes client: %w", err)
	}
	for text := range strings.SplitSeq(string(documents), "\n---\n") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
			return fmt.Errorf("decode manifest: %w", err)
		}
		if len(object.Object) == 0 {
			continue
		}
		plural := strings.ToLower(object.GetKind()) + "s"
		if strings.HasSuffix(plural, "ss") {
			plural = strings.TrimSuffix(plural, "s") + "es"
		}
		kind := object.GroupVersionKind().GroupVersion().WithResource(plural)
		resource := client.Resource(kind).Namespace(object.GetNamespace())
		if _, err = resource.Create(ctx, object, metav1.CreateOptions{}); apierrors.IsAlreadyExists(err) {
			_, err = resource.Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: "world", Force: true})
		}
		if err != nil {
			return fmt.Errorf("write %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}
