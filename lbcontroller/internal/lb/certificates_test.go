package lb_test

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
)

// certificate puts a server certificate into the cloud that ends after some time.
func (w *world) certificate(id string, left time.Duration) {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	w.cloud.ServerCertificates[id] = &slbv1.ServerCertificate{
		ServerCertificateId: id, Details: &slbv1.CertificateDetails{ExpirationTime: timestamppb.New(time.Now().Add(left))},
	}
}
