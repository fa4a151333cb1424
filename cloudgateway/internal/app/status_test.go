package app

import (
	"testing"

	"google.golang.org/grpc/codes"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway"
)

// TestStatus: who may read the capabilities sees who calls what.
func TestStatus(t *testing.T) {
	w := newWorld(t)
	w.start()
	writer := w.dial("writer")
	if err := create(t.Context(), writer); err != nil {
		t.Fatal(err)
	}
	const caller = "system:serviceaccount:kube-system:writer"
	got, err := writer.Status.GetStatus(t.Context(), &commonv1.GetStatusRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if !got.GetActive() || got.GetLeader() != "" || got.GetRegionId() != "cn-hangzhou" || got.GetAsOf() == nil {
		t.Errorf("got %v", got)
	}
	creates := 0
	for _, a := range got.GetActions() {
		if a.GetProduct() == "slb" && a.GetAction() == "CreateLoadBalancer" {
			creates = int(a.GetSent())
			if by := a.GetSentByCaller(); len(by) != 1 || by[0].GetCaller() != caller || by[0].GetCalls() != 1 ||
				a.GetLimit() < 1 || a.GetWindow() == nil {
				t.Errorf("got %v", a)
			}
		}
	}
	if creates != 1 {
		t.Errorf("%d creates in %v", creates, got.GetActions())
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
