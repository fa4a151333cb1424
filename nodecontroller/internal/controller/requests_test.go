package controller

import (
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
)

// TestWaitingForCertificates: a kubelet waits that has asked more than ten minutes ago, unless a later request of it was
// decided on, or its Node is gone. What it asks for again counts once.
func TestWaitingForCertificates(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	request := func(user string, ago time.Duration, isDecided bool) *certificatesv1.CertificateSigningRequest {
		csr := &certificatesv1.CertificateSigningRequest{}
		csr.CreationTimestamp.Time = now.Add(-ago)
		csr.Spec.Username, csr.Spec.SignerName = user, certificatesv1.KubeletServingSignerName
		if isDecided {
			csr.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved}}
		}
		return csr
	}
	const node = "system:node:node-1"
	for name, test := range map[string]struct {
		requests []*certificatesv1.CertificateSigningRequest
		want     int
	}{
		"none":           {},
		"just asked":     {requests: []*certificatesv1.CertificateSigningRequest{request(node, 10*time.Minute, false)}},
		"asked long ago": {requests: []*certificatesv1.CertificateSigningRequest{request(node, 11*time.Minute, false)}, want: 1},
		"decided":        {requests: []*certificatesv1.CertificateSigningRequest{request(node, time.Hour, true)}},
		"of no node":     {requests: []*certificatesv1.CertificateSigningRequest{request("system:node:gone", time.Hour, false)}},
		"of somebody":    {requests: []*certificatesv1.CertificateSigningRequest{request("node-1", time.Hour, false)}},
		"a later decided": {requests: []*certificatesv1.CertificateSigningRequest{
			request(node, time.Hour, false), request(node, time.Minute, true)}},
		"asked again after a decision": {requests: []*certificatesv1.CertificateSigningRequest{request(node, 2*time.Hour, true),
			request(node, time.Hour, false), request(node, 20*time.Minute, false), request(node, time.Minute, false)}, want: 1},
	} {
		if got := waiting(test.requests, func(name string) bool { return name == "node-1" }, now); got != test.want {
			t.Errorf("%s: %d nodes, want %d", name, got, test.want)
		}
	}
}
