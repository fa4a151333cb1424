package nlb_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/gateway/gatewaytest"

	"alicloud-controllers.dev/lbcontroller/internal/controller"
)

// TestQuotaHoldsForAll: while the quota of load balancers is used up, the cloud is asked for one about every 5 minutes, however many
// Services wait for theirs. Each says why. One that is deleted makes room for the next at once, and a higher quota is used soon.
func TestQuotaHoldsForAll(t *testing.T) {
	const services = 20
	for kind, create := range map[string]string{"CLB": "CreateLoadBalancer", "NLB": "nlb.CreateLoadBalancer"} {
		inWorld(t, 1, func(w *world) {
			var mu sync.Mutex
			quota, made, asked := 3, 0, 0
			w.cloud.Interpose(func(_ int, method string, _ proto.Message) gatewaytest.Fault {
				mu.Lock()
				defer mu.Unlock()
				switch {
				case method != create:
					return gatewaytest.Fault{}
				case made < quota:
					made++
					return gatewaytest.Fault{}
				}
				asked++
				return gatewaytest.Fault{Before: rpcerr.Errorf(rpcerr.QuotaExceeded, "the account has %d load balancers", quota)}
			})
			list := func() []corev1.Service {
				found, err := w.kube.CoreV1().Services("default").List(t.Context(), metav1.ListOptions{})
				if err != nil {
					t.Fatal(err)
				}
				return found.Items
			}
			served := func() (names []string) {
				for _, svc := range list() {
					if len(svc.Status.LoadBalancer.Ingress) > 0 && svc.DeletionTimestamp == nil {
						names = append(names, svc.Name)
					}
				}
				return names
			}
			for i := range services {
				svc := web()
				if kind == "CLB" {
					onCLB(svc)
				}
				svc.Name, svc.UID = fmt.Sprintf("web-%d", i), types.UID(fmt.Sprintf("%08d%s", i, uid[8:]))
				if _, err := w.kube.CoreV1().Services("default").Create(t.Context(), svc, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			w.after(time.Minute)
			check(t, kind+": served", 3, len(served()))
			mu.Lock()
			asked = 0
			mu.Unlock()
			w.cloud.ResetCalls()
			w.after(time.Hour)
			mu.Lock()
			t.Logf("%s: asked %d times in an hour, %d calls, for %d Services", kind, asked, len(w.cloud.Calls()), services-3)
			if asked > 15 || asked < 6 {
				t.Errorf("%s: the cloud was asked for a load balancer %d times in an hour, about 12 are right", kind, asked)
			}
			// If each looked for itself every 5 minutes there were more than 1 000. Whose turn it is when several come back at the same time
			// is not determined, and some read before they are held back.
			if calls := len(w.cloud.Calls()); calls > 500 {
				t.Errorf("%s: %d calls in an hour", kind, calls)
			}
			mu.Unlock()
			for _, svc := range list() {
				if c := conditionOf(&svc, controller.ConditionSynced); len(svc.Status.LoadBalancer.Ingress) == 0 && c.Reason != "QuotaExceeded" {
					t.Errorf("%s: %s: Synced=%s %s: %s", kind, svc.Name, c.Status, c.Reason, c.Message)
				}
			}
			gone, err := w.kube.CoreV1().Services("default").Get(t.Context(), served()[0], metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			gone.DeletionTimestamp = new(metav1.Now())
			mu.Lock()
			quota++ // The one that goes counts no more.
			mu.Unlock()
			if _, err := w.kube.CoreV1().Services("default").Update(t.Context(), gone, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			w.after(20 * time.Second)
			check(t, kind+": served when one is deleted", 3, len(served()))
			mu.Lock()
			quota = 2 * services
			mu.Unlock()
			w.after(8 * time.Minute)
			check(t, kind+": served with a higher quota", services-1, len(served()))
		})
	}
}
