package app

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/pkg/client/clientset/versioned"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/cluster"
	"alicloud-controllers.dev/lbcontroller/internal/config"
	"alicloud-controllers.dev/lbcontroller/internal/gatewayapi"
	"alicloud-controllers.dev/lbcontroller/internal/shadow"
)

const (
	// unknownUID and firstPort stand for what the API server gives a Service that is not made yet.
	unknownUID = "00000000-0000-0000-0000-000000000000"
	firstPort  = 30000
)

// asked is what a Gateway asks for. The Service is nil if nothing can be made.
type asked struct {
	gateway *gatewayv1.Gateway
	service *corev1.Service
	slices  []*discoveryv1.EndpointSlice
	// notes say what of the Gateway and its routes is not as it should be.
	notes []string
}

// gatewayPlan translates the Gateways of a cluster, and those of a manifest, which count in place of the cluster's. A
// client that is nil reads none of the cluster.
type gatewayPlan struct {
	client   kubernetes.Interface
	gateways versioned.Interface
	cfg      config.Config
	manifest string
	world    gatewayapi.World
	services map[types.NamespacedName]*corev1.Service
}

// translate gives what each Gateway asks for.
func (p *gatewayPlan) translate(ctx context.Context) ([]asked, error) {
	if p.gateways == nil && p.manifest == "" {
		return nil, nil
	}
	slicesOf := map[types.NamespacedName][]*discoveryv1.EndpointSlice{}
	p.services = map[types.NamespacedName]*corev1.Service{}
	p.world = gatewayapi.World{Options: gatewayOptions(p.cfg), Service: func(name types.NamespacedName) *corev1.Service {
		return p.services[name]
	}, Slices: func(name types.NamespacedName) []*discoveryv1.EndpointSlice { return slicesOf[name] },
		Secret: func(name types.NamespacedName) (string, bool) { return p.secret(ctx, name) }}
	services, err := p.client.CoreV1().Services("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the Services: %w", err)
	}
	for i := range services.Items {
		p.services[shadow.NameOf(&services.Items[i])] = &services.Items[i]
	}
	endpoints, err := p.client.DiscoveryV1().EndpointSlices("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the EndpointSlices: %w", err)
	}
	for i := range endpoints.Items {
		s := &endpoints.Items[i]
		name := types.NamespacedName{Namespace: s.Namespace, Name: s.Labels[discoveryv1.LabelServiceName]}
		slicesOf[name] = append(slicesOf[name], s)
	}
	if err := p.objects(ctx); err != nil {
		return nil, err
	}
	return p.all()
}

// all translates.
func (p *gatewayPlan) all() (list []asked, err error) {
	served := map[types.NamespacedName]bool{}
	t := p.world.Translate()
	for _, g := range t.Gateways {
		served[shadow.NameOf(g.Gateway)] = true
		a := asked{gateway: g.Gateway, service: g.Service, slices: g.Slices, notes: p.notes(t, g)}
		list = append(list, a)
		if g.Service == nil {
			continue
		}
		made := &list[len(list)-1]
		made.notes = append(made.notes, p.deleted(g.Gateway, shadow.NameOf(g.Service))...)
		switch live := p.services[shadow.NameOf(g.Service)]; {
		case live == nil:
			made.notes = append(made.notes, "its Service is not made yet: load balancer and server groups will have other names")
			made.service.UID = unknownUID
		case !shadow.IsOf(live, g.Gateway) || live.DeletionTimestamp != nil:
			made.service = nil
			made.notes = append(made.notes, fmt.Sprintf("Service %s is in the way: it is not that of this Gateway, or is being deleted",
				shadow.NameOf(live)))
			continue
		default:
			if made.service, err = shadow.Changed(live, g.Service); err != nil {
				return nil, err
			}
		}
		for i := range made.service.Spec.Ports {
			if port := &made.service.Spec.Ports[i].NodePort; *port == 0 {
				*port = firstPort + int32(i)
			}
		}
	}
	for _, g := range p.world.Gateways {
		gone := p.deleted(g, types.NamespacedName{})
		switch {
		case served[shadow.NameOf(g)], g.DeletionTimestamp != nil:
		case !t.Foreign[g.UID]:
			why := fmt.Sprintf("there is no GatewayClass %s, or it is not accepted", g.Spec.GatewayClassName)
			if p.world.Lacks != "" {
				why = "custom resources of the Gateway API are missing: " + p.world.Lacks
			}
			list = append(list, asked{gateway: g, notes: []string{why}})
		case len(gone) > 0:
			list = append(list, asked{gateway: g, notes: gone})
		}
	}
	return list, nil
}

// deleted says which Services of a Gateway are deleted, as they are of another class.
func (p *gatewayPlan) deleted(g *gatewayv1.Gateway, but types.NamespacedName) (notes []string) {
	for name, svc := range p.services {
		if name != but && shadow.IsOurs(svc) && shadow.IsOf(svc, g) && svc.DeletionTimestamp == nil {
			notes = append(notes, fmt.Sprintf("Service %s is deleted, and its load balancer with it: it is of another class", name))
		}
	}
	slices.Sort(notes)
	return notes
}

// objects puts the objects of the manifest and those of the cluster into the world.
func (p *gatewayPlan) objects(ctx context.Context) error {
	given, err := decodeManifest(p.manifest)
	if err != nil {
		return err
	}
	inCluster, now := map[string]metav1.Object{}, metav1.Now().Rfc3339Copy() // The API server keeps seconds.
	if p.gateways != nil {
		if inCluster, err = p.listObjects(ctx); err != nil {
			return err
		}
	}
	for _, obj := range given {
		if svc, ok := obj.(*corev1.Service); ok {
			p.services[shadow.NameOf(svc)] = svc
		}
		key := keyOf(obj)
		if old := inCluster[key]; old != nil {
			obj.SetUID(old.GetUID())
			obj.SetCreationTimestamp(old.GetCreationTimestamp())
		} else {
			obj.SetUID(types.UID(key))
			obj.SetCreationTimestamp(now) // It will be the youngest.
		}
		inCluster[key] = obj
	}
	for _, key := range slices.Sorted(maps.Keys(inCluster)) { // What is printed has an order.
		p.world.Add(inCluster[key])
	}
	return nil
}

func keyOf(o metav1.Object) string { return fmt.Sprintf("%T %s", o, shadow.NameOf(o)) }

// decodeManifest reads the objects of a manifest. Those of unknown kinds are left out.
func decodeManifest(manifest string) (objects []metav1.Object, err error) {
	known := runtime.NewScheme()
	if err := errors.Join(scheme.AddToScheme(known), gatewayv1.Install(known)); err != nil {
		return nil, err
	}
	decoder := serializer.NewCodecFactory(known, serializer.EnableStrict).UniversalDeserializer()
	reader := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(manifest)))
	for {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the manifest: %w", err)
		}
		obj, kind, err := decoder.Decode(text, nil, nil)
		if runtime.IsNotRegisteredError(err) || runtime.IsMissingKind(err) {
			var about metav1.TypeMeta
			if err := yaml.Unmarshal(text, &about); err != nil {
				return nil, fmt.Errorf("read the manifest: %w", err)
			}
			if strings.HasPrefix(about.APIVersion, gatewayv1.GroupName+"/") {
				return nil, fmt.Errorf("read the manifest: there is no %s of %s here; use version v1", about.Kind, about.APIVersion)
			}
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the manifest: %w", err)
		}
		o, ok := obj.(metav1.Object)
		if !ok {
			return nil, fmt.Errorf("read the manifest: a %s can't be planned; name its objects one by one", kind.Kind)
		}
		if o.GetNamespace() == "" && kind.Kind != "GatewayClass" && kind.Kind != "Namespace" {
			o.SetNamespace(metav1.NamespaceDefault)
		}
		objects = append(objects, o)
	}
}

// listObjects are the objects of the cluster that Gateways may have to do with.
func (p *gatewayPlan) listObjects(ctx context.Context) (map[string]metav1.Object, error) {
	found, v1 := map[string]metav1.Object{}, p.gateways.GatewayV1()
	all := metav1.ListOptions{}
	names := []string{"GatewayClass", "Gateway", "ListenerSet", "TCPRoute", "UDPRoute", "TLSRoute", "ReferenceGrant", "Namespace"}
	var lacks []string
	lists := []func() (runtime.Object, error){
		func() (runtime.Object, error) { return v1.GatewayClasses().List(ctx, all) },
		func() (runtime.Object, error) { return v1.Gateways("").List(ctx, all) },
		func() (runtime.Object, error) { return v1.ListenerSets("").List(ctx, all) },
		func() (runtime.Object, error) { return v1.TCPRoutes("").List(ctx, all) },
		func() (runtime.Object, error) { return v1.UDPRoutes("").List(ctx, all) },
		func() (runtime.Object, error) { return v1.TLSRoutes("").List(ctx, all) },
		func() (runtime.Object, error) { return v1.ReferenceGrants("").List(ctx, all) },
		func() (runtime.Object, error) { return p.client.CoreV1().Namespaces().List(ctx, all) },
	}
	for i, list := range lists {
		objects, err := list()
		if apierrors.IsNotFound(err) { // The custom resource isn't installed: the controller serves nothing before it is.
			lacks = append(lacks, names[i])
			continue
		}
		if err == nil {
			err = meta.EachListItem(objects, func(obj runtime.Object) error {
				o, err := meta.Accessor(obj)
				if err == nil {
					found[keyOf(o)] = o
				}
				return err
			})
		}
		if err != nil {
			return nil, fmt.Errorf("list what belongs to Gateways: %w", err)
		}
	}
	p.world.Lacks = strings.Join(lacks, ", ")
	return found, nil
}

// claims say who may use Secrets of other namespaces; nil if nobody may.
func (p *gatewayPlan) claims() cluster.Claims {
	if p.gateways == nil && p.manifest == "" {
		return nil
	}
	return p.world.MayUse
}

// secret says why the certificate of a Secret can't be used, as the controller does.
func (p *gatewayPlan) secret(ctx context.Context, name types.NamespacedName) (problem string, lasting bool) {
	named := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace,
		Annotations: map[string]string{annotation.Prefix + annotation.TLSSecret: name.Name}}}
	found := cluster.ReadSecrets(ctx, p.client, p.cfg.TLSSecretNamespaces, named, nil)[name.Name]
	if found.Forbidden {
		return "namespace " + name.Namespace + " is not among tlsSecretNamespaces", true
	}
	return found.Problem, false
}

// notes are what is said of a Gateway, its listeners and its routes, but for what is not so yet.
func (p *gatewayPlan) notes(t gatewayapi.Translation, g gatewayapi.Translated) (notes []string) {
	say := func(about string, conditions []metav1.Condition) {
		for _, c := range conditions {
			if c.Message != "" && c.Type != string(gatewayv1.GatewayConditionProgrammed) &&
				c.Type != string(gatewayv1.ListenerConditionConflicted) {
				notes = append(notes, fmt.Sprintf("%s: %s %s, %s: %s", about, c.Type, c.Status, c.Reason, c.Message))
			}
		}
	}
	name := shadow.NameOf(g.Gateway)
	say("Gateway "+name.String(), g.Status.Conditions)
	for _, l := range g.Status.Listeners {
		say("listener "+string(l.Name), l.Conditions)
	}
	parents := []string{"Gateway " + name.String()}
	for _, set := range p.world.ListenerSets {
		of := types.NamespacedName{Namespace: set.Namespace, Name: string(set.Spec.ParentRef.Name)}
		if set.Spec.ParentRef.Namespace != nil {
			of.Namespace = string(*set.Spec.ParentRef.Namespace)
		}
		if of != name {
			continue
		}
		parents = append(parents, "ListenerSet "+shadow.NameOf(set).String())
		say(parents[len(parents)-1], t.ListenerSets[shadow.NameOf(set)].Conditions)
		for _, l := range t.ListenerSets[shadow.NameOf(set)].Listeners {
			say(fmt.Sprintf("listener %s of %s", l.Name, parents[len(parents)-1]), l.Conditions)
		}
	}
	for _, r := range t.Routes {
		for _, said := range r.Said {
			parent, namespace := "Gateway", r.Meta.Namespace
			if said.ParentRef.Kind != nil {
				parent = string(*said.ParentRef.Kind)
			}
			if said.ParentRef.Namespace != nil {
				namespace = string(*said.ParentRef.Namespace)
			}
			if slices.Contains(parents, fmt.Sprintf("%s %s/%s", parent, namespace, said.ParentRef.Name)) {
				say(fmt.Sprintf("%s %s", r.Kind, shadow.NameOf(&r.Meta)), said.Conditions)
			}
		}
	}
	return notes
}
