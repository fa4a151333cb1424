package controller

import (
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	certificateslisters "k8s.io/client-go/listers/certificates/v1"
	"k8s.io/client-go/tools/cache"

	"alicloud-controllers.dev/services/kube"
	"alicloud-controllers.dev/services/reconcile"
)

// approval approves the requests of kubelets for serving certificates.
type approval struct {
	factory  informers.SharedInformerFactory
	requests certificateslisters.CertificateSigningRequestLister
	synced   cache.InformerSynced
	listing  kube.Listing
	queue    *reconcile.Runner
}

// start queues the requests that are there already.
func (a *approval) start() {
	all, err := a.requests.List(labels.Everything())
	if err != nil { // A cache gives none.
		return
	}
	for _, csr := range all {
		if pending(csr) {
			a.queue.Add(csr.Name, reconcile.Node)
		}
	}
}

// waiting counts the nodes whose kubelet has waited longer than patience for a decision about a serving certificate. What a kubelet asked
// for before a later request of it was decided on it doesn't wait for any more.
func waiting(requests []*certificatesv1.CertificateSigningRequest, isNode func(name string) bool, now time.Time) (count int) {
	decided, since := map[string]time.Time{}, map[string]time.Time{}
	latest := func(times map[string]time.Time, csr *certificatesv1.CertificateSigningRequest) {
		if made := csr.CreationTimestamp.Time; made.After(times[csr.Spec.Username]) {
			times[csr.Spec.Username] = made
		}
	}
	for _, csr := range requests {
		switch {
		case !pending(csr):
			latest(decided, csr)
		case now.Sub(csr.CreationTimestamp.Time) > approvalPatience:
			latest(since, csr)
		}
	}
	for user, made := range since {
		name, isKubelet := strings.CutPrefix(user, "system:node:")
		if isKubelet && isNode(name) && !decided[user].After(made) {
			count++
		}
	}
	return count
}

// pending reports whether a request for a serving certificate waits for a decision.
func pending(csr *certificatesv1.CertificateSigningRequest) bool {
	return csr.Spec.SignerName == certificatesv1.KubeletServingSignerName && len(csr.Status.Conditions) == 0 &&
		len(csr.Status.Certificate) == 0
}
