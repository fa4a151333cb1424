package controller

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/backend"
)

// TestTouched: of what changes a Service only other ports of an edit of the controller's own ask for no look.
func TestTouched(t *testing.T) {
	t.Parallel()
	type of struct {
		edit string
		port int32
		id   string
		note string
		kind corev1.ServiceType
	}
	service := func(o of) *corev1.Service {
		svc := &corev1.Service{Spec: corev1.ServiceSpec{Type: o.kind, Ports: []corev1.ServicePort{{Port: o.port}}},
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{}}}
		for key, text := range map[string]string{backend.AnnotationEdit: o.edit, annotation.Prefix + annotation.ID: o.id, "touched": o.note} {
			if text != "" {
				svc.Annotations[key] = text
			}
		}
		return svc
	}
	for name, c := range map[string]struct {
		old, now of
		want     bool
	}{
		"nothing":                            {of{edit: "1", port: 80}, of{edit: "1", port: 80}, false},
		"other ports":                        {of{edit: "1", port: 80}, of{edit: "2", port: 81}, false},
		"other labels":                       {of{edit: "1", port: 80}, of{edit: "2", port: 80}, false},
		"ports by a user":                    {of{edit: "1", port: 80}, of{edit: "1", port: 81}, true},
		"ports of a user's Service":          {of{port: 80}, of{port: 81}, true},
		"the first edit":                     {of{port: 80}, of{edit: "1", port: 81}, true},
		"an edit that is taken off":          {of{edit: "1", port: 80}, of{port: 80}, true},
		"ports and an annotation":            {of{edit: "1", port: 80}, of{edit: "2", port: 81, id: "nlb-1"}, true},
		"ports, and an annotation that goes": {of{edit: "1", port: 80, id: "nlb-1"}, of{edit: "2", port: 81}, true},
		"a touch":                            {of{edit: "1", port: 80}, of{edit: "1", port: 80, note: "x"}, true},
		"an edit beside a touch":             {of{edit: "1", port: 80}, of{edit: "2", port: 81, note: "x"}, true},
		"an edit of a touched Service":       {of{edit: "1", port: 80, note: "x"}, of{edit: "2", port: 81, note: "x"}, false},
		"another type": {of{edit: "1", kind: corev1.ServiceTypeClusterIP},
			of{edit: "2", kind: corev1.ServiceTypeLoadBalancer}, true},
	} {
		if got := Touched(service(c.old), service(c.now)); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	bare := service(of{})
	bare.Annotations = nil
	if Touched(bare, bare) || !Touched(bare, service(of{edit: "1", port: 80})) {
		t.Error("without annotations")
	}
}
