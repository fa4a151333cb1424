package lb_test

import (
	"cmp"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb"
)

// TestPriorities: what the calls of each kind of work have in the gateway. Nothing that nobody waits for ranks with a user's change, and no
// change of backends waits behind one.
func TestPriorities(t *testing.T) {
	type test struct {
		name    string
		nodes   int // 2 by default
		prepare func(w *world)
		do      func(w *world)
		want    []string
	}
	tests := []test{
		{
			name: "a new Service", do: func(w *world) { w.create(web()) },
			want: []string{"CreateLoadBalancer user", "CreateServerGroup user", "CreateListener user", "ListListeners user"},
		},
		{
			name: "a user's edit", prepare: func(w *world) { w.create(web()) },
			do:   func(w *world) { w.update(annotated(annotation.Scheduler, "wrr")) },
			want: []string{"GetLoadBalancer user", "UpdateListener user"},
		},
		{
			name: "a new Service while its load balancer has to be looked for", prepare: func(w *world) { w.stop() },
			do: func(w *world) {
				w.create(web(func(svc *corev1.Service) { svc.CreationTimestamp = metav1.NewTime(time.Now().Add(-time.Hour)) }))
				w.start()
			},
			want: []string{"ListLoadBalancers user", "ListLoadBalancers user", "CreateLoadBalancer user",
				"CreateServerGroup user", "CreateListener user", "ListListeners user"},
		},
		{
			name: "endpoints", prepare: func(w *world) {
				w.create(web(func(svc *corev1.Service) { svc.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal }))
				w.pods(pod("10.0.0.1", "node-1"))
			},
			do:   func(w *world) { w.pods(pod("10.0.0.1", "node-1"), pod("10.0.0.2", "node-2")) },
			want: []string{"ApplyServerChanges backend"},
		},
		{
			name: "a node", prepare: func(w *world) { w.create(web()) },
			do: func(w *world) {
				w.addNode(3)
				w.settle()
			},
			want: []string{"ApplyServerChanges backend"},
		},
		{
			name: "deletion", prepare: func(w *world) { w.create(web()) }, do: func(w *world) { w.remove() },
			want: []string{"GetLoadBalancer deletion", "ListAccessControlLists deletion", "UpdateLoadBalancer deletion",
				"DeleteLoadBalancer deletion"},
		},
		{
			name: "deletion of what has to be looked at", prepare: func(w *world) {
				w.create(web())
				w.stop()
			},
			do: func(w *world) {
				w.remove()
				w.start()
			},
			want: []string{"GetLoadBalancer deletion", "ListAccessControlLists deletion", "UpdateLoadBalancer deletion",
				"DeleteLoadBalancer deletion"},
		},
		{
			name: "check for drift", prepare: func(w *world) { w.create(web()) }, do: func(w *world) { w.after(6 * time.Hour) },
			want: []string{"GetLoadBalancer background"},
		},
		{
			name: "restart", prepare: func(w *world) {
				w.create(web())
				w.after(time.Hour)
			},
			do:   func(w *world) { w.restart() },
			want: []string{"ListServerGroups background", "GetServerGroup background"},
		},
		{
			name: "restart with the record", prepare: func(w *world) {
				withRecords(w)
				w.create(web())
				w.after(time.Minute)
			},
			do: func(w *world) {
				w.restart()
				w.after(5 * time.Hour)
			},
			want: []string{"GetLoadBalancer background"},
		},
	}
	for name, lives := range map[string]time.Duration{"": 10 * time.Second, ", and before that is recorded": 3 * time.Second} {
		tests = append(tests, test{
			name: "restart before a new Service has all its servers" + name, nodes: lb.FirstServers + 1,
			prepare: func(w *world) { diesBetweenServers(w, lives) }, do: func(w *world) { w.start() },
			want: []string{"ListServerGroups user", "GetServerGroup user", "ApplyServerChanges backend"},
		})
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, cmp.Or(tt.nodes, 2), func(w *world) {
				if tt.prepare != nil {
					tt.prepare(w)
				}
				w.cloud.ResetCalls()
				tt.do(w)
				var got []string
				for _, c := range w.cloud.Calls() {
					got = append(got, c.Method+" "+string(c.Priority))
				}
				check(t, "calls", tt.want, got)
			})
		})
	}
}

// diesBetweenServers lets a leader make a CLB, and die after a time in which it could not bring in more than the first servers.
func diesBetweenServers(w *world, lives time.Duration) {
	w.t.Helper()
	withRecords(w)
	var died atomic.Bool
	w.cloud.Interpose(func(_ int, method string, _ proto.Message) gatewaytest.Fault {
		if method == "ApplyServerChanges" {
			died.Store(true)
		}
		if died.Load() {
			return gatewaytest.Fault{Before: &rpcerr.Error{Code: codes.Unavailable, Reason: rpcerr.CloudUnavailable, Message: "the process is dead"}}
		}
		return gatewaytest.Fault{}
	})
	svc := web()
	if _, err := w.kube.CoreV1().Services(svc.Namespace).Create(w.t.Context(), svc, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	w.after(lives)
	if !died.Load() || len(w.service().Status.LoadBalancer.Ingress) == 0 {
		w.t.Error("the Service has no address yet, or has tried no more servers")
	}
	w.stop()
	w.cloud.Interpose(nil)
}
