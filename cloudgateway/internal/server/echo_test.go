package server

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
)

// TestListenerThatNobodyCanLookAt: the error never says that a caller's own listener on the port is another one's, even if the gateway
// can't read it. The repetition finds it.
func TestListenerThatNobodyCanLookAt(t *testing.T) {
	const create, look, start = "CreateLoadBalancerTCPListener", "DescribeLoadBalancerListeners", "StartLoadBalancerListener"
	w := newWorld(t)
	at := withGroup(t, w)
	w.strike(t, fault.Rule{Action: create, Times: 1, When: fault.After, Error: &fault.Error{Status: 500, Code: "InternalError"}},
		fault.Rule{Action: look, Times: 2, Error: &fault.Error{Status: 403, Code: "Forbidden.RAM"}})
	w.forget()
	for _, want := range []rpcerr.Reason{rpcerr.CloudForbidden, ""} {
		_, err := w.Listeners.CreateListener(t.Context(), listenerRequest(at.lb, at.group))
		if rpcerr.ReasonOf(err) != want {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if diff := cmp.Diff([]string{create, look, create, look, create, look, start}, w.actions(true)); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}
