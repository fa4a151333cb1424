package controller_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	kubetesting "k8s.io/client-go/testing"

	"alicloud-controllers.dev/services/gateway/gatewaytest"
	"alicloud-controllers.dev/services/nodes"
)

// TestFailedWritesCostNoReads lets the API server refuse the first two writes of each of 20 nodes that join. What was
// read of them is used until it has taken them. One whose --node-ip the cloud does not know is read again, since it may
// know it then.
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

// TestNodeMadeAnew has a node without a provider id made anew under its name, for another instance, while the first
// one's is looked up. What was read of the first one is not used for the second, whose provider id could never be
// changed.
func TestNodeMadeAnew(t *testing.T) {
	made := func(i int, uid types.UID) *corev1.Node {
		node := fresh(i)
		node.Name, node.UID, node.Spec.ProviderID = "node-1", uid, ""
		node.Status.Addresses = addresses(corev1.NodeInternalIP, fmt.Sprintf("192.168.0.%d", i), corev1.NodeHostName, "node-1")
		return node
	}
	var looking, goOn chan struct{}
	prepare := func(w *world) {
		looking, goOn = make(chan struct{}), make(chan struct{})
		w.instance(1)
		w.instance(2)
		w.guardUIDs()
		var once sync.Once
		w.cloud.Interpose(func(_ int, method string, _ proto.Message) gatewaytest.Fault {
			if method == "ListInstances" {
				once.Do(func() {
					close(looking)
					<-goOn
				})
			}
			return gatewaytest.Fault{}
		})
	}
	run(t, nil, prepare, func(w *world) {
		w.CreateNode(made(1, "first"))
		w.Pass(time.Second)
		<-looking
		w.DeleteNode("node-1")
		w.Pass(time.Second)
		w.CreateNode(made(2, "second"))
		w.Pass(time.Second)
		close(goOn)
		w.Pass(time.Minute)
		if got, want := w.Node("node-1").Spec.ProviderID, region+".i-2"; got != want {
			t.Errorf("the provider id is %q, want %q", got, want)
		}
	})
}
