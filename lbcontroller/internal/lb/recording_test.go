package lb_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typedv1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"alicloud-controllers.dev/lbcontroller/internal/lb/knowledge"
)

// slow is an API server that takes its time for each patch of a ConfigMap.
type (
	slow       struct{ kubernetes.Interface }
	slowCore   struct{ typedv1.CoreV1Interface }
	slowConfig struct{ typedv1.ConfigMapInterface }
)

// patchTime is longer than the calls of all Services take in the world, where they take none.
const patchTime = time.Second

func (s slow) CoreV1() typedv1.CoreV1Interface { return slowCore{s.Interface.CoreV1()} }

func (s slowCore) ConfigMaps(namespace string) typedv1.ConfigMapInterface {
	return slowConfig{s.CoreV1Interface.ConfigMaps(namespace)}
}

// Patch implements typedv1.ConfigMapInterface.
func (s slowConfig) Patch(ctx context.Context, name string, kind types.PatchType, data []byte, o metav1.PatchOptions,
	sub ...string) (*corev1.ConfigMap, error) {
	<-time.After(patchTime)
	return s.ConfigMapInterface.Patch(ctx, name, kind, data, o, sub...)
}

// TestRecordOfAnEvent: what concerns many Services at once costs a few writes of the record, however many Services
// there are, and none of them waits for more than that.
func TestRecordOfAnEvent(t *testing.T) {
	const services = 60
	inWorld(t, 3, func(w *world) {
		w.config = func(cfg *settings) {
			cfg.Kind.Records = knowledge.NewRecord(knowledge.RecordConfig{Client: slow{w.kube}, Namespace: "kube-system",
				Name: recordName, Logger: slog.New(slog.DiscardHandler)})
		}
		w.restart()
		for n := range services {
			svc := named(fmt.Sprintf("local-%d", n), 1000+n, local)
			if _, err := w.kube.CoreV1().Services(svc.Namespace).Create(t.Context(), svc, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		w.many(services)
		cost := func(what string, most, changed int, change func()) {
			t.Helper()
			w.calls()
			w.kube.ClearActions()
			change()
			w.after(3*time.Second + time.Duration(most)*patchTime) // Nodes are gathered for a second.
			check(t, what+": changes of servers", changed, len(w.cloud.CallsOf("ApplyServerChanges")))
			w.after(time.Minute)
			writes := 0
			for _, a := range w.kube.Actions() {
				if a.GetResource().Resource == "configmaps" && a.GetVerb() != "get" {
					writes++
				}
			}
			if writes > most {
				t.Errorf("%s: %d writes of the record, at most %d are allowed", what, writes, most)
			}
		}
		// The first change of a Service goes alone, the others together, and all are recorded together after it.
		cost("a node comes", 3, services, func() { w.addNode(4) })
		cost("pods come", 3, services, func() {
			for n := range services {
				w.endpoints(fmt.Sprintf("local-%d", n), pod("10.9.0.1", "node-2"))
			}
		})
		w.calls()
		w.restart()
		check(t, "calls after a restart", []string(nil), w.calls())
	})
}

// TestStopInAnEvent: a process that ends when all Services have followed a node, and before that is recorded, leaves a
// record that the next one doesn't trust, though what was there before is wanted again.
func TestStopInAnEvent(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		withRecords(w)
		w.many(8) // More than there are workers.
		before := w.servers()
		w.addNode(3)
		w.after(2 * time.Second)
		check(t, "servers more", len(before)/2, len(w.servers())-len(before))
		w.stop()
		if err := w.kube.CoreV1().Nodes().Delete(t.Context(), "node-3", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		w.start()
		check(t, "servers", before, w.servers())
	})
}
