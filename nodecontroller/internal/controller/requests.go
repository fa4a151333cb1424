package controller

import (
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

// pending reports whether a request for a serving certificate waits for a decision.
func pending(csr *certificatesv1.CertificateSigningRequest) bool {
	return csr.Spec.SignerName == certificatesv1.KubeletServingSignerName && len(csr.Status.Conditions) == 0 &&
		len(csr.Status.Certificate) == 0
}
