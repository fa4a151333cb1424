package lb_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	kubetesting "k8s.io/client-go/testing"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
)

// limited lets a creation through once in a gap, as the gateway does: a call waits for its turn, unless that comes
// later than its patience lasts. What follows the creation takes some seconds.
func (w *world) limited(gap, patience time.Duration) { w.cloud.Interpose(w.limit(gap, patience)) }

func (w *world) limit(gap, patience time.Duration) func(int, string, proto.Message) gatewaytest.Fault {
	var mu sync.Mutex
	var next time.Time
	turn := func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		if next.Before(time.Now()) {
			next = time.Now()
		}
		wait := time.Until(next)
		if wait <= patience {
			next = next.Add(gap)
		}
		return wait
	}
	return func(_ int, method string, _ proto.Message) gatewaytest.Fault {
		wait := time.Duration(0)
		switch method {
		case "CreateLoadBalancer":
			if wait = turn(); wait > patience {
				return gatewaytest.Fault{Before: noRoomFor(method, wait)}
			}
		case "CreateListener":
			wait = 5 * time.Second
		}
		select {
		case <-time.After(wait):
		case <-w.t.Context().Done():
		}
		return gatewaytest.Fault{}
	}
}

// TestOneRefusalHoldsForAll: while the gateway has no room for the CLBs of many Services, each of them asks it about
// once, and not again and again, and all that the rate limit allows is used. Those that need no CLB any more don't hold
// up the others.
func TestOneRefusalHoldsForAll(t *testing.T) {
	t.Parallel()
	const gap = time.Second
	// So many of them cease to ask for a CLB while they wait, or ask for one that can't be.
	services, turned := 300, 60
	if testing.Short() {
		services, turned = 100, 20
	}
	inWorld(t, 2, func(w *world) {
		w.limited(gap, 20*time.Second)
		reads := w.countReads()
		for i := range services {
			w.put(numbered(i))
		}
		start := time.Now()
		w.after(5 * time.Second)
		for i := range turned {
			svc := numbered(services/2 + i)
			patch := []byte(`{"spec":{"type":"ClusterIP"}}`)
			if i%2 == 0 {
				patch = fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"nonsense"}}}`, annotation.Prefix+annotation.AddressType)
			}
			if _, err := w.kube.CoreV1().Services(svc.Namespace).Patch(t.Context(), svc.Name, types.MergePatchType, patch,
				metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		for ; w.served("default") < services-turned; w.after(5 * time.Second) {
			if time.Since(start) > time.Hour {
				t.Fatalf("%d of %d Services have an address after an hour", w.served("default"), services-turned)
			}
		}
		took, asked, read := time.Since(start), len(w.cloud.CallsOf("CreateLoadBalancer")), reads()
		t.Logf("%d Services have an address after %s, the gateway was asked %d times, the API server for a Service %d times",
			services-turned, took, asked, read)
		if best := time.Duration(services-turned) * gap; took > best*11/10 {
			t.Errorf("all have an address after %s, the limit allows them in %s", took, best)
		}
		if most := 2 * services; asked > most { // As many as may be under way are refused before the first one knows of it.
			t.Errorf("the gateway was asked %d times for %d Services, want %d at most", asked, services, most)
		}
		if most := 2 * int64(services); read > most {
			t.Errorf("%d Services were read %d times at the API server, want %d at most", services, read, most)
		}
	})
}

// TestNamespacesTakeTurns: a Service doesn't wait for the many of another namespace that came before it.
func TestNamespacesTakeTurns(t *testing.T) {
	t.Parallel()
	inWorld(t, 2, func(w *world) {
		w.limited(time.Second, time.Minute)
		for i := range 300 {
			w.put(numbered(i))
		}
		w.after(30 * time.Second)
		late := numbered(300)
		late.Namespace = "shop"
		w.put(late)
		start := time.Now()
		for ; w.served("shop") == 0; w.after(time.Second) {
			if time.Since(start) > 75*time.Second {
				t.Fatalf("the Service of the other namespace has no address after %s; %d of 300 have one", time.Since(start), w.served("default"))
			}
		}
	})
}

// TestRefusedAtOnce: a Service that may not have its CLB is refused at once, however many others wait for theirs.
func TestRefusedAtOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, 2, func(w *world) {
		w.config = func(cfg *settings) { cfg.CLB.DisablePublic = true }
		w.restart()
		w.limited(time.Second, 10*time.Second)
		for i := range 100 {
			svc := numbered(i)
			annotated(annotation.AddressType, "intranet")(svc)
			w.put(svc)
		}
		w.after(5 * time.Second)
		w.create(web())
		if events := strings.Join(w.events.take(), "\n"); !strings.Contains(events, "public CLBs are disabled") {
			t.Errorf("events: %s", events)
		}
	})
}

// TestHoldingBackKeepsDelays: a Service whose creation goes wrong is tried more and more seldom, also if it is held back in between.
func TestHoldingBackKeepsDelays(t *testing.T) {
	t.Parallel()
	inWorld(t, 2, func(w *world) {
		limit := w.limit(time.Second, 20*time.Second)
		var failed atomic.Int64
		w.cloud.Interpose(func(seq int, method string, request proto.Message) gatewaytest.Fault {
			if r, ok := request.(*slbv1.CreateLoadBalancerRequest); ok && r.GetName() == ownership.DefaultName(string(numbered(0).UID)) {
				failed.Add(1)
				return gatewaytest.Fault{Before: &rpcerr.Error{Code: codes.Internal, Message: "no"}}
			}
			return limit(seq, method, request)
		})
		for i := range 150 {
			svc := numbered(i)
			if i == 0 {
				svc.Namespace = "shop"
			}
			w.put(svc)
		}
		w.after(2 * time.Minute)
		if served := w.served("default"); served < 100 || served > 130 {
			t.Fatalf("%d Services are served, the others wait no more", served)
		}
		if n := failed.Load(); n < 4 || n > 10 {
			t.Errorf("the creation that goes wrong was tried %d times in two minutes", n)
		}
	})
}

// TestRequestsOfACreation: a creation costs the API server three writes, one more if tags have to be noted before, and one
// that says that its listeners run. One
// that waits for room at the gateway costs a write that says so, and a read when its turn comes: what the cache shows
// is old by then.
func TestRequestsOfACreation(t *testing.T) {
	t.Parallel()
	const finalizer, tags, id, address, conditions = "patch finalizers", "patch annotations", "patch labels",
		"patch status labels", "patch status"
	for name, test := range map[string]struct {
		change func(*corev1.Service)
		want   []string
	}{
		"at once":   {func(*corev1.Service) {}, []string{finalizer, id, address, conditions}},
		"with tags": {annotated(annotation.AdditionalTags, "team=blue"), []string{finalizer, tags, id, address, conditions}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, 1, func(w *world) {
				w.create(web(test.change))
				check(t, "requests", test.want, w.requestsFor("web"))
			})
		})
	}
	t.Run("in turn", func(t *testing.T) {
		t.Parallel()
		inWorld(t, 1, func(w *world) {
			const services = 100
			w.limited(time.Second, 20*time.Second)
			for i := range services - 1 {
				w.put(numbered(i))
			}
			w.after(10 * time.Second) // The gateway has refused some of them.
			last := numbered(services - 1).Name
			w.create(numbered(services - 1))
			check(t, "requests while it waits", []string{finalizer, conditions}, w.requestsFor(last))
			w.after(5 * time.Minute)
			check(t, "served", services, w.served("default"))
			check(t, "requests", []string{finalizer, conditions, "get", id, address, conditions}, w.requestsFor(last))
		})
	})
}

// requestsFor lists the requests for a Service that the controller has sent to the API server, patches with the parts that they change.
func (w *world) requestsFor(name string) (requests []string) {
	w.t.Helper()
	for _, action := range w.kube.Actions() {
		if action.GetResource().Resource != "services" {
			continue
		}
		switch a := action.(type) {
		case kubetesting.PatchAction:
			if a.GetName() != name {
				continue
			}
			var body struct {
				Metadata struct {
					Finalizers, Annotations, Labels any
				}
			}
			if err := json.Unmarshal(a.GetPatch(), &body); err != nil {
				w.t.Fatal(err)
			}
			words := []string{"patch"}
			for _, part := range []struct {
				name string
				is   bool
			}{
				{"status", a.GetSubresource() == "status"}, {"finalizers", body.Metadata.Finalizers != nil},
				{"annotations", body.Metadata.Annotations != nil}, {"labels", body.Metadata.Labels != nil},
			} {
				if part.is {
					words = append(words, part.name)
				}
			}
			requests = append(requests, strings.Join(words, " "))
		case kubetesting.GetAction:
			if a.GetName() == name {
				requests = append(requests, "get")
			}
		}
	}
	return requests
}

// countReads returns a function that says how often Services were read at the API server since it was called last.
func (w *world) countReads() func() int64 {
	var reads atomic.Int64
	w.kube.PrependReactor("get", "services", func(kubetesting.Action) (bool, runtime.Object, error) {
		reads.Add(1)
		return false, nil, nil
	})
	return func() int64 { return reads.Swap(0) }
}
