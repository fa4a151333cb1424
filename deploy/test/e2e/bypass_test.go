package e2e

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
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

// slowDeletions is the label of Services before whose deletion the API server asks a webhook. It asks after it has
// looked at the finalizers, so one that arrives in the meantime is passed over.
const slowDeletions = "slow-deletion"

// webhookPatience is how long the API server waits for a webhook, at most.
const webhookPatience = 30 * time.Second

// deletedPastTheFinalizer: a Service that is deleted in spite of the finalizer, which it got while its deletion was
// under way, leaves nothing behind.
func (w testWorld) deletedPastTheFinalizer(t *testing.T) {
	t.Helper()
	held := sync.Map{} // of *deletion, by name
	w.webhook(t, func(ctx context.Context, name string) bool {
		d, ok := held.Load(name)
		if ok {
			d.(*deletion).hold(ctx) //nolint:forcetypeassert // There is nothing else.
		}
		return ok
	})
	slow := func(name string) {
		svc := newService(name, nil, 80)
		svc.Labels, svc.Spec.Type = map[string]string{slowDeletions: "true"}, corev1.ServiceTypeClusterIP
		w.create(t, svc)
	}
	slow("probe")
	services := w.Client().CoreV1().Services(metav1.NamespaceDefault)
	eventually(t, "the webhook is asked", func(ctx context.Context) error {
		if err := services.Delete(ctx, "probe", metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}); err == nil {
			return errors.New("a deletion that the webhook refuses went well")
		}
		return nil
	})
	// On a busy machine the Service gets its address after the API server has lost patience with the webhook. It keeps the Service then.
	for n := 1; ; n++ {
		name := fmt.Sprintf("passing-%d", n)
		slow(name)
		d := &deletion{asked: make(chan struct{}), goOn: make(chan struct{})}
		held.Store(name, d)
		deleted := make(chan error, 1)
		go func() { deleted <- services.Delete(context.WithoutCancel(t.Context()), name, metav1.DeleteOptions{}) }()
		select {
		case <-d.asked:
			w.change(t, name, func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeLoadBalancer })
			w.balanced(t, name)
		case err := <-deleted:
			t.Fatalf("the Service was deleted without asking: %v", err)
		}
		close(d.goOn)
		if err := <-deleted; err == nil {
			break
		} else if n == 5 {
			t.Fatalf("delete the Service: %v", err)
		}
		w.remove(t, name)
	}
	eventually(t, "the load balancer goes after the Service", func(context.Context) error {
		if left := w.state(t); len(left.LoadBalancers) > 0 {
			return fmt.Errorf("left in the cloud: %d load balancers", len(left.LoadBalancers))
		}
		return nil
	})
}

// deletion is one that waits until it may go on.
type deletion struct {
	once        sync.Once
	asked, goOn chan struct{}
}

func (d *deletion) hold(ctx context.Context) {
	d.once.Do(func() { close(d.asked) })
	select {
	case <-d.goOn:
	case <-ctx.Done(): // The API server waits no longer, or the test has ended.
	}
}

// webhook makes the API server ask before it deletes Services with a label.
func (w testWorld) webhook(t *testing.T, allows func(ctx context.Context, name string) bool) {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
			http.Error(rw, "not a review", http.StatusBadRequest)
			return
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: allows(r.Context(), review.Request.Name)}
		review.Request = nil
		_ = json.NewEncoder(rw).Encode(review)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections() // A deletion that a failed test left waiting ends.
		server.Close()
	})
	fail, none, timeout := admissionregistrationv1.Fail, admissionregistrationv1.SideEffectClassNone, int32(webhookPatience.Seconds())
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
	if _, err := w.Client().AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(), hook,
		metav1.CreateOptions{}); err != nil {
		t.Fatalf("create the webhook: %v", err)
	}
}
