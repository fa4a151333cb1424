package servergroup

import (
	"testing"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
)

// TestOneAddressOneServer: the cloud may spell the address of a pod otherwise than the controllers do.
func TestOneAddressOneServer(t *testing.T) {
	t.Parallel()
	s, err := decodeServer([]byte(`{"ServerId":"eni-1","ServerIp":"2408:4005:0300:0:0:0:0:a","Type":"eni","Port":80,"Weight":100}`))
	if err != nil || s.GetServerIp() != "2408:4005:300::a" {
		t.Errorf("decoded %v, %v", s, err)
	}
	asked := &slbv1.Server{Type: slbv1.ServerType_SERVER_TYPE_ENI, ServerId: "eni-1", ServerIp: "2408:4005:300:0::A", Port: 80}
	if keyOf(asked) != keyOf(s) {
		t.Errorf("%v and %v are taken for two servers", keyOf(asked), keyOf(s))
	}
}
