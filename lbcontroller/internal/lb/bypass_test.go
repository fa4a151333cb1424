package lb_test

import (
	"maps"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

func busy() error {
	return &rpcerr.Error{Code: codes.Unavailable, Reason: rpcerr.CloudUnavailable, Message: "the cloud is busy"}
}

func fresh(svc *corev1.Service) { svc.CreationTimestamp = metav1.Now() }

// vanishes deletes the Service past its finalizer.
func (w *world) vanishes() {
	if err := w.kube.Tracker().Delete(serviceResource(), "default", "web"); err != nil {
		w.t.Error(err)
	}
}

// TestDeletedPastTheFinalizer: the API server decides whether a Service may go at once before it deletes it, and so a
// deletion that is under way when the finalizer arrives takes the Service all the same. What was made for it until
// then, or is made afterwards, goes too, and the next Service of the name gets its own.
func TestDeletedPastTheFinalizer(t *testing.T) {
	for _, during := range []string{"CreateLoadBalancer", "CreateServerGroup", "CreateListener", ""} {
		for _, again := range []bool{false, true} {
			name := map[bool]string{false: "", true: " and created anew"}[again]
			t.Run("during "+during+name, func(t *testing.T) {
				inWorld(t, 1, func(w *world) {
					goes := sync.OnceFunc(func() {
						w.vanishes()
						if again {
							next := web(fresh, func(svc *corev1.Service) { svc.UID = "0dd0f3b5-6d4e-4bb4-9b30-0f1f6f4f0001" })
							if err := w.kube.Tracker().Create(serviceResource(), next, "default"); err != nil {
								w.t.Error(err)
							}
						}
					})
					w.cloud.Interpose(func(_ int, method string, _ proto.Message) gatewaytest.Fault {
						if method == during {
							goes()
						}
						return gatewaytest.Fault{}
					})
					w.create(web(fresh))
					goes()
					w.after(time.Minute)
					want := map[bool]int{false: 0, true: 1}[again]
					check(t, "CLBs", want, len(w.instances()))
					check(t, "listeners", want, len(w.listeners()))
					if again {
						check(t, "load balancer of the next Service", w.instances()[0].ID, w.service().Labels[LabelLoadBalancerID])
					}
					check(t, "deleted", 1, len(w.cloud.CallsOf("DeleteLoadBalancer")))
				})
			})
		}
	}
}

// TestVanishedServicesKeepTheirCLBs: what goes in another way proves nothing.
func TestVanishedServicesKeepTheirCLBs(t *testing.T) {
	tests := map[string]struct {
		changes []func(*corev1.Service)
		goes    func(w *world)
	}{
		"an old Service, as when etcd has lost it": {goes: func(w *world) {
			w.after(5 * time.Minute)
			w.vanishes()
		}},
		"somebody took the finalizer away before": {goes: func(w *world) {
			w.failing = func() gatewaytest.Fault { return gatewaytest.Fault{Before: busy()} } // Else the finalizer would be there again.
			w.update(func(svc *corev1.Service) { svc.Finalizers = nil })
			w.vanishes()
		}},
		"somebody took the finalizer away afterwards": {goes: func(w *world) {
			w.cloud.Fail("DeleteLoadBalancer", 100, busy())
			w.remove()
			w.vanishes()
		}},
		"it is to be kept": {changes: []func(*corev1.Service){annotated(annotation.PreserveOnDelete, "on")}, goes: (*world).vanishes},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			inWorld(t, 1, func(w *world) {
				w.create(web(append(test.changes, fresh)...))
				test.goes(w)
				w.after(time.Minute)
				check(t, "CLBs", 1, len(w.instances()))
				check(t, "listeners", []string{"80/TCP"}, w.listeners())
			})
		})
	}
}

// TestVanishedServiceWhoseCLBComesToLightLate: the cloud's lists may lack what was just made. The id was not noted, and
// the name is the user's.
func TestVanishedServiceWhoseCLBComesToLightLate(t *testing.T) {
	inWorld(t, 1, func(w *world) {
		vanishes := sync.OnceFunc(w.vanishes)
		hides := sync.OnceFunc(func() {
			w.cloud.Lock()
			defer w.cloud.Unlock()
			made := maps.Clone(w.cloud.LoadBalancers)
			clear(w.cloud.LoadBalancers)
			time.AfterFunc(20*time.Second, func() {
				w.cloud.Lock()
				defer w.cloud.Unlock()
				maps.Copy(w.cloud.LoadBalancers, made)
			})
		})
		w.cloud.Interpose(func(_ int, method string, _ proto.Message) gatewaytest.Fault {
			switch method {
			case "CreateLoadBalancer":
				vanishes()
			case "ListLoadBalancers":
				hides()
			}
			return gatewaytest.Fault{}
		})
		w.create(web(fresh, annotated(annotation.Name, "mine")))
		w.after(15 * time.Second)
		check(t, "CLBs", 1, len(w.instances()))
		w.after(2 * time.Minute)
		check(t, "load balancers in the end", 0, len(w.instances()))
		w.calls()
		w.after(time.Hour)
		check(t, "calls afterwards", []string(nil), w.calls())
	})
}
