package lb_test

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/lb/knowledge"
	"alicloud-controllers.dev/lbcontroller/internal/lb/orphan"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
)

// orphanage lets the controller look for orphans every hour, and delete two in a day after a day.
func (w *world) orphanage(change func(*settings)) {
	w.config = func(cfg *settings) {
		cfg.Kind.Orphans = Orphans{
			Client: w.kube, Recorder: w.events, Interval: time.Hour, Delete: true, Policy: orphan.Policy{Grace: 24 * time.Hour, PerDay: 2},
		}
		cfg.Kind.Records = knowledge.NewRecord(knowledge.RecordConfig{Client: w.kube, Namespace: "kube-system",
			Name: "backends", Logger: slog.New(slog.DiscardHandler)})
		change(cfg)
	}
	w.restart()
}

// orphan puts a CLB into the cloud that was made for a Service which is gone.
func (w *world) orphan(id string) {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	owner := ownership.Owner{Service: "gone", Namespace: "default", ClusterID: clusterID}
	lb := &state.LoadBalancer{ID: id, Name: "agone", Address: "47.8.8.8", AddressType: "internet", DeleteProtection: "on"}
	if was := w.cloud.LoadBalancers[id]; was != nil {
		lb.Tags = slices.Clone(was.Tags)
	}
	lb.Tags = append(lb.Tags, tag(ownership.TagService, "agone"), tag(ownership.TagCluster, clusterID))
	w.cloud.LoadBalancers[id] = lb
	w.cloud.ServerGroups["rsp-"+id] = &state.ServerGroup{LoadBalancerID: id, Name: owner.Group("30090"),
		Servers: []*state.Server{instanceServer("i-1", 30090, 100, owner.Group("30090"))}}
	w.listen(id, 80, "rsp-"+id, owner.Listener(80))
}

func (w *world) has(id string) bool {
	w.cloud.Lock()
	defer w.cloud.Unlock()
	return w.cloud.LoadBalancers[id] != nil
}

// TestOrphanedLists: the access list of a Service that went past its finalizer, and whose CLB was deleted by hand, is found, reported, and
// deleted where that is asked for. One with another mark, of a Service that is there, or that something uses, stays.
func TestOrphanedLists(t *testing.T) {
	t.Parallel()
	const left = "acl-left"
	orphaned := func(t *testing.T, change func(*settings), then func(w *world)) {
		inWorld(t, 1, func(w *world) {
			w.orphanage(change)
			w.create(web(ranges("10.0.0.0/8")))
			w.settle()
			w.cloud.Lock()
			for _, l := range w.cloud.Acls {
				for id, marks := range map[string][2]string{
					left: {"agone", clusterID}, "acl-other": {"agone", "c-other"}, "acl-bare": {"", clusterID},
				} {
					more := *l
					more.ID, more.Name, more.Tags = id, "k8s-clb-agone", slices.Clone(l.Tags)
					for i, t := range more.Tags {
						more.Tags[i].Value = map[string]string{ownership.TagService: marks[0], ownership.TagCluster: marks[1]}[t.Key]
					}
					w.cloud.Acls[id] = &more
				}
				break
			}
			w.cloud.Unlock()
			w.calls()
			w.events.take()
			then(w)
		})
	}
	there := func(w *world) []string {
		w.cloud.Lock()
		defer w.cloud.Unlock()
		return slices.Sorted(maps.Keys(w.cloud.Acls))
	}
	t.Run("reported", func(t *testing.T) {
		orphaned(t, func(cfg *settings) { cfg.Kind.Orphans.Delete = false }, func(w *world) {
			w.after(time.Hour)
			w.hasEvents("the first look", "Warning OrphanedLoadBalancer 1 CLBs, or things beside CLBs, of the cluster "+
				"have no Service: access list acl-left (k8s-clb-agone); release them")
			check(t, "metric", map[string]float64{"CLB": 1}, w.gauge("lbcontroller_orphans"))
			w.after(30 * time.Hour)
			check(t, "writes", []string(nil), w.writes())
		})
	})
	t.Run("deleted", func(t *testing.T) {
		orphaned(t, func(*settings) {}, func(w *world) {
			before := there(w)
			w.after(23 * time.Hour)
			check(t, "within the grace", before, there(w))
			w.after(3 * time.Hour)
			check(t, "after it", slices.DeleteFunc(slices.Clone(before), func(id string) bool { return id == left }), there(w))
			w.hasEvents("the deletion", "Normal DeletedOrphan access list acl-left (k8s-clb-agone) is deleted")
			check(t, "urgent calls", []string(nil), w.urgent())
			w.after(30 * time.Hour)
			check(t, "in the end", len(before)-1, len(there(w)))
		})
	})
	t.Run("in use", func(t *testing.T) {
		orphaned(t, func(*settings) {}, func(w *world) {
			w.cloud.Fail("DeleteAccessControlList", 1000, rpcerr.Errorf(rpcerr.AclInUse, "a listener uses it"))
			w.orphan("lb-gone")
			w.after(72 * time.Hour)
			check(t, "it stays", true, slices.Contains(there(w), left))
			check(t, "and keeps no other orphan", false, w.has("lb-gone"))
			if !strings.Contains(strings.Join(w.events.take(), "\n"), "something else uses it") {
				t.Errorf("nothing says why")
			}
		})
	})
	t.Run("without permission", func(t *testing.T) {
		orphaned(t, func(*settings) {}, func(w *world) {
			w.cloud.Fail("ListAccessControlLists", 1000, rpcerr.Errorf(rpcerr.CloudForbidden, "the policy lacks it"))
			w.orphan("lb-gone")
			w.after(30 * time.Hour)
			check(t, "access lists", 4, len(there(w)))
			check(t, "a load balancer is found all the same", false, w.has("lb-gone"))
		})
	})
}

// TestOrphansAreKept: whatever is unclear keeps a CLB.
func TestOrphansAreKept(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(w *world)
		why    string
	}{
		"a listener made by hand": {func(w *world) {
			w.cloud.Lock()
			defer w.cloud.Unlock()
			w.listen("lb-gone", 9000, "rsp-lb-gone", "by hand")
		}, "was not made by this cluster"},
		"a server of others": {func(w *world) {
			w.cloud.Lock()
			defer w.cloud.Unlock()
			w.cloud.ServerGroups["rsp-lb-gone"].Servers[0].ServerID = "i-theirs"
		}, "no node of this cluster"},
		"a Service shows its address": {func(w *world) {
			other := api(81)
			other.Spec.Type = corev1.ServiceTypeClusterIP
			other.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "47.8.8.8"}}
			w.create(other)
		}, "Service default/api"},
		"no load balancer has a Service": {func(w *world) { w.remove() }, "cluster id may be that of another"},
		"the cloud doesn't answer": {func(w *world) {
			w.cloud.Fail("GetLoadBalancer", 1000, &rpcerr.Error{Code: codes.Unavailable, Message: "away"})
		}, ""},
		"the Services can't be listed": {func(w *world) {
			w.broken("list", "services")
		}, ""},
		"the budget can't be kept": {func(w *world) { w.broken("patch", "configmaps") }, ""},
		"the budget can't be read": {func(w *world) { w.broken("get", "configmaps") }, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, func(w *world) {
				w.orphanage(func(*settings) {})
				w.create(web())
				w.orphan("lb-gone")
				w.after(2 * time.Hour)
				test.change(w)
				w.settle()
				w.events.take()
				w.after(30 * time.Hour) // The grace is 24.
				check(t, "lb-gone is there", true, w.has("lb-gone"))
				if test.why != "" && !strings.Contains(strings.Join(w.events.take(), "\n"), test.why) {
					t.Errorf("nothing says why")
				}
			})
		})
	}
	for _, policy := range []Policy{PolicyReport, PolicyUpsert} {
		t.Run(fmt.Sprintf("policy %s", policy), func(t *testing.T) {
			inWorld(t, 1, func(w *world) {
				w.create(web())
				w.orphan("lb-gone")
				w.orphanage(func(cfg *settings) { cfg.Kind.Policy = policy })
				w.after(72 * time.Hour)
				check(t, "lb-gone is there", true, w.has("lb-gone"))
			})
		})
	}
}

// TestFreshServiceIsNoOrphan: a CLB that is made while the Services are read has its Service.
func TestFreshServiceIsNoOrphan(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		w.orphanage(func(*settings) {})
		w.create(web())
		var late atomic.Bool
		w.cloud.Interpose(func(_ int, method string, _ proto.Message) gatewaytest.Fault {
			if method == "ListLoadBalancers" && late.CompareAndSwap(false, true) {
				if _, err := w.kube.CoreV1().Services("default").Create(w.t.Context(), api(81), metav1.CreateOptions{}); err != nil {
					w.t.Error(err)
				}
			}
			return gatewaytest.Fault{}
		})
		w.after(11 * time.Minute)
		check(t, "metric", map[string]float64{}, w.gauge("lbcontroller_orphans"))
	})
}

// broken lets every request of a kind to the API server fail.
func (w *world) broken(verb, resource string) {
	w.kube.PrependReactor(verb, resource, func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("the API server is away")
	})
}

// urgent are the calls that didn't have the priority of the background.
func (w *world) urgent() (methods []string) {
	for _, c := range w.cloud.Calls() {
		if c.Priority != gateway.Background {
			methods = append(methods, c.Method)
		}
	}
	return methods
}
