package lb_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// certificate puts a server certificate into the cloud that ends after some time.
func (w *world) certificate(id string, left time.Duration) {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	w.cloud.ServerCertificates[id] = &slbv1.ServerCertificate{
		ServerCertificateId: id, Details: &slbv1.CertificateDetails{ExpirationTime: timestamppb.New(time.Now().Add(left))},
	}
}

// TestCertificateEnds: one read in an hour answers for all Services. One event each reports a certificate that is missing, ends soon or has
// ended, and its end is a metric.
func TestCertificateEnds(t *testing.T) {
	t.Parallel()
	inWorld(t, 1, func(w *world) {
		const day = 24 * time.Hour
		w.config = func(cfg *settings) { cfg.Kind.CertificateCheck, cfg.Kind.DriftCheck = time.Hour, 6*time.Hour }
		w.restart()
		w.certificate("cert-1", 40*day)
		w.create(web(secure, annotated(annotation.DomainExtensions, "a.example.com:cert-2")))
		other := web(secure)
		other.Name, other.UID = "other", "11111111-2222-3333-4444-555555555555"
		w.create(other)
		reads := func() int {
			return len(slices.DeleteFunc(w.calls(), func(c string) bool { return c != "ListServerCertificates" }))
		}
		reads()
		w.events.take()
		w.after(10 * time.Hour)
		if n := reads(); n < 9 || n > 12 {
			t.Errorf("%d reads of certificates in ten hours", n)
		}
		events := strings.Join(w.events.take(), "\n")
		if strings.Count(events, "Warning CertificateEnds") != 1 || !strings.Contains(events, "certificate cert-2 is not in the region") {
			t.Errorf("events about the missing certificate:\n%s", events)
		}
		w.certificate("cert-2", 1000*day)
		w.after(11 * day)
		if events := strings.Join(w.events.take(), "\n"); strings.Count(events, "Warning CertificateEnds") != 2 ||
			strings.Count(events, "certificate cert-1 ends on") != 2 {
			t.Errorf("events about the end that is near:\n%s", events)
		}
		w.after(30 * day)
		if events := strings.Join(w.events.take(), "\n"); strings.Count(events, "Warning CertificateEnds") != 2 ||
			strings.Count(events, "certificate cert-1 has ended on") != 2 {
			t.Errorf("events about the end:\n%s", events)
		}
		check(t, "metric", []string{"cert-1", "cert-2"}, w.certificatesOfMetric())
		w.update(func(svc *corev1.Service) { delete(svc.Annotations, annotation.Prefix+annotation.DomainExtensions) })
		w.after(2 * time.Hour)
		check(t, "metric", []string{"cert-1"}, w.certificatesOfMetric())
	})
}

func (w *world) certificatesOfMetric() (ids []string) {
	w.t.Helper()
	families, err := w.registry.Gather()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != "lbcontroller_certificate_end_timestamp_seconds" {
			continue
		}
		for _, m := range family.GetMetric() {
			ids = append(ids, m.GetLabel()[0].GetValue())
		}
	}
	return ids
}

// TestNoCertificatesNoReads: without https listeners nothing is read.
func TestNoCertificatesNoReads(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.config = func(cfg *settings) { cfg.Kind.CertificateCheck = time.Hour }
		w.restart()
		w.create(web())
		w.calls()
		w.after(3 * time.Hour)
		check(t, "calls", []string(nil), w.calls())
	})
}
