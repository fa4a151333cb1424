package lb

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
	"alicloud-controllers.dev/lbcontroller/internal/lb/knowledge"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
	"alicloud-controllers.dev/lbcontroller/internal/seen"
)

// What the tests of the engine with CLB as its example need to know.
const (
	FirstServers = 40 // A call of the cloud takes no more.
	RetryRefused = retryRefused
)

// TestLongestWaitCounts: of several failures in one pass, the time that the gateway asks for is kept.
func TestLongestWaitCounts(t *testing.T) {
	t.Parallel()
	invalid := &rpcerr.Error{Code: codes.InvalidArgument, Reason: rpcerr.InvalidField}
	throttled := &rpcerr.Error{Code: codes.ResourceExhausted, Reason: rpcerr.Throttled, RetryAfter: 5 * time.Second}
	v := judge([]error{invalid, throttled})
	if together, alone := v.retry.After, judge([]error{invalid}).retry.After; together != 5*time.Second || alone != retryRefused {
		t.Errorf("together %s, alone %s", together, alone)
	}
}

// TestChangeOfOnesOwnIsCheap: what is remembered of the others on a user's CLB isn't looked at when a Service changes
// only its own vServer group, as all of them do for each node.
func TestChangeOfOnesOwnIsCheap(t *testing.T) {
	var services seen.Services[state]
	var packer knowledge.Packer
	owner := ownership.Owner{Service: "web", Namespace: "default", ClusterID: "c-test"}
	servers := make([]model.Server, 100)
	for n := range servers {
		servers[n] = model.Server{ServerKey: model.ServerKey{Type: model.ECS, ID: fmt.Sprint("i-", n), Port: 30080}, Weight: 100}
	}
	there := model.Observed{InstanceID: "lb-user", Reused: true,
		Groups: []model.Group{{ID: "rsp-1", Name: owner.Group("30080"), Servers: servers}}}
	cost := func(others int) float64 {
		for n := range others {
			e := knowledge.Entry{UID: "u", Named: "lb-user", Known: knowledge.Servers{Observed: there}}
			services.Of(fmt.Sprint("default/other-", n)).Put(e, &packer)
		}
		return testing.AllocsPerRun(10, func() {
			if woken := wake(&services, "default/web", owner, there, there, nil); len(woken) > 0 {
				t.Error(woken)
			}
		})
	}
	if one, many := cost(1), cost(50); one != many {
		t.Errorf("%v allocations with one other, %v with 50", one, many)
	}
}

// TestGoneAmongFailures: a CLB that is gone is recognised whichever of several failed calls says so.
func TestGoneAmongFailures(t *testing.T) {
	gone, busy := rpcerr.Errorf(rpcerr.LoadBalancerNotFound, "no such load balancer"), rpcerr.Errorf(rpcerr.ResourceBusy, "busy")
	if !isGone(errors.Join(busy, gone)) {
		t.Error("the second of two isn't seen")
	}
	if isGone(errors.Join(busy, busy)) {
		t.Error("none of two is taken for it")
	}
}

// TestNoteOfWhatIsBound: a note says what a Service may have. It keeps what is noted until all that is asked for is in
// place. Of what is nobody's it says nothing.
func TestNoteOfWhatIsBound(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		noted, id       string
		own             bool
		meanwhile, done string
		knows           string // Of e-1 and e-2.
	}{
		{noted: "", meanwhile: "as before", done: ""},
		{noted: "", id: "e-1", meanwhile: "e-1", done: "e-1", knows: "e-1"},
		{noted: "", own: true, meanwhile: "allocated", done: "allocated", knows: "e-1,e-2"},
		{noted: "e-1", meanwhile: "e-1", done: "", knows: "e-1"},
		{noted: "e-1", id: "e-2", meanwhile: "e-1,e-2", done: "e-2", knows: "e-1,e-2"},
		{noted: "e-2", id: "e-1", meanwhile: "e-1,e-2", done: "e-1", knows: "e-1,e-2"},
		{noted: "e-1", own: true, meanwhile: "allocated,e-1", done: "allocated", knows: "e-1,e-2"},
		{noted: "allocated", meanwhile: "allocated", done: "", knows: "e-1,e-2"},
		{noted: "allocated", id: "e-1", meanwhile: "allocated,e-1", done: "e-1", knows: "e-1,e-2"},
		{noted: "allocated,e-1", own: true, meanwhile: "allocated,e-1", done: "allocated", knows: "e-1,e-2"},
		{noted: "e-1", id: "e-2", own: true, meanwhile: "e-1,e-2", done: "e-2", knows: "e-1,e-2"},
	} {
		svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{annotation.Bound: test.noted}}}
		b := desired.View{Service: svc}.Binding(test.id, test.own)
		note := func(isDone bool) string {
			n := controller.Notes{Annotations: map[string]string{annotation.Bound: "as before"}}
			noteBound(n, b, isDone)
			return n.Annotations[annotation.Bound]
		}
		knows := slices.DeleteFunc([]string{"e-1", "e-2"}, func(id string) bool { return !b.Notes(id) })
		over := b.Over()
		if over.IsAsked() || (over == nil) != (b == nil) || b != nil && (over.Made != b.Made || len(over.Users) != len(b.Users)) {
			t.Errorf("%+v: without what is asked for %+v is %+v", test, b, over)
		}
		if note(false) != test.meanwhile || note(true) != test.done || strings.Join(knows, ",") != test.knows {
			t.Errorf("%+v: noted %q, then %q; knows %q", test, note(false), note(true), knows)
		}
	}
}

// TestLooksAreAhead: a pass that renews nothing of what is remembered, as one that is refused or only reports, doesn't ask for another
// look at once: it would do so again, without end.
func TestLooksAreAhead(t *testing.T) {
	t.Parallel()
	binding, past, ahead := &model.Binding{}, time.Now().Add(-time.Minute), time.Now().Add(time.Hour)
	s := pass{svc: &corev1.Service{}, want: desired.Result{Desired: &model.Desired{Binding: binding}, ShowsBound: true},
		entry: knowledge.Entry{Addresses: []string{"203.0.113.1"}, AddressesUntil: past, VerifyAt: ahead}}
	for name, looks := range map[string][]controller.Look{
		"reports": s.looks(), "invalid": outcomeOfRefusal(s, &desired.InvalidError{Problems: []string{"wrong"}}).Looks,
	} {
		if len(looks) != 1 || looks[0].After < 50*time.Minute {
			t.Errorf("%s: looks %v, want one in an hour", name, looks)
		}
	}
}
