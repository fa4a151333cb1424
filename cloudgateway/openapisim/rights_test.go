package openapisim_test

import (
	"testing"

	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/auth/credentials"

	"alicloud-controllers.dev/cloudgateway/openapisim"
)

// A key may call everything but what is denied to it. A refusal has the error code of the product. Other keys are not affected.
func TestDeniedActions(t *testing.T) {
	t.Parallel()
	sim := newCloud(t, openapisim.Config{AccessKeys: []openapisim.AccessKey{
		{ID: "all", Secret: "s"}, {ID: "reader", Secret: "s", Deny: []string{"*:Create*", "slb:DescribeZones", "sts:*"}},
	}})
	for _, tt := range []struct{ key, product, action, want string }{
		{"reader", "vpc", "CreateVpc", "Forbidden.RAM"},
		{"reader", "slb", "DescribeZones", "Forbidden.RAM"},
		{"reader", "vpc", "DescribeZones", ""},
		{"reader", "sts", "GetCallerIdentity", "NoPermission"},
		{"all", "sts", "GetCallerIdentity", ""},
		{"all", "vpc", "CreateVpc", ""},
	} {
		before, err := sim.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		sim.ClearCalls()
		c := newClientWith(t, sim, credentials.NewAccessKeyCredential(tt.key, "s"))
		if _, code := c.call(tt.product, tt.action); code != tt.want {
			t.Errorf("%s, %s %s: %q, want %q", tt.key, tt.product, tt.action, code, tt.want)
		}
		call := sim.Calls(0)[0]
		if tt.want != "" && call.Status != 403 {
			t.Errorf("%s, %s %s: status %d", tt.key, tt.product, tt.action, call.Status)
		}
		after, err := sim.Snapshot()
		if err != nil || tt.want != "" && string(after) != string(before) {
			t.Errorf("%s, %s %s: the state changed (%v)", tt.key, tt.product, tt.action, err)
		}
	}
}

func TestAccessKeyValidate(t *testing.T) {
	t.Parallel()
	for _, deny := range []string{"", "CreateVpc", "vpc:", ":CreateVpc", "vpc:[", "vpc/CreateVpc"} {
		if k := (openapisim.AccessKey{ID: "a", Secret: "s", Deny: []string{deny}}); k.Validate() == nil {
			t.Errorf("%q is accepted", deny)
		}
	}
	if (&openapisim.AccessKey{ID: "a"}).Validate() == nil {
		t.Error("a key without a secret is accepted")
	}
}
