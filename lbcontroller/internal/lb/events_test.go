package lb_test

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubetesting "k8s.io/client-go/testing"

	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// quotaUsed is an error of the cloud.
func quotaUsed(api string) error {
	return &rpcerr.Error{
		Code: codes.ResourceExhausted, Reason: rpcerr.QuotaExceeded, Message: "the quota is used up", API: api, CloudCode: "Quota.Exceeded",
		CloudRequestID: "R-1",
	}
}

// failAt lets the calls of a method, or all, fail with an error until mended is set.
func (w *world) failAt(method string, err error, mended *atomic.Bool) {
	w.cloud.Interpose(func(_ int, name string, _ proto.Message) gatewaytest.Fault {
		if (method == "" || name == method) && !mended.Load() {
			return gatewaytest.Fault{Before: err}
		}
		return gatewaytest.Fault{}
	})
}

// refusePatches lets the API server refuse the patches of a resource that contain a text.
func (w *world) refusePatches(resource, text string) {
	w.kube.PrependReactor("patch", resource, func(action kubetesting.Action) (bool, runtime.Object, error) {
		patch, ok := action.(kubetesting.PatchAction)
		refused := ok && bytes.Contains(patch.GetPatch(), []byte(text))
		return refused, nil, apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "web", errors.New("the webhook says no"))
	})
}

// warnings lead to each warning that the controller can record. Next is what its text says to do.
func warnings() map[string]struct {
	lead func(w *world)
	next string
	// cloud says that the cause is an answer of the cloud.
	cloud bool
} {
	const patches, failed = "check the ClusterRole of lbcontroller and the admission webhooks", "ask the cloud for a higher quota"
	quota := quotaUsed("slb/X")
	configured := func(w *world, change func(*settings)) {
		w.config = change
		w.restart()
	}
	return map[string]struct {
		lead  func(w *world)
		next  string
		cloud bool
	}{
		"SyncLoadBalancerFailed": {next: failed, cloud: true, lead: func(w *world) {
			w.failAt("CreateListener", quota, &atomic.Bool{})
			w.create(web())
		}},
		"CleanLoadBalancerFailed": {next: failed, cloud: true, lead: func(w *world) {
			w.failAt("DeleteLoadBalancer", quota, &atomic.Bool{})
			w.create(web())
			w.remove()
		}},
		"FailedSetEIPAddress": {next: failed, cloud: true, lead: func(w *world) {
			w.failAt("ListEips", quota, &atomic.Bool{})
			w.create(web(annotated(annotation.ExternalIPType, "eip")))
		}},
		"FailedAddFinalizer": {next: patches, lead: func(w *world) {
			w.refusePatches("services", `"finalizers"`)
			w.create(web())
		}},
		"FailedRemoveFinalizer": {next: patches, lead: func(w *world) {
			w.create(web())
			w.refusePatches("services", `"finalizers"`)
			w.remove()
		}},
		"FailedRemoveHash": {next: patches, lead: func(w *world) {
			w.create(web())
			w.refusePatches("services", LabelHash)
			w.update(annotated(annotation.Scheduler, "wlc"))
		}},
		"FailedUpdateStatus": {next: patches, lead: func(w *world) {
			w.refusePatches("services", `"ingress"`)
			w.create(web())
		}},
		"FailedUpdateReadinessGate": {next: patches, lead: func(w *world) {
			w.refusePatches("pods", "")
			w.create(web(podsMode))
			w.pods(w.gatedPod(1))
			w.after(5 * time.Minute)
		}},
		"UnAvailableLoadBalancer": {next: "look whether pods match the selector and are ready", lead: func(w *world) { w.create(web(local)) }},
		"HealthChecksBlocked": {next: "let them in", lead: func(w *world) {
			configured(w, func(cfg *settings) { cfg.Kind.SecurityGroups = true })
			w.inGroup("sg-1", 2)
			w.create(web())
			w.after(3 * time.Hour)
		}},
		"SkipSyncBackends": {next: "use pods with addresses of the VPC", lead: func(w *world) {
			w.create(web(eniMode))
			w.pods(pod("10.9.0.1", "node-1"))
		}},
		"PreservedOnDelete": {next: "remove annotation", lead: func(w *world) { w.create(web(annotated(annotation.PreserveOnDelete, "true"))) }},
		"StatusContested": {next: "find out who else serves the Service", lead: func(w *world) {
			w.create(web())
			for range 30 {
				w.update(func(svc *corev1.Service) {
					svc.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "203.0.113.1"}}
				})
			}
		}},
		"AnnotationKept": {next: "set them to another value", lead: func(w *world) {
			w.create(web(annotated(annotation.InstanceSpec, "slb.s2.small"), annotated(annotation.InstanceChargeType, "PayBySpec")))
			w.update(without(annotation.InstanceSpec))
		}},
		"TLSSecretInvalid": {next: "correct it, or name another one", lead: func(w *world) {
			configured(w, readsSecrets)
			pair := newPair(w.t, "first", false)
			w.secret("web-tls", &pair, corev1.SecretTypeTLS)
			w.create(web(fromSecret))
			w.secret("web-tls", nil, "")
			w.settle()
		}},
		"CertificateEnds": {next: "upload it, or name another one", lead: func(w *world) {
			configured(w, func(cfg *settings) { cfg.Kind.CertificateCheck, cfg.Kind.DriftCheck = time.Hour, time.Hour })
			w.create(web(secure))
			w.cloud.Lock()
			delete(w.cloud.Certificates, "cert-1")
			w.cloud.Unlock()
			w.after(2 * time.Hour)
		}},
		"DriftReported": {next: "remove its label " + LabelHash, lead: func(w *world) {
			configured(w, func(cfg *settings) { cfg.Kind.Drift = Drift{ReportStopped: true} })
			w.create(web())
			w.setListeners("stopped")
			w.after(6 * time.Hour)
		}},
		"HeldByPolicy": {next: "set annotation " + annotation.Prefix + annotation.SyncPolicy + ": sync", lead: func(w *world) {
			w.create(web(annotated(annotation.SyncPolicy, "report")))
		}},
		"ReleaseUnconfirmed": {next: annotation.ConfirmRelease + `: "true" confirms`, lead: func(w *world) {
			l := newLegacy()
			l.service.Annotations[annotation.Class] = "other"
			l.seed(w)
		}},
		"UnknownAnnotation": {next: "correct or remove it", lead: func(w *world) { w.create(web(annotated("qwertyuiop", "1"))) }},
		"IPModeDropped": {next: "upgrade it to Kubernetes 1.30, or publish a name", lead: func(w *world) {
			w.dropIPModes()
			w.create(web(annotated(annotation.IPMode, "Proxy")))
			w.update(annotated(annotation.Scheduler, "wrr"))
		}},
		"LastServersKept": {next: "look whether there are nodes, whether they are ready", lead: func(w *world) {
			w.create(web())
			w.update(annotated(annotation.BackendLabel, "pool=none"))
		}},
		"OrphanedLoadBalancer": {next: "release them in the console if nobody needs them", lead: func(w *world) {
			w.orphanage(func(cfg *settings) { cfg.Kind.Orphans.Delete = false })
			w.create(web())
			w.orphan("lb-gone")
			w.after(2 * time.Hour)
		}},
		"UnusedEIP": {next: "release it in the console", lead: func(w *world) {
			w.orphanage(func(*settings) {})
			w.create(web(intranet, annotated(annotation.EIPAllocate, "on")))
			w.cloud.Lock()
			ids := slices.Collect(maps.Keys(w.cloud.Eips))
			w.cloud.Unlock()
			w.update(changed(without(annotation.EIPAllocate), annotated(annotation.EIPID, ids[0])))
			w.update(without(annotation.EIPID))
			w.after(30 * time.Hour)
		}},
	}
}

// TestEveryWarningNamesTheNextStep: its text says what to do, and of an answer of the cloud the code and the request.
// No attempt repeats it. The page of events lists no other warnings.
func TestEveryWarningNamesTheNextStep(t *testing.T) {
	for reason, tt := range warnings() {
		t.Run(reason, func(t *testing.T) {
			inWorld(t, 2, func(w *world) {
				tt.lead(w)
				events := slices.DeleteFunc(w.events.take(), func(e string) bool { return !strings.HasPrefix(e, "Warning "+reason+" ") })
				if len(events) != 1 {
					t.Fatalf("%d warnings, want one: %q", len(events), events)
				}
				wanted := []string{tt.next}
				if tt.cloud {
					wanted = append(wanted, "Quota.Exceeded", "request R-1")
				}
				for _, part := range wanted {
					if !strings.Contains(events[0], part) {
						t.Errorf("%q doesn't say %q", events[0], part)
					}
				}
			})
		})
	}
	page, err := os.ReadFile("../../../docs/reference/events.md")
	if err != nil {
		t.Fatal(err)
	}
	_, ours, _ := strings.Cut(string(page), "\n## lbcontroller\n")
	ours, _, _ = strings.Cut(ours, "\n## ")
	var listed []string
	for _, row := range regexp.MustCompile("(?m)^. `(.*)` . Warning").FindAllStringSubmatch(ours, -1) {
		listed = append(listed, row[1])
	}
	check(t, "warnings of the page", slices.Sorted(maps.Keys(warnings())), slices.Sorted(slices.Values(listed)))
}

// TestEventsAreBounded: a text ends with what to do, however long the value is that it is about.
func TestEventsAreBounded(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.create(web(annotated(annotation.Scheduler, strings.Repeat("x", 100_000))))
		for _, text := range w.events.take() {
			if len(text) > 1100 || !strings.Contains(text, "use one of rr, wrr") {
				t.Errorf("%d bytes: %.300s", len(text), text)
			}
		}
	})
}
