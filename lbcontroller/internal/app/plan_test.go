package app

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"

	"alicloud-controllers.dev/cloudgateway/inprocess"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/services/replica"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/config"
)

// TestPlan: what would change is printed with what is refused and which CLBs have no Service, and nothing is written.
func TestPlan(t *testing.T) {
	t.Parallel()
	service := func(name string, annotations map[string]string) *corev1.Service {
		return &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), Annotations: annotations},
			Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{
				{Name: "http", Port: 80, NodePort: 30080, Protocol: corev1.ProtocolTCP},
			}},
		}
	}
	plain := service("plain", nil)
	plain.Spec.Type = corev1.ServiceTypeClusterIP
	gated, waiting := service("gated", nil), false
	gated.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
	nodeName := "n"
	kube := fake.NewClientset(
		gated, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "pod", UID: "pod"},
			Spec:       corev1.PodSpec{ReadinessGates: []corev1.PodReadinessGate{{ConditionType: "service.readiness.alibabacloud.com/gated"}}},
			Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.ContainersReady, Status: corev1.ConditionTrue}}},
		}, &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "gated-1",
				Labels: map[string]string{discoveryv1.LabelServiceName: "gated"}}, AddressType: discoveryv1.AddressTypeIPv4,
			Endpoints: []discoveryv1.Endpoint{{
				Addresses: []string{"10.0.0.1"}, NodeName: &nodeName, Conditions: discoveryv1.EndpointConditions{Ready: &waiting},
				TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: "pod", UID: "pod"},
			}},
		},
		service("api", nil), service("bad", map[string]string{annotation.Prefix + annotation.Scheduler: "fastest"}), plain,
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: corev1.NodeSpec{ProviderID: "cn-hangzhou.i-1"}, Status: corev1.NodeStatus{
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		}},
	)
	seed := network()
	lb := func(id string, tags ...string) {
		made := &state.LoadBalancer{Name: "name-of-" + id, Address: "47.0.0.1", AddressType: "internet"}
		for i := 0; i < len(tags); i += 2 {
			made.Tags = append(made.Tags, state.Tag{Key: tags[i], Value: tags[i+1]})
		}
		seed.LoadBalancers[id] = made
	}
	const mark, cluster = "kubernetes.do.not.delete", "ack.aliyun.com"
	lb("lb-orphan", mark, "agone", cluster, "c-test")
	lb("lb-another", mark, "agone", cluster, "c-other")
	lb("lb-unmarked", cluster, "c-test")
	lb("lb-bare")
	cloud := inprocess.New(t, "vpc-test", seed)
	cfg := config.Default()
	cfg.ClusterID, cfg.VPCID, cfg.Quotas.CLB.Attachments = "c-test", "vpc-test", 1
	kinds := Kinds(cfg, replica.Dependencies{Client: kube, Gateway: cloud.Client(), Logger: slog.New(slog.DiscardHandler)})

	found, err := PreviewAll(t.Context(), kube, nil, cfg, kinds, Selection{})
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := found.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	want := `SERVICE        LOAD BALANCER  RESULT   DETAIL
default/api    -              change   create load balancer aapi
default/api    -              change   create server group k8s/30080/api/default/c-test with 1 servers
default/api    -              change   create listener 80/tcp
default/bad    -              REFUSED  annotation service.beta.kubernetes.io/alibaba-cloud-loadbalancer-scheduler: value "fastest" ` +
		`is not allowed, use one of rr, wrr, wlc, sch, tch, qch
default/gated  -              change   create load balancer agated
default/gated  -              change   create server group k8s/30080/gated/default/c-test with 1 servers
default/gated  -              change   create listener 80/tcp
-              lb-orphan      ORPHAN   name-of-lb-orphan 47.0.0.1: no Service has the mark agone; release it by hand if nobody needs it

3 Services: 0 unchanged, 2 would change, 1 are refused something, 0 could not be compared. ` +
		`6 changes in the cloud. 1 load balancers without a Service.
quota CLB load_balancers: this would need 2 of 60.
quota CLB listeners: this would need 1 of 50.
quota CLB servers: this would need 1 of 200.
QUOTA CLB attachments: this would need 2 of 1; ask the cloud for more, and set quotas in the configuration.
`
	if diff := cmp.Diff(want, text.String()); diff != "" {
		t.Errorf("text (-want +got):\n%s", diff)
	}

	one, err := PreviewAll(t.Context(), kube, nil, cfg, kinds, Selection{Namespace: "default", Service: "bad"})
	if err != nil {
		t.Fatal(err)
	}
	printed, err := json.Marshal(one)
	if err != nil {
		t.Fatal(err)
	}
	var back Preview
	if err := json.Unmarshal(printed, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(one, back); diff != "" || len(back.Services) != 1 || back.Services[0].Service != "bad" || len(back.Orphans) != 0 {
		t.Errorf("JSON %s (-want +got):\n%s", printed, diff)
	}
	if writes := cloud.Writes(); len(writes) > 0 {
		t.Errorf("the cloud was written to: %v", writes)
	}
	for _, a := range kube.Actions() {
		if a.GetVerb() != "list" {
			t.Errorf("%s of %s", a.GetVerb(), a.GetResource().Resource)
		}
	}
}
