package gatewayapi_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	kubetesting "k8s.io/client-go/testing"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"alicloud-controllers.dev/lbcontroller/internal/backend"
	"alicloud-controllers.dev/lbcontroller/internal/shadow"
)

// nameOfNLB is that of the Service of Gateway gw for an NLB.
const nameOfNLB = "gw-gw-ccf4c4e121"

// made adds the Service that was made for a Gateway gw with a UID.
func (w *world) made(owner types.UID) {
	w.t.Helper()
	if err := w.kube.Tracker().Add(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: nameOfNLB, UID: "made",
			Labels: map[string]string{shadow.LabelManagedBy: backend.SlicesManager},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: gatewayv1.GroupVersion.String(), Kind: "Gateway", Name: "gw",
				UID: owner, Controller: new(true)}}},
		Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}},
	}); err != nil {
		w.t.Fatal(err)
	}
}

// service is the one of Gateway gw; nil for none.
func (w *world) service() *corev1.Service {
	svc, err := w.kube.CoreV1().Services("infra").Get(w.t.Context(), nameOfNLB, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return svc
}

// TestServiceOfAGatewayBefore: that of a deleted Gateway of the same name is the garbage collector's, and is not
// changed.
func TestServiceOfAGatewayBefore(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		w.made("before")
		w.start()
		w.apply(gateway("nlb", tcp("a", 80)))
		w.settle()
		w.want("gateways infra/gw", "Programmed", "False Invalid")
		if svc := w.service(); svc == nil || svc.Spec.Ports[0].Port != 1 {
			t.Errorf("%v", svc)
		}
	})
}

// TestGatewayIsNotWhatTheCacheSays: the Service of a Gateway whose class is another controller's is deleted only if the
// API server says so, too, of the same Gateway.
func TestGatewayIsNotWhatTheCacheSays(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		uid   types.UID
		class gatewayv1.ObjectName
		stays bool
	}{
		"as the cache says":         {"uid-gw", "other", false},
		"it was made anew":          {"another", "other", true},
		"its class is ours again":   {"uid-gw", "nlb", true},
		"its class is of our other": {"uid-gw", "clb", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, func(w *world) {
				w.gateways.PrependReactor("get", "gateways", func(kubetesting.Action) (bool, runtime.Object, error) {
					return true, &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "gw", UID: c.uid},
						Spec: gatewayv1.GatewaySpec{GatewayClassName: c.class}}, nil
				})
				w.made("uid-gw")
				w.apply(gateway("other", tcp("a", 80)))
				w.start()
				if got := w.service() != nil; got != c.stays {
					t.Errorf("it stays: %t", got)
				}
			})
		})
	}
}

// TestWritesAreGuarded: a Service is changed only as it was read, and deleted only by its UID, and once.
func TestWritesAreGuarded(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		var changes, deletions int
		var made types.UID
		w.kube.PrependReactor("patch", "services", func(a kubetesting.Action) (bool, runtime.Object, error) {
			if text := string(a.(kubetesting.PatchAction).GetPatch()); strings.Contains(text, `"ports"`) {
				if changes++; !strings.Contains(text, `"resourceVersion"`) {
					t.Errorf("%s", text)
				}
			}
			return false, nil, nil
		})
		w.kube.PrependReactor("delete", "services", func(a kubetesting.Action) (bool, runtime.Object, error) {
			deletions++
			p := a.(kubetesting.DeleteActionImpl).DeleteOptions.Preconditions
			if p == nil || p.UID == nil || *p.UID != made {
				t.Errorf("deleted by %v", p)
			}
			return false, nil, nil
		})
		w.start()
		w.apply(gateway("nlb", tcp("a", 80)))
		w.settle()
		w.apply(gateway("nlb", tcp("a", 81)))
		w.settle()
		kept := w.service()
		made, kept.Finalizers = kept.UID, append(kept.Finalizers, "example.com/keeps")
		if err := w.kube.Tracker().Update(corev1.SchemeGroupVersion.WithResource("services"), kept, "infra"); err != nil {
			t.Fatal(err)
		}
		w.apply(gateway("other", tcp("a", 81)))
		w.settle()
		w.apply(route("web", "red", "a", "{name: web, port: 80}")) // Another pass.
		w.settle()
		if changes == 0 || deletions != 1 {
			t.Errorf("%d changes, %d deletions", changes, deletions)
		}
		changes = 0
		w.apply(gateway("nlb", tcp("a", 82)))
		w.settle()
		if svc := w.service(); changes != 0 || svc == nil || svc.DeletionTimestamp == nil {
			t.Errorf("a Service that is being deleted: %d changes, %v", changes, svc)
		}
	})
}

// TestSlicesComeFirst: a new Service asks for a load balancer only in a pass after the one that has made its slices, when
// the cache has them: the engine would lead a listener that it takes over to nobody before.
func TestSlicesComeFirst(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		var made, asked time.Time
		w.kube.PrependReactor("create", "endpointslices", func(kubetesting.Action) (bool, runtime.Object, error) {
			made = time.Now()
			return false, nil, nil
		})
		w.kube.PrependReactor("patch", "services", func(a kubetesting.Action) (bool, runtime.Object, error) {
			if strings.Contains(string(a.(kubetesting.PatchAction).GetPatch()), `"type":"LoadBalancer"`) {
				asked = time.Now()
			}
			return false, nil, nil
		})
		w.start()
		w.apply(gateway("nlb", tcp("a", 80)))
		w.settle()
		if made.IsZero() || !asked.After(made) {
			t.Errorf("slices at %s, the load balancer at %s", made, asked)
		}
	})
}

// TestNobodyIsAskedInVain: no Gateway is asked for about the Services of a deleted one, of a binding, and of one of which
// nothing can be made.
func TestNobodyIsAskedInVain(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		w.made("deleted")
		w.gateways.PrependReactor("get", "gateways", func(kubetesting.Action) (bool, runtime.Object, error) {
			t.Error("it is asked for")
			return false, nil, nil
		})
		w.start()
		w.apply(gateway("nlb", "{name: a, protocol: HTTPS, port: 80}"))
		w.settle()
		if w.service() == nil {
			t.Error("the Service is deleted")
		}
	})
}

// TestSlicesOfOthers: what others say of the Service stays.
func TestSlicesOfOthers(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		w.start()
		w.apply(gateway("nlb", tcp("a", 80)))
		w.settle()
		theirs := &discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4, ObjectMeta: metav1.ObjectMeta{
			Namespace: "infra", Name: "theirs", Labels: map[string]string{
				discoveryv1.LabelServiceName: nameOfNLB, discoveryv1.LabelManagedBy: "someone"}}}
		slicesOf := w.kube.DiscoveryV1().EndpointSlices("infra")
		if _, err := slicesOf.Create(t.Context(), theirs, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		w.settle()
		if _, err := slicesOf.Get(t.Context(), "theirs", metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
	})
}

// TestWriteFails: it is tried again after a second, and holds up nothing else.
func TestWriteFails(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		tries := 0
		w.kube.PrependReactor("create", "services", func(kubetesting.Action) (bool, runtime.Object, error) {
			tries++
			return tries <= 3, nil, errors.New("refused by a webhook")
		})
		w.start()
		w.apply(gateway("nlb", tcp("a", 80)))
		w.apply(route("web", "red", "a", "{name: web, port: 80}"))
		w.settle()
		w.want("tcproutes red/web", "Accepted", "True Accepted")
		w.expect("after three failures", "nlb Internet", "80/tcp: eni-10.0.0.1:8080=100 eni-10.0.0.2:8080=100")
		if tries != 4 {
			t.Errorf("%d tries", tries)
		}
	})
}

// TestSecretComesLater: a change of a Secret is seen, though it isn't known whose it is. The Gateway has no Service that
// would show it.
func TestSecretComesLater(t *testing.T) {
	t.Parallel()
	play(t, func(w *world) {
		w.start()
		w.apply(gateway("nlb", "{name: a, protocol: TLS, port: 443, tls: {certificateRefs: [{name: later}]}}",
			"  addresses: [{type: Hostname, value: a.example.com}]"))
		w.settle()
		said := w.listener("a", "ResolvedRefs")
		if !strings.Contains(said.Message, "later") || said.Status != metav1.ConditionFalse {
			t.Errorf("%v", said)
		}
		later := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "later"}, Type: corev1.SecretTypeTLS}
		if _, err := w.kube.CoreV1().Secrets("infra").Create(t.Context(), later, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		w.settle()
		if now := w.listener("a", "ResolvedRefs"); now.Message == said.Message {
			t.Errorf("%v", now)
		}
	})
}

// listener is a condition of a listener of Gateway gw.
func (w *world) listener(name gatewayv1.SectionName, condition string) metav1.Condition {
	w.t.Helper()
	obj, err := w.gateways.Tracker().Get(resourceOf("gateways"), "infra", "gw")
	if err != nil {
		w.t.Fatal(err)
	}
	for _, l := range obj.(*gatewayv1.Gateway).Status.Listeners {
		for _, c := range l.Conditions {
			if l.Name == name && c.Type == condition {
				return c
			}
		}
	}
	return metav1.Condition{}
}
