package why

import (
	"errors"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var update = flag.Bool("update", false, "write testdata/screens.txt")

// now is long after the conditions, and minutes after the events.
func now() time.Time { return time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC) }

func ago(d time.Duration) metav1.Time { return metav1.NewTime(now().Add(-d)) }

// installed are the facts about an installation that works.
func installed(thing Thing) Facts {
	f := Facts{Thing: thing, Now: now(), Leases: map[string]*coordinationv1.Lease{}, Pods: map[string][]corev1.Pod{}, Status: &Status{}}
	for _, process := range []string{thing.Controller(), "cloudgateway"} {
		holder, seconds, renewed := process+"-1_x", int32(15), metav1.NewMicroTime(now().Add(-2*time.Second))
		f.Leases[process] = &coordinationv1.Lease{
			Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, LeaseDurationSeconds: &seconds, RenewTime: &renewed},
		}
		for _, name := range []string{"-1", "-2"} {
			pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: process + name}}
			pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
			f.Pods[process] = append(f.Pods[process], pod)
		}
	}
	return f
}

// service are the facts about a Service that is served, with changes.
func service(changes ...func(*Facts)) Facts {
	f := installed(Thing{Kind: Service, Namespace: "shop", Name: "web"})
	yes := true
	f.Service = &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web",
		Finalizers: []string{"service.k8s.alibaba/resources"}, Labels: map[string]string{"service.k8s.alibaba/loadbalancer-id": "lb-1"}}}
	f.Service.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Selector: map[string]string{"app": "web", "tier": "front"}}
	f.Service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "203.0.113.5"}}
	f.Service.Status.Conditions = []metav1.Condition{
		{Type: "LoadBalancerReady", Status: metav1.ConditionTrue, Reason: "Ready", LastTransitionTime: ago(50 * time.Hour)},
		{Type: "Synced", Status: metav1.ConditionTrue, Reason: "Synced", LastTransitionTime: ago(3 * time.Hour)},
	}
	f.Slices = []discoveryv1.EndpointSlice{{Endpoints: []discoveryv1.Endpoint{{Conditions: discoveryv1.EndpointConditions{Ready: &yes}}, {}}}}
	for _, change := range changes {
		change(&f)
	}
	return f
}

// node are the facts about a node that works, or about its route.
func node(kind Kind, changes ...func(*Facts)) Facts {
	f := installed(Thing{Kind: kind, Name: "n1"})
	f.Node = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	f.Node.Spec = corev1.NodeSpec{ProviderID: "cn-hangzhou.i-1", PodCIDRs: []string{"10.244.1.0/24"}}
	f.Node.Status.Conditions = []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", LastTransitionTime: ago(time.Hour)},
		{Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionFalse, Reason: "RouteCreated", LastTransitionTime: ago(time.Hour)},
	}
	for _, change := range changes {
		change(&f)
	}
	return f
}

// synced sets the condition.
func synced(status metav1.ConditionStatus, reason, message string) func(*Facts) {
	return func(f *Facts) {
		f.Service.Status.Conditions[1] = metav1.Condition{
			Type: "Synced", Status: status, Reason: reason, Message: message, LastTransitionTime: ago(12 * time.Minute),
		}
	}
}

// happened adds an event.
func happened(before time.Duration, kind, reason, message string) func(*Facts) {
	return func(f *Facts) {
		e := corev1.Event{Reason: reason, Message: message, Type: corev1.EventTypeWarning, LastTimestamp: ago(before), Count: 3}
		e.Source.Component = f.Thing.source()
		e.InvolvedObject.Kind, e.InvolvedObject.Name = kind, map[string]string{"RouteTable": "vtb-1"}[kind]
		if reason == "Resolved" || reason == "InitializedNode" {
			e.Type = corev1.EventTypeNormal
		}
		f.Events = append(f.Events, e)
	}
}

func pending(f *Facts) { f.Service.Status.LoadBalancer.Ingress, f.Service.Labels = nil, nil }

// cases are what stands in the way, each alone, and some together.
func cases() map[string]Facts {
	return map[string]Facts{
		"01 nothing": service(),
		"02 the quota is used up": service(pending, synced(metav1.ConditionFalse, "QuotaExceeded", "the account has no room for a CLB"),
			happened(time.Minute, "Service", "SyncLoadBalancerFailed",
				"it waits for its turn: the account has no room for a CLB\nnext: delete one, or raise the quota")),
		"03 nobody leads": service(func(f *Facts) {
			old := metav1.NewMicroTime(now().Add(-10 * time.Minute))
			f.Leases["lbcontroller"].Spec.RenewTime = &old
			for i, reason := range []string{"CrashLoopBackOff", ""} {
				pod := &f.Pods["lbcontroller"][i]
				pod.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
					{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "no node has room"},
				}}
				if reason != "" {
					pod.Status.ContainerStatuses = []corev1.ContainerStatus{
						{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}},
					}
				}
			}
			delete(f.Leases, "cloudgateway")
		}),
		"04 another controller's class": service(func(f *Facts) {
			class := "metallb.io/metallb"
			f.Service.Spec.LoadBalancerClass = &class
		}),
		"05 another type": service(func(f *Facts) { f.Service.Spec.Type, f.Service.Finalizers = corev1.ServiceTypeClusterIP, nil }),
		"06 no pods": service(func(f *Facts) {
			no := false
			f.Slices[0].Endpoints = []discoveryv1.Endpoint{{Conditions: discoveryv1.EndpointConditions{Ready: &no}}}
		}, happened(time.Minute, "Service", "UnAvailableLoadBalancer", "port 80 has no backends")),
		"07 no selector": service(func(f *Facts) { f.Slices, f.Service.Spec.Selector = []discoveryv1.EndpointSlice{}, nil }),
		"08 it is being deleted": service(func(f *Facts) {
			at := ago(20 * time.Minute)
			f.Service.DeletionTimestamp = &at
		}, happened(time.Minute, "Service", "CleanLoadBalancerFailed", "lb-1 has deletion protection")),
		"09 nobody has looked yet": service(pending, func(f *Facts) { f.Service.Status.Conditions = nil }),
		"10 trouble that is over": service(happened(time.Hour, "Service", "SyncLoadBalancerFailed", "old"),
			happened(time.Hour, "Service", "HeldByPolicy", "a change is kept back"),
			happened(time.Minute, "Service", "Resolved", "the trouble that SyncLoadBalancerFailed reported is over")),
		"10a trouble that is over in the same second": service(happened(time.Minute, "Service", "SyncLoadBalancerFailed", "old"),
			happened(time.Minute, "Service", "Resolved", "the trouble that SyncLoadBalancerFailed reported is over")),
		"10b trouble that was over when it was synced": service(happened(4*time.Hour, "Service", "SyncLoadBalancerFailed", "old")),
		"10d a policy that is over":                    service(happened(4*time.Hour, "Service", "HeldByPolicy", "policy report: not done")),
		"10c trouble since":                            service(happened(2*time.Hour, "Service", "SyncLoadBalancerFailed", "new")),
		"11 the load balancer is gone": service(func(f *Facts) {
			f.Service.Status.Conditions[0] = metav1.Condition{Type: "LoadBalancerReady", Status: metav1.ConditionFalse, Reason: "Gone",
				Message: "lb-1 is gone"}
		}, synced(metav1.ConditionFalse, "Gone", "lb-1 is gone")),
		"12 the rate limit": service(synced(metav1.ConditionUnknown, "Pending", "the load balancer is being changed"), func(f *Facts) {
			f.Status.Actions = []Action{
				{Product: "slb", Action: "CreateLoadBalancer", Waiting: []Waiting{
					{Caller: "system:serviceaccount:kube-system:lbcontroller", Calls: 12, Longest: "40.2s"}}},
				{Product: "slb", Action: "DescribeLoadBalancers", Waiting: []Waiting{{Caller: "tools/backup", Calls: 3, Longest: "4s"}}},
				{Product: "ecs", Action: "RunInstances", PausedUntil: "2026-12-01T11:59:00Z"},
				{Product: "sts", Action: "GetCallerIdentity", Waiting: []Waiting{{Caller: "tools/x", Calls: 1, Longest: "1s"}}},
			}
		}),
		"13 somebody else waits": service(func(f *Facts) {
			f.Status.Actions = []Action{{Product: "slb", Action: "X", Waiting: []Waiting{{Caller: "tools/backup", Calls: 3, Longest: "4s"}}}}
		}),
		"14 the cloud has refused": node(Node, func(f *Facts) {
			f.Status.Actions = []Action{{Product: "ecs", Action: "DescribeInstances", PausedUntil: "2026-12-01T12:00:09Z"}}
		}),
		"15 it can't be read": {Thing: Thing{Kind: Service, Name: "web"}, Now: now(), Unread: []string{"kubectl get service web: not found"}},
		"16 there is none":    {Thing: Thing{Kind: Service, Namespace: "shop", Name: "web"}, Now: now(), Missing: true},
		"17 the existing cloud controller manager runs": service(func(f *Facts) {
			delete(f.Leases, "lbcontroller")
			holder, renewed := "master-1_x", metav1.NewMicroTime(now().Add(-3*time.Second))
			f.Leases[OtherLease] = &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: &renewed}}
		}),
		"18 somebody else holds the Lease": service(func(f *Facts) {
			holder := "laptop_x"
			f.Leases["lbcontroller"].Spec.HolderIdentity = &holder
		}),
		"20 a node": node(Node),
		"20b a node that was initialised at last": node(Node, happened(time.Hour, "Node", "SyncNodeFailed", "old"),
			happened(time.Minute, "Node", "InitializedNode", "new")),
		"21 a node that is not initialised": node(Node, func(f *Facts) {
			f.Node.Spec.ProviderID = ""
			f.Node.Spec.Taints = []corev1.Taint{{Key: "node.cloudprovider.kubernetes.io/uninitialized"}, {Key: "example.com/x"}}
			f.Node.Status.Conditions[1].Status, f.Node.Status.Conditions[1].Message = corev1.ConditionTrue, "no route"
		}, happened(time.Minute, "Node", "SyncNodeFailed", "no instance has the address 10.0.0.9; next: set --provider-id; it is tried again")),
		"22 a node that is stopped and another's": node(Node, func(f *Facts) {
			f.Node.Spec.Taints = []corev1.Taint{
				{Key: "node.cloudprovider.kubernetes.io/shutdown"}, {Key: "node.alibabacloud.com/foreign-instance"},
			}
			f.Node.Status.Conditions[0] = corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionUnknown,
				Reason: "NodeStatusUnknown", Message: "Kubelet stopped posting node status.", LastTransitionTime: ago(5 * time.Minute)}
			f.Node.Status.Conditions = append(f.Node.Status.Conditions, corev1.NodeCondition{Type: "MaintenancePlanned",
				Status: corev1.ConditionTrue, Reason: "Reboot", Message: "the cloud reboots i-1 at 14:00", LastTransitionTime: ago(time.Minute)})
		}),
		"23 there is no node": {Thing: Thing{Kind: Node, Name: "n1"}, Now: now(), Missing: true},
		"24 a node that is none of ours": node(Node, func(f *Facts) {
			f.Node.Labels = map[string]string{"service.alibabacloud.com/exclude-node": "true"}
		}),
		"25 no instance can be read": node(Node, func(f *Facts) {
			f.Node.Spec.Taints = []corev1.Taint{{Key: "node.cloudprovider.kubernetes.io/uninitialized"}}
		}, happened(time.Minute, "Namespace", "SyncNodeFailed", "the cloud refuses ecs:DescribeInstances")),
		"30 a route":                         node(Route),
		"30b a route that there was none of": node(Route, happened(2*time.Hour, "Node", "CreateRouteFailed", "old")),
		"31 an entry in the way": node(Route, func(f *Facts) {
			f.Node.Status.Conditions[1] = corev1.NodeCondition{Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionTrue,
				Reason: "NoRouteCreated", Message: "an entry of somebody else is in the way", LastTransitionTime: ago(time.Minute)}
		}, happened(time.Minute, "Node", "ForeignRoute", "remove 10.244.1.0/24 of vtb-1"),
			happened(3*time.Minute, "RouteTable", "RouteTableNearlyFull", "180 of 200 entries")),
		"31b the route is refused": node(Route, func(f *Facts) {
			f.Node.Status.Conditions[1] = corev1.NodeCondition{Type: corev1.NodeNetworkUnavailable, Status: corev1.ConditionTrue,
				Reason: "NoRouteCreated", Message: "Node created without a route", LastTransitionTime: ago(time.Minute)}
		}, happened(2*time.Minute, "RouteTable", "SyncRouteFailed", "the table can't be read; next: ask"),
			happened(time.Minute, "Node", "CreateRouteFailed", "the cloud refuses vpc:CreateRouteEntries; next: run the doctor; it is tried again")),
		"32 no range of pods and no instance": node(Route, func(f *Facts) {
			f.Node.Spec = corev1.NodeSpec{}
			f.Node.Status.Conditions = f.Node.Status.Conditions[:1]
		}),
		"33 routes are not ours": node(Route, func(f *Facts) {
			delete(f.Leases, "routecontroller")
			delete(f.Pods, "routecontroller")
		}),
	}
}

// TestScreens compares what is shown with testdata/screens.txt, which -update writes. Read it: that is what people get.
func TestScreens(t *testing.T) {
	t.Parallel()
	const file = "testdata/screens.txt"
	var names []string
	all := cases()
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	var got strings.Builder
	for _, name := range names {
		got.WriteString("== " + name + "\n\n")
		if err := Explain(all[name]).Write(&got); err != nil {
			t.Fatal(err)
		}
		got.WriteString("\n")
	}
	if *update {
		if err := os.WriteFile(file, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"service/web": "service shop/web", "svc/web": "service shop/web", "node/n1": "node n1", "Nodes/n1": "node n1", "route/n1": "route n1",
		"web": "", "pod/x": "", "service/": "", "service/a/b": "", "": "",
	} {
		thing, err := Parse(text, "shop")
		if got := thing.String(); (err != nil) != (want == "") || err == nil && got != want {
			t.Errorf("%q is %q, %v, want %q", text, got, err, want)
		}
	}
}

// TestWriteFails: what can't be shown is an error.
func TestWriteFails(t *testing.T) {
	t.Parallel()
	if err := Explain(service()).Write(broken{}); !errors.Is(err, errBroken) {
		t.Error(err)
	}
}

type broken struct{}

var errBroken = errors.New("broken")

func (broken) Write([]byte) (int, error) { return 0, errBroken }
