package app

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway"
)

// TestStatus: who may read the capabilities sees who calls what.
func TestStatus(t *testing.T) {
	w := newWorld(t)
	w.start()
	writer := w.dial("writer")
	const caller = "system:serviceaccount:kube-system:writer"
	look := func() *commonv1.GetStatusResponse {
		t.Helper()
		status, err := writer.Status.GetStatus(t.Context(), &commonv1.GetStatusRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return status
	}
	var before, got *commonv1.GetStatusResponse
	until(t, "a call and the looks before and after it fall into one minute, by which calls are counted", func() bool {
		begun := time.Now().Truncate(time.Minute)
		before = look() // A call of the round before may count in this minute.
		if _, err := writer.LoadBalancers.CreateLoadBalancer(t.Context(), &slbv1.CreateLoadBalancerRequest{
			RequestId: begun.Format(time.RFC3339), Name: "web", AddressType: slbv1.AddressType_ADDRESS_TYPE_INTERNET, Spec: "slb.s1.small",
		}); err != nil {
			t.Fatal(err)
		}
		got = look()
		return time.Now().Truncate(time.Minute).Equal(begun)
	})
	if !got.GetActive() || got.GetLeader() != "" || got.GetRegionId() != "cn-hangzhou" || got.GetAsOf() == nil {
		t.Errorf("got %v", got)
	}
	creates := func(status *commonv1.GetStatusResponse) *commonv1.ActionStatus {
		for _, a := range status.GetActions() {
			if a.GetProduct() == "slb" && a.GetAction() == "CreateLoadBalancer" {
				return a
			}
		}
		return nil
	}
	sent := creates(before).GetSent() + 1
	if a := creates(got); a.GetSent() != sent || len(a.GetSentByCaller()) != 1 || a.GetSentByCaller()[0].GetCaller() != caller ||
		a.GetSentByCaller()[0].GetCalls() != sent || a.GetLimit() < 1 || a.GetWindow() == nil {
		t.Errorf("got %v, want %d creates, in %v", a, sent, got.GetActions())
	}
	user := int64(0)
	for _, c := range got.GetCallers() {
		if c.GetCaller() == caller && c.GetPriority() == commonv1.Priority_PRIORITY_USER {
			user = c.GetSent()
		}
	}
	if user == 0 {
		t.Errorf("no call of %s in %v", caller, got.GetCallers())
	}
	e, _ := rpcerr.From(statusError(t, w.dial("reader")))
	if e == nil || e.Code != codes.PermissionDenied {
		t.Errorf("without the permission: %v", e)
	}
}

func statusError(t *testing.T, c *gateway.Client) error {
	t.Helper()
	_, err := c.Status.GetStatus(t.Context(), &commonv1.GetStatusRequest{})
	return err
}
