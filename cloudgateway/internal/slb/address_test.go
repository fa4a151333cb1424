package slb_test

import (
	"testing"

	"alicloud-controllers.dev/cloudgateway/internal/slb"
)

func TestAddress(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"10.0.0.1": "10.0.0.1", "2408:4005:0300:0:0:0:0:a": "2408:4005:300::a", "2408:4005:300::A": "2408:4005:300::a", "": "", "a:b": "a:b",
	} {
		if got := slb.Address(text); got != want {
			t.Errorf("%q is spelt %q, want %q", text, got, want)
		}
	}
}
