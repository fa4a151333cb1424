package kube_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/kube"
	"alicloud-controllers.dev/services/kube/kubetest"
)

// throttled is one attempt's error of the cloud, with the request id of that attempt.
func throttled(requestID string) error {
	return fmt.Errorf("get instance i-1: %w", &rpcerr.Error{
		Code: codes.ResourceExhausted, Reason: rpcerr.Throttled, API: "ecs/DescribeInstances", CloudCode: "Throttling.User",
		CloudRequestID: requestID, Message: "Request was denied due to user flow control.",
	})
}

func TestWarningIsRecordedOncePerCause(t *testing.T) {
	t.Parallel()
	node := kube.NodeReference("node-1")
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "u-1"}}
	tests := []struct {
		name string
		play func(*kube.Events)
		want int
	}{
		{"one cause with many request ids", func(e *kube.Events) {
			for i := range 60 {
				e.Failure(node, "SyncNodeFailed", throttled(fmt.Sprint("request-", i)))
			}
		}, 1},
		{"connections from other ports", func(e *kube.Events) {
			for i := range 9 {
				e.Failure(node, "SyncNodeFailed", &rpcerr.Error{Code: codes.Unavailable, Message: fmt.Sprintf("read tcp 127.0.0.1:%d", 40000+i)})
			}
		}, 1},
		{"two causes in turn are news each time", func(e *kube.Events) {
			for range 3 {
				e.Failure(node, "SyncNodeFailed", throttled("r"))
				e.Failure(node, "SyncNodeFailed", errors.New("spec.providerID is wrong"))
			}
		}, 6},
		{"two parts with a cause each", func(e *kube.Events) {
			for range 3 {
				e.FailureOf("10.0.0.0/24", node, "CreateRouteFailed", throttled("r"))
				e.FailureOf("fd00::/64", node, "CreateRouteFailed", errors.New("the table is full"))
			}
		}, 2},
		{"parts that were forgotten with their reason", func(e *kube.Events) {
			for range 2 {
				e.FailureOf("10.0.0.0/24", node, "CreateRouteFailed", throttled("r"))
				e.FailureOf("fd00::/64", node, "CreateRouteFailed", throttled("r"))
				e.Forget(node, "CreateRouteFailed")
			}
		}, 4},
		{"another field that is wrong", func(e *kube.Events) {
			for _, field := range []string{"port", "port", "weight"} {
				e.Failure(service, "SyncFailed", rpcerr.Invalid(rpcerr.FieldViolation{Field: field, Description: "it is out of range"}))
			}
		}, 2},
		{"other objects and other reasons", func(e *kube.Events) {
			e.Failure(node, "SyncNodeFailed", throttled("r"))
			e.Failure(kube.NodeReference("node-2"), "SyncNodeFailed", throttled("r"))
			e.Failure(service, "SyncNodeFailed", throttled("r"))
			e.Failure(node, "DeleteNodeFailed", throttled("r"))
		}, 4},
		{"an object made anew", func(e *kube.Events) {
			e.Warning(service, "SyncFailed", "no")
			again := service.DeepCopy()
			again.UID = "u-2"
			e.Warning(again, "SyncFailed", "no")
		}, 2},
		{"again when it was forgotten", func(e *kube.Events) {
			e.Warning(node, "SyncNodeFailed", "no")
			e.Forget(node)
			e.Warning(node, "SyncNodeFailed", "no")
		}, 2},
		{"a cause of its own, whatever the text", func(e *kube.Events) {
			for i := range 3 {
				e.Warn(service, kube.Warning{Reason: "SkipSyncBackends", Cause: "nodes without provider ID", Message: fmt.Sprint(i, " nodes")})
			}
		}, 1},
		{"trouble that is over, and comes back", func(e *kube.Events) {
			for range 2 {
				e.Failure(node, "SyncNodeFailed", throttled("r"))
				e.FailureOf("10.0.0.0/24", node, "CreateRouteFailed", throttled("r"))
				e.FailureOf("fd00::/64", node, "CreateRouteFailed", throttled("r"))
				for range 3 {
					e.Resolve(node, "SyncNodeFailed", "CreateRouteFailed", "AnotherReason")
				}
			}
		}, 8},
		{"again when its reason was forgotten", func(e *kube.Events) {
			for range 2 {
				e.Warning(node, "SyncNodeFailed", "no")
				e.Warning(node, "DeleteNodeFailed", "no")
				e.Normal(node, "InitializedNode", "yes")
				e.Forget(node, "SyncNodeFailed", "AnotherReason")
			}
		}, 5},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			recorder := &kubetest.Recorder{}
			tt.play(kube.NewEvents(recorder, kube.RepeatWarnings))
			if got := recorder.Matching(""); len(got) != tt.want {
				t.Errorf("%d events, want %d: %v", len(got), tt.want, got)
			}
		})
	}
}

// A cause that lasts stays visible, with the text of its first event, so that the API server counts one event up.
func TestLastingWarningIsRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		recorder := &kubetest.Recorder{}
		events := kube.NewEvents(recorder, kube.RepeatWarnings)
		for minute := range 61 {
			events.Failure(kube.NodeReference("node-1"), "SyncNodeFailed", throttled(fmt.Sprint("request-", minute)))
			<-time.After(time.Minute)
		}
		got := recorder.Matching("")
		if len(got) != 3 || got[0] != got[1] || got[1] != got[2] {
			t.Errorf("events within an hour, want three equal ones: %v", got)
		}
	})
}

// Without a time after which they are repeated, warnings are recorded on change only.
func TestLastingWarningIsNotRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		recorder := &kubetest.Recorder{}
		events := kube.NewEvents(recorder, 0)
		for range 100 {
			events.Warning(kube.NodeReference("node-1"), "UnknownAnnotation", "it has no effect")
			<-time.After(time.Hour)
		}
		if got := recorder.Matching(""); len(got) != 1 {
			t.Errorf("%d events, want one: %v", len(got), got)
		}
	})
}

// A warning about a failed call says what can be done about it.
func TestFailureHasANextStep(t *testing.T) {
	t.Parallel()
	recorder := &kubetest.Recorder{}
	events := kube.NewEvents(recorder, kube.RepeatWarnings)
	events.Failure(kube.NodeReference("node-1"), "SyncNodeFailed", &rpcerr.Error{Code: codes.Unavailable, Message: "connection refused"})
	want := []string{"node-1 SyncNodeFailed: connection refused (Unavailable); next: look whether cloudgateway runs; it is tried again"}
	if diff := cmp.Diff(want, recorder.Matching("")); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// The last word about an object is not a warning of long ago.
func TestTroubleThatIsOverIsReported(t *testing.T) {
	t.Parallel()
	recorder := &kubetest.Recorder{}
	events, node := kube.NewEvents(recorder, kube.RepeatWarnings), kube.NodeReference("node-1")
	events.Resolve(node)
	events.Warning(node, "SyncNodeFailed", "no")
	events.Warning(node, "WaitingForCloud", "not yet")
	events.Warning(node, "DeleteNodeFailed", "no")
	events.Warn(node, kube.Warning{Reason: "DoneWithForce", Message: "yes", Done: true})
	events.Resolve(node, "SyncNodeFailed", "WaitingForCloud", "DoneWithForce")
	events.Resolve(node, "SyncNodeFailed", "WaitingForCloud")
	events.Forget(node)
	events.Resolve(node)
	want := []string{"node-1 Resolved: the trouble that SyncNodeFailed, WaitingForCloud reported is over"}
	if diff := cmp.Diff(want, recorder.Matching(kube.ReasonResolved)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestRememberedWarningsAreBounded(t *testing.T) {
	t.Parallel()
	recorder := &kubetest.Recorder{}
	events := kube.NewEvents(recorder, kube.RepeatWarnings)
	const objects = 25_000
	for i := range objects {
		events.Warning(kube.NodeReference(fmt.Sprint("node-", i)), "SyncNodeFailed", "no")
	}
	last := kube.NodeReference(fmt.Sprint("node-", objects-1))
	events.Warning(last, "SyncNodeFailed", "no") // Remembered.
	events.Warning(kube.NodeReference("node-0"), "SyncNodeFailed", "no")
	if diff := cmp.Diff(objects+1, len(recorder.Matching(""))); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
