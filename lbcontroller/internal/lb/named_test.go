package lb

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
)

// TestFieldsOfAnnotations: each field in the table is one of a request, and leads to an annotation that there is.
func TestFieldsOfAnnotations(t *testing.T) {
	t.Parallel()
	var known []string
	var walk func(parent string, m protoreflect.MessageDescriptor)
	walk = func(parent string, m protoreflect.MessageDescriptor) {
		for i := range m.Fields().Len() {
			f := m.Fields().Get(i)
			known = append(known, string(f.Name()), parent+"."+string(f.Name()))
			if f.Message() != nil && f.Message().FullName() != m.FullName() {
				walk(string(f.Name()), f.Message())
			}
		}
	}
	for _, m := range []proto.Message{
		&slbv1.CreateLoadBalancerRequest{}, &slbv1.UpdateLoadBalancerRequest{}, &slbv1.CreateListenerRequest{},
		&nlbv1.CreateLoadBalancerRequest{}, &nlbv1.UpdateLoadBalancerRequest{}, &nlbv1.CreateListenerRequest{}, &nlbv1.CreateServerGroupRequest{},
		&nlbv1.UpdateListenerRequest{},
	} {
		walk("", m.ProtoReflect().Descriptor())
	}
	isRow := func(key string) bool {
		return slices.ContainsFunc([]annotation.LoadBalancer{annotation.CLB, annotation.NLB}, func(kind annotation.LoadBalancer) bool {
			return slices.ContainsFunc(annotation.NewParser(kind).Table(), func(s annotation.Spec) bool { return s.Key == key })
		})
	}
	for field, key := range ofFields {
		if !slices.Contains(known, field) {
			t.Errorf("no request has the field %s", field)
		}
		if !isRow(key) {
			t.Errorf("field %s: there is no annotation %s", field, key)
		}
	}
	for reason, keys := range ofReasons {
		for _, key := range keys {
			if !isRow(key) {
				t.Errorf("%s: there is no annotation %s", reason, key)
			}
		}
	}
}

// TestNamed: a refusal names what the Service says of it, and nothing that the Service doesn't say.
func TestNamed(t *testing.T) {
	t.Parallel()
	notFound := func(reason rpcerr.Reason, id string) error { return rpcerr.Errorf(reason, "there is no %s", id) }
	certificates := map[string]string{"cert-id": "cert-1", "domain-extensions": "a.com:cert-2"}
	for name, test := range map[string]struct {
		kind        annotation.LoadBalancer
		annotations map[string]string
		err         error
		want        []string
	}{
		"a field": {
			annotation.CLB, map[string]string{"additional-resource-tags": "a=b"}, rpcerr.Invalidf("tags[3].key", "is bad"),
			[]string{"additional-resource-tags is \"a=b\""},
		},
		"the outermost field": {
			annotation.NLB, map[string]string{"zone-maps": "h:vsw-1,i:vsw-2"}, rpcerr.Invalidf("zone_mappings[0].vswitch_id", "is bad"),
			[]string{"zone-maps is"},
		},
		"a field of a health check": {
			annotation.CLB, map[string]string{"health-check-domain": "x"}, rpcerr.Invalidf("config.health_check.domain", "is bad"),
			[]string{"health-check-domain is"},
		},
		"another domain": {annotation.CLB, map[string]string{"health-check-domain": "x"}, rpcerr.Invalidf("domain", "is bad"), nil},
		"one of several": {annotation.CLB, certificates, notFound(rpcerr.CertificateNotFound, "cert-2"), []string{"domain-extensions is"}},
		"several, and the id isn't told": {
			annotation.CLB, certificates, notFound(rpcerr.CertificateNotFound, "certificate"), []string{"cert-id is", "domain-extensions is"},
		},
		"a list": {
			annotation.CLB, map[string]string{"acl-id": "acl-1", "acl-status": "on", "acl-type": "white"},
			notFound(rpcerr.AclNotFound, "list"), []string{"acl-id is \"acl-1\""},
		},
		"nothing that the Service says": {annotation.CLB, nil, notFound(rpcerr.VSwitchNotFound, "vsw-1"), nil},
		"another reason":                {annotation.CLB, certificates, rpcerr.Errorf(rpcerr.Throttled, "wait"), nil},
	} {
		svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{}}}
		for key, value := range test.annotations {
			svc.Annotations[annotation.Prefix+key] = value
		}
		config := desired.Config{Parser: annotation.NewParser(test.kind)}
		got := named(config.View(svc), test.err)
		for _, want := range test.want {
			if !strings.Contains(got, annotation.Prefix+want) {
				t.Errorf("%s: got %q, want %q", name, got, want)
			}
		}
		if n := strings.Count(got, "annotation "); n != len(test.want) {
			t.Errorf("%s: %d are named: %q", name, n, got)
		}
	}
}
