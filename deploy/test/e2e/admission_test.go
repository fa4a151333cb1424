package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"alicloud-controllers.dev/deploy/tools/local/world"
)

// door is an API server with the policy of the chart in force.
type door struct {
	services typedcorev1.ServiceInterface
}

// closeDoor puts the policy of the chart in force.
func closeDoor(t *testing.T, cfg *rest.Config) door {
	t.Helper()
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	documents := renderChart(t, cfg, map[string]any{
		"clusterID": "c-1", "region": world.Region, "vpcID": world.VpcID, "network": map[string]any{"mode": "terway"},
		"admissionPolicy": map[string]any{"enabled": true},
	})
	d := door{services: client.CoreV1().Services(metav1.NamespaceDefault)}
	d.leaveTolerated(t)
	made := 0
	for _, document := range documents {
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(document), &kind); err != nil {
			t.Fatal(err)
		}
		switch kind.Kind {
		case "ValidatingAdmissionPolicy":
			var policy admissionv1.ValidatingAdmissionPolicy
			if err = yaml.UnmarshalStrict([]byte(document), &policy); err == nil {
				_, err = client.AdmissionregistrationV1().ValidatingAdmissionPolicies().Create(t.Context(), &policy, metav1.CreateOptions{})
			}
		case "ValidatingAdmissionPolicyBinding":
			var binding admissionv1.ValidatingAdmissionPolicyBinding
			if err = yaml.UnmarshalStrict([]byte(document), &binding); err == nil {
				_, err = client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Create(t.Context(), &binding, metav1.CreateOptions{})
			}
		default:
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		made++
	}
	if made != 2 {
		t.Fatalf("the chart has %d objects of the policy, want 2", made)
	}
	eventually(t, "the policy is in force", func(ctx context.Context) error {
		if err := d.try(ctx, newService("refused", map[string]string{"bandwidth": "x"}, 80)); !isRefusal(err) {
			return fmt.Errorf("the policy does not refuse a bad value: %w", err)
		}
		return nil
	})
	return d
}

// try has a Service admitted, without keeping it.
func (d door) try(ctx context.Context, s *corev1.Service) error {
	_, err := d.services.Create(ctx, s, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// isRefusal reports whether it was the policy that refused.
func isRefusal(err error) bool {
	return apierrors.IsInvalid(err) &&
		strings.Contains(err.Error(), "ValidatingAdmissionPolicy 'service-annotations.lbcontroller.alibabacloud.com'")
}

// testParser holds the policy against the parser of lbcontroller: it refuses what the parser refuses, and nothing else.
func (d door) testParser(t *testing.T) {
	text, err := os.ReadFile("testdata/annotationvalues.json")
	if err != nil {
		t.Fatal(err)
	}
	var values []struct {
		For, Key, Value string
		Allowed         bool
	}
	if err := json.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	allowed, refused := map[string]map[string][]string{"": {}, "NLB": {}}, map[string]int{}
	service := func(kind, name string, annotations map[string]string) *corev1.Service {
		s := newService(name, annotations, 80)
		if kind == "NLB" {
			s.Spec.LoadBalancerClass = new(nlbClass)
		}
		return s
	}
	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(8)
	for _, v := range values {
		if v.Allowed {
			allowed[v.For][v.Key] = append(allowed[v.For][v.Key], v.Value)
			continue
		}
		refused[v.For]++
		group.Go(func() error {
			err := d.try(ctx, service(v.For, "refused", map[string]string{v.Key: v.Value}))
			if !isRefusal(err) || !strings.Contains(err.Error(), annotationPrefix+v.Key) {
				t.Errorf("%s %s: value %q: %v, want that the policy refuses it and names the annotation", v.For, v.Key, v.Value, err)
			}
			return ctx.Err()
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	// What is allowed goes many at a time.
	for kind, allowed := range allowed {
		for row := 0; len(allowed) > 0; row++ {
			annotations := map[string]string{}
			for key, list := range allowed {
				if row >= len(list) {
					delete(allowed, key)
					continue
				}
				annotations[key] = list[row]
			}
			if err := d.try(t.Context(), service(kind, "allowed", annotations)); err != nil {
				t.Errorf("%s %q: %v", kind, annotations, err)
			}
		}
	}
	if all := refused[""] + refused["NLB"]; refused[""] < 500 || refused["NLB"] < 100 || len(values)-all < 200 {
		t.Errorf("only %d values, of which %v are refused", len(values), refused)
	}
	// A value that is allowed for one kind only is judged by the kind of the Service, and a class of others by nobody.
	for kind, values := range map[string]map[string]string{"": {"health-check-connect-port": "0"}, "NLB": {"idle-timeout": "5"}} {
		if err := d.try(t.Context(), service(kind, "refused", values)); !isRefusal(err) {
			t.Errorf("%s %v: %v, want a refusal", kind, values, err)
		}
	}
	for kind, values := range map[string]map[string]string{"NLB": {"health-check-connect-port": "0"}, "": {"idle-timeout": "5"}} {
		if err := d.try(t.Context(), service(kind, "allowed", values)); err != nil {
			t.Errorf("%s %v: %v", kind, values, err)
		}
	}
	others := newService("others", map[string]string{"idle-timeout": "x", "bandwidth": "x"}, 80)
	others.Spec.LoadBalancerClass = new("example.com/lb")
	if err := d.try(t.Context(), others); err != nil {
		t.Errorf("a Service of another class: %v", err)
	}
}

// testMessages: the refusal of a bad value names the annotation, the value and what is allowed. What needs more than the annotation, a
// protocol or a port, is the controller's to judge.
func (d door) testMessages(t *testing.T) {
	for _, bad := range badAnnotations() {
		s := newService("refused", map[string]string{bad.key: bad.value}, 80)
		if bad.class != "" {
			s.Spec.LoadBalancerClass = new(bad.class)
		}
		err := d.try(t.Context(), s)
		if bad.key == "protocol-port" || bad.key == "forward-port" {
			if err != nil {
				t.Errorf("%s: %v", bad.key, err)
			}
			continue
		}
		if !isRefusal(err) {
			t.Errorf("%s: value %q: %v, want that the policy refuses it", bad.key, bad.value, err)
			continue
		}
		for _, part := range []string{"annotation " + annotationPrefix + bad.key + ": value \"" + bad.value +
			"\" is not allowed, use ", bad.allowed} {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: %v, want %q in it", bad.key, err, part)
			}
		}
	}
	old := newService("refused", nil, 80)
	old.Annotations[legacyPrefix+"bandwidth"] = "none"
	if err := d.try(t.Context(), old); !isRefusal(err) || !strings.Contains(err.Error(), legacyPrefix+`bandwidth: value "none"`) {
		t.Errorf("by the older name: %v", err)
	}
	old.Annotations[annotationPrefix+"bandwidth"] = "5"
	if err := d.try(t.Context(), old); err != nil {
		t.Errorf("the older name is hidden: %v", err)
	}
	// A quarter of a MiB is all that annotations may have. What is so long is left to the controller.
	large := newService("refused", map[string]string{"additional-resource-tags": strings.Repeat("a=b,", 60000)}, 80)
	if err := d.try(t.Context(), large); err != nil {
		t.Errorf("large: %v", err)
	}
}

// testExamples: all examples of docs/services.md are admitted.
func (d door) testExamples(t *testing.T) {
	page, err := os.ReadFile("../../../docs/services.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(page, -1)
	if len(examples) < 10 {
		t.Fatalf("%d examples", len(examples))
	}
	for _, example := range examples {
		s := newService("example", nil, 80)
		if err := yaml.Unmarshal(example[1], s); err != nil {
			t.Fatal(err)
		}
		s.Name, s.Namespace = "example", metav1.NamespaceDefault
		if err := d.try(t.Context(), s); err != nil {
			t.Errorf("%v\n%s", err, example[1])
		}
	}
}

// testClasses: Services of each class that asks for a load balancer of ours are judged alike, from their creation on and when
// the class comes with the type. Only what is new is judged.
func (d door) testClasses(t *testing.T) {
	patch := func(text string) error {
		_, err := d.services.Patch(t.Context(), "classes", types.MergePatchType, []byte(text), metav1.PatchOptions{})
		return err
	}
	for name, class := range map[string]*string{"none": nil, "CLB": new("alibabacloud.com/clb"), "NLB": new(nlbClass)} {
		s := newService("classes", map[string]string{"delete-protection": "maybe"}, 80)
		s.Spec.LoadBalancerClass = class
		if err := d.try(t.Context(), s); !isRefusal(err) {
			t.Errorf("class %s: %v, want a refusal", name, err)
		}
		s.Spec.Type, s.Spec.LoadBalancerClass = corev1.ServiceTypeClusterIP, nil
		if _, err := d.services.Create(t.Context(), s, metav1.CreateOptions{}); err != nil {
			t.Fatalf("class %s: without a load balancer: %v", name, err)
		}
		asks := `{"spec":{"type":"LoadBalancer"}%s}`
		if class != nil {
			asks = `{"spec":{"type":"LoadBalancer","loadBalancerClass":"` + *class + `"}%s}`
		}
		if err := patch(fmt.Sprintf(asks, "")); !isRefusal(err) {
			t.Errorf("class %s: the Service comes with its old mistake: %v, want a refusal", name, err)
		}
		if err := patch(fmt.Sprintf(asks, `,"metadata":{"annotations":{"`+annotationPrefix+`delete-protection":"on"}}`)); err != nil {
			t.Errorf("class %s: the Service comes with a good value: %v", name, err)
		}
		if err := patch(`{"metadata":{"annotations":{"` + annotationPrefix + `name":"x` + strings.Repeat("y", 200) + `"}}}`); !isRefusal(err) {
			t.Errorf("class %s: a bad value: %v, want a refusal", name, err)
		}
		if err := d.services.Delete(t.Context(), s.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// testOthers: Services of others, and those without a load balancer, are nobody's business. Once one becomes ours, it is looked at.
func (d door) testOthers(t *testing.T) {
	for name, change := range map[string]func(*corev1.Service){
		"no load balancer": func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort },
		"class":            func(s *corev1.Service) { s.Spec.LoadBalancerClass = new("example.com/lb") },
		"class of old":     func(s *corev1.Service) { s.Annotations["service.beta.kubernetes.io/class"] = "other" },
		"tunnel":           func(s *corev1.Service) { s.Annotations[annotationPrefix+"tunnel-type"] = "x" },
		"type":             func(s *corev1.Service) { s.Annotations[annotationPrefix+"type"] = "nlb" },
	} {
		s := newService("others", map[string]string{"bandwidth": "x"}, 80)
		change(s)
		if err := d.try(t.Context(), s); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	s := newService("becomes", map[string]string{"bandwidth": "x"}, 80)
	s.Spec.Type = corev1.ServiceTypeClusterIP
	made, err := d.services.Create(t.Context(), s, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	made.Spec.Type = corev1.ServiceTypeLoadBalancer
	if _, err := d.services.Update(t.Context(), made, metav1.UpdateOptions{}); !isRefusal(err) {
		t.Errorf("a Service that gets a load balancer: %v, want that the policy refuses it", err)
	}
	if err := d.services.Delete(t.Context(), s.Name, metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}

const tolerated = "tolerated"

// leaveTolerated makes a Service with values that the existing cloud controller manager takes for something, before there is a policy.
func (d door) leaveTolerated(t *testing.T) {
	t.Helper()
	s := newService(tolerated, map[string]string{"delete-protection": "yes", "bandwidth": "0", "persistence-timeout": "-1",
		"scheduler": "wrrr"}, 80)
	s.Annotations[legacyPrefix+"sticky-session"] = "yes"
	s.Finalizers = []string{"service.k8s.alibaba/resources"}
	if _, err := d.services.Create(t.Context(), s, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// testTolerated: such a Service can be edited elsewhere, mended one by one, written to by controllers, and deleted. Only what is touched is
// looked at.
func (d door) testTolerated(t *testing.T) {
	patch := func(text string, more ...string) error {
		_, err := d.services.Patch(t.Context(), tolerated, types.MergePatchType, []byte(text), metav1.PatchOptions{}, more...)
		return err
	}
	annotation := func(key, value string) string {
		return fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, annotationPrefix+key, value)
	}
	for _, tt := range []struct {
		what, patch string
		part        []string
		refused     bool
	}{
		{what: "label", patch: `{"metadata":{"labels":{"service.k8s.alibaba/loadbalancer-id":"lb-1"}}}`},
		{what: "note", patch: `{"metadata":{"annotations":{"service.k8s.alibaba/applied-annotations":"bandwidth"}}}`},
		{what: "spec", patch: `{"spec":{"externalTrafficPolicy":"Local"}}`},
		{what: "status", patch: `{"status":{"loadBalancer":{"ingress":[{"ip":"192.0.2.1"}]}}}`, part: []string{"status"}},
		{what: "another annotation", patch: annotation("name", `"web"`)},
		{what: "another bad value", patch: annotation("bandwidth", `"-1"`), refused: true},
		{what: "another bad annotation", patch: annotation("spec", `"`+strings.Repeat("s", 65)+`"`), refused: true},
		{what: "a good value in place of the bad one", patch: annotation("bandwidth", `"5"`)},
		{what: "without the annotation", patch: annotation("scheduler", "null")},
		{what: "the bad value back", patch: annotation("scheduler", `"wrrr"`), refused: true},
	} {
		err := patch(tt.patch, tt.part...)
		if tt.refused && !isRefusal(err) || !tt.refused && err != nil {
			t.Errorf("%s: %v, refused %t", tt.what, err, tt.refused)
		}
	}
	if err := d.services.Delete(t.Context(), tolerated, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	// On the way out nothing is looked at.
	if err := patch(`{"metadata":{"annotations":{"` + annotationPrefix + `bandwidth":"x"}}}`); err != nil {
		t.Errorf("while it is deleted: %v", err)
	}
	if err := patch(`{"metadata":{"finalizers":null}}`); err != nil {
		t.Errorf("its finalizer: %v", err)
	}
	if _, err := d.services.Get(t.Context(), tolerated, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("deleted: %v, want that it is gone", err)
	}
}
