package controller_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	kubetesting "k8s.io/client-go/testing"

	"alicloud-controllers.dev/services/nodes"
)

// TestFailedWritesCostNoReads lets the API server refuse the first two writes of each of 20 nodes that join. What was read of them is used until
// it has taken them. One whose --node-ip the cloud does not know is read again, since it may know it then.
func TestFailedWritesCostNoReads(t *testing.T) {
	const many = 20
	var mu sync.Mutex
	refused := map[string]int{}
	prepare := func(w *world) {
		furnished(many)(w)
		w.Client.PrependReactor("patch", "nodes", func(action kubetesting.Action) (bool, runtime.Object, error) {
			patch, ok := action.(kubetesting.PatchAction)
			if !ok {
				return false, nil, nil
			}
			mu.Lock()
			defer mu.Unlock()
			refused[patch.GetName()]++
			return refused[patch.GetName()] <= 2, nil, apierrors.NewInternalError(errors.New("etcd has no leader"))
		})
	}
	run(t, nil, prepare, func(w *world) {
		w.Pass(30 * time.Second)
		for i := range many {
			if nodes.IsUninitialized(w.Node(fmt.Sprintf("node-%d", i))) {
				t.Errorf("node-%d still waits", i)
			}
		}
		if n := w.calls("GetInstance", "GetNetworkInterface", "BatchGetInstances", "BatchGetNetworkInterfaces"); n > 3 {
			t.Errorf("%d reads, want one of all instances, one of all network interfaces, and one of the sweep", n)
		}
		w.cloud.ResetCalls()
		w.instance(many)
		wrong := fresh(many)
		wrong.Annotations = map[string]string{nodes.AnnotationProvidedIP: "192.168.9.9"}
		w.CreateNode(wrong)
		w.Pass(30 * time.Second)
		if n := w.calls("GetInstance"); n < 2 {
			t.Errorf("%d reads of an instance that has not the address of its node, want one with each attempt", n)
		}
	})
}
