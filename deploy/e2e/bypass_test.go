package e2e

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// slowDeletions lets the API server ask a webhook before it deletes a Service with the label of that name. It is asked after the API server has decided
// that the Service may go at once, so a finalizer that arrives in the meantime is passed over.
const slowDeletions = "slow-deletion"

// deletedPastTheFinalizer: a Service that goes in spite of the finalizer, which it got while its deletion was under way, leaves nothing behind.
func (w testWorld) deletedPastTheFinalizer(t *testing.T) {
	t.Helper()
	asked, goOn := make(chan struct{}), make(chan struct{})
	first, allow := sync.OnceFunc(func() { close(asked) }), sync.OnceFunc(func() { close(goOn) })
	defer allow()
	w.webhook(t, func(name string) bool {
		if name == "probe" {
			return false
		}
		first()
		<-goOn
		return true
	})
	services := w.Client().CoreV1().Services(metav1.NamespaceDefault)
	for _, name := range []string{"probe", "passing"} {
		svc := newService(name, nil, 80)
		svc.Labels, svc.Spec.Type = map[string]string{slowDeletions: "true"}, corev1.ServiceTypeClusterIP
		w.create(t, svc)
	}
	eventually(t, "the webhook is asked", func(ctx context.Context) error {
		all := metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}
		if err := services.Delete(ctx, "probe", all); err == nil {
			return fmt.Errorf("a deletion that the webhook refuses went well")
		}
		return nil
	})

	deleted := make(chan error, 1)
	go func() {
		deleted <- services.Delete(context.WithoutCancel(t.Context()), "passing", metav1.DeleteOptions{})
	}()
	select {
	case <-asked:
	case err := <-deleted:
		t.Fatalf("the Service was deleted without asking: %v", err)
	}
	w.change(t, "passing", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeLoadBalancer })
	if w.balanced(t, "passing"); len(w.state(t).LoadBalancers) != 1 {
		t.Errorf("load balancers of a Service that has an address: %d", len(w.state(t).LoadBalancers))
	}
	allow()
	if err := <-deleted; err != nil {
		t.Fatalf("delete the Service: %v", err)
	}
	eventually(t, "the load balancer goes after the Service", func(ctx context.Context) error {
		if left := w.state(t); len(left.LoadBalancers) > 0 {
			return fmt.Errorf("left in the cloud: %d load balancers; events: %v", len(left.LoadBalancers), w.events(ctx, "passing"))
		}
		return nil
	})
}

// webhook makes the API server ask before it deletes Services with a label.
func (w testWorld) webhook(t *testing.T, allows func(name string) bool) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
			http.Error(rw, "not a review", http.StatusBadRequest)
			return
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: allows(review.Request.Name)}
		review.Request = nil
		_ = json.NewEncoder(rw).Encode(review)
	}))
	t.Cleanup(server.Close)
	fail, none, timeout := admissionregistrationv1.Fail, admissionregistrationv1.SideEffectClassNone, int32((30 * time.Second).Seconds())
	hook := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: slowDeletions},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "services.example.com",
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				URL: &server.URL, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
			},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Delete},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"services"}},
			}},
			ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{slowDeletions: "true"}},
			FailurePolicy:  &fail, SideEffects: &none, TimeoutSeconds: &timeout, AdmissionReviewVersions: []string{"v1"},
		}},
	}
	if _, err := w.Client().AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), hook, metav1.CreateOptions{}); err != nil {
		t.Fatalf("create the webhook: %v", err)
	}
}
