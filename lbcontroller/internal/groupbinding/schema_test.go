package groupbinding

import (
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"
)

// fieldSchema is as much of a schema as the types say.
type fieldSchema struct {
	Type       string                 `json:"type"`
	Properties map[string]fieldSchema `json:"properties"`
	Items      *fieldSchema           `json:"items"`
	Required   []string               `json:"required"`
	Enum       []string               `json:"enum"`
}

// TestSchema: the custom resource of the chart has the fields of the types, and none beside them.
func TestSchema(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../deploy/chart/crds/servergroupbindings.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
		Spec     struct {
			Group    string `json:"group"`
			Versions []struct {
				Name   string `json:"name"`
				Schema struct {
					OpenAPIV3Schema fieldSchema `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
			Names struct{ Kind, Plural string } `json:"names"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(text, &crd); err != nil || len(crd.Spec.Versions) != 1 {
		t.Fatal(err, crd)
	}
	version, gvr := crd.Spec.Versions[0], Resource()
	if crd.Spec.Group != gvr.Group || version.Name != gvr.Version || crd.Spec.Names.Plural != gvr.Resource ||
		crd.Metadata.Name != gvr.Resource+"."+gvr.Group || crd.Spec.Names.Kind != Kind {
		t.Errorf("the custom resource is another one: %+v", crd)
	}
	is := version.Schema.OpenAPIV3Schema
	compare(t, "spec", is.Properties["spec"], reflect.TypeFor[Spec]())
	compare(t, "status", is.Properties["status"], reflect.TypeFor[Status]())
	if diff := cmp.Diff([]string{NLB, CLB},
		is.Properties["spec"].Properties["serverGroup"].Properties["kind"].Enum); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
}

// compare compares the names of properties with those of the fields, and which of them must be there with omitempty.
func compare(t *testing.T, path string, is fieldSchema, want reflect.Type) {
	t.Helper()
	switch want.Kind() {
	case reflect.Pointer:
		compare(t, path, is, want.Elem())
		return
	case reflect.Slice:
		if is.Items == nil {
			t.Errorf("%s is no list", path)
			return
		}
		compare(t, path+"[]", *is.Items, want.Elem())
		return
	case reflect.Struct:
	default:
		return
	}
	if want == reflect.TypeFor[intstr.IntOrString]() || want == reflect.TypeFor[metav1.Time]() {
		return
	}
	var names []string
	for field := range want.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		names = append(names, name)
		if must := slices.Contains(is.Required, name); must && strings.Contains(options, "omitempty") {
			t.Errorf("%s.%s must be there, and may be left out", path, name)
		}
		compare(t, path+"."+name, is.Properties[name], field.Type)
	}
	slices.Sort(names)
	if diff := cmp.Diff(names, slices.Sorted(maps.Keys(is.Properties))); diff != "" {
		t.Errorf("%s (-fields +properties):\n%s", path, diff)
	}
}
