package controller

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"

	"alicloud-controllers.dev/lbcontroller/internal/backend"
)

// plain is a kind that wants every Service, with one policy.
type plain struct{ policy backend.Policy }

func (p plain) Interest(svc *corev1.Service) Interest {
	i := Interest{Wanted: true, Policy: p.policy}
	i.Seed = string(svc.UID)
	return i
}
func (plain) Ensure(context.Context, Request) Outcome { return Outcome{} }

func (plain) Release(context.Context, Request) Outcome { return Outcome{} }
func (plain) Changed(*corev1.Service, *corev1.Service) {}
func (plain) Forget(string)                            {}

func zonal(n int) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("node-", n),
			Labels: map[string]string{corev1.LabelTopologyZone: fmt.Sprint("zone-", n%3)}},
		Spec:   corev1.NodeSpec{ProviderID: fmt.Sprintf("cn-hangzhou.i-bp1%05d", n)},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
}

// BenchmarkEvents is what one change of the cluster costs until the Services that it concerns are queued: a node that
// joins 1 000 others, and a pod that joins a Service.
func BenchmarkEvents(b *testing.B) {
	const nodeCount = 1000
	for _, services := range []int{500, 1000, 2000} {
		for _, size := range []int{0, 25} {
			c, err := New(Config{
				Client: fake.NewClientset(), Recorder: record.NewFakeRecorder(1), Workers: 1, NodeQuiet: 1, NodeMax: 1,
				Kinds:      []Registration{{MetricType: "x", Finalizer: "x", Kind: plain{backend.Policy{MaxNodes: size}}}},
				Registerer: prometheus.NewRegistry(), Logger: slog.New(slog.DiscardHandler),
			})
			if err != nil {
				b.Fatal(err)
			}
			core := c.base.cluster.Factory.Core().V1()
			add := func(err error) {
				if err != nil {
					b.Fatal(err)
				}
			}
			for n := range nodeCount {
				add(core.Nodes().Informer().GetIndexer().Add(zonal(n)))
			}
			for n := range services {
				svc := web(func(svc *corev1.Service) { svc.Name, svc.UID = fmt.Sprint("web-", n), types.UID(fmt.Sprint("uid-", n)) })
				add(core.Services().Informer().GetIndexer().Add(svc))
				add(c.base.cluster.Slices.Add(&discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
					Namespace: "default", Name: svc.Name, Labels: map[string]string{discoveryv1.LabelServiceName: svc.Name},
				}}))
			}
			c.base.queue.leading.Store(true)
			c.watcher.nodesChanged()
			name := fmt.Sprintf("services=%d/subset=%d", services, size)
			b.Run("node/"+name, func(b *testing.B) {
				b.ReportAllocs()
				nodes, joined := core.Nodes().Informer().GetIndexer(), zonal(nodeCount)
				for n := 0; b.Loop(); n++ {
					if n%2 == 0 {
						add(nodes.Add(joined))
					} else {
						add(nodes.Delete(joined))
					}
					c.watcher.nodesChanged()
				}
				add(nodes.Delete(joined))
				c.watcher.nodesChanged()
			})
			b.Run("endpoint/"+name, func(b *testing.B) {
				b.ReportAllocs()
				slice, _, err := c.base.cluster.Slices.GetByKey("default/web-0")
				add(err)
				c.base.Kinds[0].Kind = plain{backend.Policy{Mode: backend.Pods}}
				for b.Loop() {
					c.watcher.sliceChanged(slice)
				}
			})
		}
	}
}
