package lb_test

import (
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// TestEIPsThatCantBeRead: while the EIPs of a Service can't be read any more, they are looked at once a minute.
func TestEIPsThatCantBeRead(t *testing.T) {
	t.Parallel()
	inWorld(t, 2, func(w *world) {
		w.create(web(annotated(annotation.ExternalIPType, "eip")))
		w.after(time.Minute)
		var failed atomic.Int64
		w.cloud.Interpose(func(_ int, method string, _ proto.Message) gatewaytest.Fault {
			if method != "ListEips" || failed.Add(1) > 1000 { // The time would stand still else.
				return gatewaytest.Fault{}
			}
			return gatewaytest.Fault{Before: &rpcerr.Error{Code: codes.Unavailable, Reason: rpcerr.CloudUnavailable, Message: "no answer"}}
		})
		w.after(10 * time.Minute)
		if n := failed.Load(); n < 5 || n > 15 {
			t.Errorf("the EIPs were read %d times in 10 minutes, want about 10 times", n)
		}
	})
}
