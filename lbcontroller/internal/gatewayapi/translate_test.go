package gatewayapi

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"alicloud-controllers.dev/lbcontroller/internal/backend"
	"alicloud-controllers.dev/lbcontroller/internal/shadow"
)

var update = flag.Bool("update", false, "write the expected results anew")

// decode reads objects from YAML.
func decode(t testing.TB, text []byte) (objects []runtime.Object) {
	t.Helper()
	s := runtime.NewScheme()
	if err := scheme.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	if err := gatewayv1.Install(s); err != nil {
		t.Fatal(err)
	}
	decoder := serializer.NewCodecFactory(s, serializer.EnableStrict).UniversalDeserializer()
	for part := range bytes.SplitSeq(text, []byte("\n---\n")) {
		if len(bytes.TrimSpace(part)) == 0 {
			continue
		}
		obj, _, err := decoder.Decode(part, nil, nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, part)
		}
		m := obj.(metav1.Object)
		if m.GetUID() == "" {
			m.SetUID(types.UID("uid-" + m.GetName()))
		}
		objects = append(objects, obj)
	}
	return objects
}

// worldOf is a World with these objects. Secrets are those that are there; namespace closed is one that is not read.
func worldOf(objects []runtime.Object, options Options) *World {
	services, endpoints, secrets := map[types.NamespacedName]*corev1.Service{},
		map[types.NamespacedName][]*discoveryv1.EndpointSlice{}, map[types.NamespacedName]bool{}
	w := &World{Options: options}
	for _, obj := range objects {
		switch o := obj.(type) {
		case *corev1.Service:
			services[shadow.NameOf(o)] = o
		case *corev1.Secret:
			secrets[shadow.NameOf(o)] = true
		case *discoveryv1.EndpointSlice:
			of := types.NamespacedName{Namespace: o.Namespace, Name: o.Labels[discoveryv1.LabelServiceName]}
			endpoints[of] = append(endpoints[of], o)
		default:
			w.Add(o)
		}
	}
	w.Service = func(name types.NamespacedName) *corev1.Service { return services[name] }
	w.Slices = func(name types.NamespacedName) []*discoveryv1.EndpointSlice { return endpoints[name] }
	w.Secret = func(name types.NamespacedName) (string, bool) {
		switch {
		case name.Namespace == "closed":
			return "its namespace is not read", true
		case !secrets[name]:
			return "there is none", false
		}
		return "", false
	}
	return w
}

func describe(b *strings.Builder, indent string, conditions []metav1.Condition) {
	for _, c := range conditions {
		if c.Type == string(gatewayv1.ListenerConditionConflicted) && c.Status == metav1.ConditionFalse ||
			c.Type == string(gatewayv1.GatewayClassConditionStatusSupportedVersion) && c.Status == metav1.ConditionTrue {
			continue
		}
		fmt.Fprintf(b, "%s%s=%s %s", indent, c.Type, c.Status, c.Reason)
		if c.Message != "" {
			b.WriteString(": " + c.Message)
		}
		b.WriteString("\n")
	}
}

func describeListener(b *strings.Builder, l gatewayv1.ListenerStatus) {
	var kinds []string
	for _, k := range l.SupportedKinds {
		kinds = append(kinds, string(k.Kind))
	}
	fmt.Fprintf(b, "  listener %s: %d routes of %v\n", l.Name, l.AttachedRoutes, kinds)
	describe(b, "    ", l.Conditions)
}

// tell is a translation as text.
func (t Translation) tell() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(t.Classes)) {
		fmt.Fprintf(&b, "class %s\n", name)
		describe(&b, "  ", t.Classes[name])
	}
	for _, g := range t.Gateways {
		slices.SortFunc(g.Slices, func(a, b *discoveryv1.EndpointSlice) int { return strings.Compare(a.Name, b.Name) })
		fmt.Fprintf(&b, "gateway %s\n", shadow.NameOf(g.Gateway))
		describe(&b, "  ", g.Status.Conditions)
		for _, a := range g.Status.Addresses {
			fmt.Fprintf(&b, "  address %s %s\n", *a.Type, a.Value)
		}
		for _, l := range g.Status.Listeners {
			describeListener(&b, l)
		}
		if n := *g.Status.AttachedListenerSets; n > 0 {
			fmt.Fprintf(&b, "  %d ListenerSets\n", n)
		}
		if s := g.Service; s != nil {
			fmt.Fprintf(&b, "  service %s of class %s\n", s.Name, value(s.Spec.LoadBalancerClass, "none"))
			for _, key := range slices.Sorted(maps.Keys(s.Labels)) {
				if s.Labels[key] != backend.SlicesManager && (s.Labels[key] != g.Gateway.Name || len(s.Labels[key]) > 63) {
					fmt.Fprintf(&b, "    label %s=%s\n", key, s.Labels[key])
				}
			}
			for _, key := range slices.Sorted(maps.Keys(s.Annotations)) {
				if key != shadow.AnnotationKeys && key != backend.AnnotationEdit {
					fmt.Fprintf(&b, "    %s=%s\n", strings.TrimPrefix(key, "service.beta.kubernetes.io/alibaba-cloud-loadbalancer-"), s.Annotations[key])
				}
			}
			if ranges := s.Spec.LoadBalancerSourceRanges; len(ranges) > 0 {
				fmt.Fprintf(&b, "    from %s\n", strings.Join(ranges, " and "))
			}
			for _, p := range s.Spec.Ports {
				fmt.Fprintf(&b, "    port %s %d/%s\n", p.Name, p.Port, p.Protocol)
				for _, slice := range g.Slices {
					if *slice.Ports[0].Name == p.Name {
						fmt.Fprintf(&b, "      %s %d:", slice.AddressType, *slice.Ports[0].Port)
						for _, e := range slice.Endpoints {
							fmt.Fprintf(&b, " %s", e.Addresses[0])
						}
						if note := slice.Annotations[backend.AnnotationWeight]; note != "" {
							fmt.Fprintf(&b, " weight %s", note)
						}
						b.WriteString("\n")
					}
				}
			}
		}
	}
	for _, name := range slices.SortedFunc(maps.Keys(t.ListenerSets), func(a,
		b types.NamespacedName) int {
		return strings.Compare(a.String(), b.String())
	}) {
		fmt.Fprintf(&b, "listener set %s\n", name)
		describe(&b, "  ", t.ListenerSets[name].Conditions)
		for _, l := range t.ListenerSets[name].Listeners {
			describeListener(&b, gatewayv1.ListenerStatus(l))
		}
	}
	slices.SortFunc(t.Routes, func(a, b Route) int {
		return strings.Compare(shadow.NameOf(&a.Meta).String(), shadow.NameOf(&b.Meta).String())
	})
	for _, r := range t.Routes {
		for _, p := range r.Said {
			section, port := "", ""
			if p.ParentRef.SectionName != nil {
				section = "/" + string(*p.ParentRef.SectionName)
			}
			if p.ParentRef.Port != nil {
				port = fmt.Sprintf(":%d", *p.ParentRef.Port)
			}
			fmt.Fprintf(&b, "%s %s at %s %s%s%s by %s\n", r.Kind, shadow.NameOf(&r.Meta), value(p.ParentRef.Kind, kindGateway),
				p.ParentRef.Name, section, port, p.ControllerName)
			describe(&b, "  ", p.Conditions)
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(t.Foreign)) {
		fmt.Fprintf(&b, "foreign %s\n", uid)
	}
	return b.String()
}

// TestTranslate: each file of testdata/translate is a cluster, and what is made of it and said in it, with pods as servers if its comment
// begins with "Pods", and without NLBs if it begins with "No NLBs". common.yaml is part of each.
func TestTranslate(t *testing.T) {
	t.Parallel()
	common, err := os.ReadFile("testdata/common.yaml")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/translate/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			objects := append(decode(t, common), decode(t, archive.Files[0].Data)...)
			before := make([]runtime.Object, 0, len(objects))
			for _, o := range objects {
				before = append(before, o.DeepCopyObject())
			}
			options := Options{PodBackends: bytes.HasPrefix(archive.Comment, []byte("Pods")),
				NoNLB: bytes.HasPrefix(archive.Comment, []byte("No NLBs"))}
			got := worldOf(objects, options).Translate().tell()
			if diff := cmp.Diff(before, objects); diff != "" {
				t.Errorf("what the caches have is changed (-before +after):\n%s", diff)
			}
			slices.Reverse(objects)
			if diff := cmp.Diff(got, worldOf(objects, options).Translate().tell()); diff != "" {
				t.Errorf("the order of the objects matters:\n%s", diff)
			}
			if *update {
				archive.Files = []txtar.File{archive.Files[0], {Name: "want", Data: []byte(got)}}
				if err := os.WriteFile(path, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(archive.Files[1].Data), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
