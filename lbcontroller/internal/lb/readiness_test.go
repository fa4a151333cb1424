package lb_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	kubetesting "k8s.io/client-go/testing"

	simapi "alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/readiness"
)

func podsMode(svc *corev1.Service) { svc.Annotations[annotation.BackendType] = "eni" }

// gatedPod makes a pod that waits for the Service web, whose containers are ready, with a network interface. Its endpoint isn't ready.
func (w *world) gatedPod(n int) discoveryv1.Endpoint {
	w.t.Helper()
	name, ip := fmt.Sprintf("web-%d", n), fmt.Sprintf("10.0.0.%d", n)
	w.cloud.Lock()
	addInterface(w.cloud.Cloud, "eni-"+name, ip)
	w.cloud.Unlock()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)},
		Spec:       corev1.PodSpec{ReadinessGates: []corev1.PodReadinessGate{{ConditionType: readiness.Gate("web")}}},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
			{Type: corev1.ContainersReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()},
		}},
	}
	if _, err := w.kube.CoreV1().Pods("default").Create(w.t.Context(), pod, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	return waitingEndpoint(name, ip)
}

func waitingEndpoint(name, ip string) discoveryv1.Endpoint {
	node := "node-1"
	return discoveryv1.Endpoint{
		Addresses: []string{ip}, NodeName: &node, Conditions: discoveryv1.EndpointConditions{Ready: new(false)},
		TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: "default", Name: name, UID: types.UID("uid-" + name)},
	}
}

// gate is what the gate of a pod says: status and reason, or "" without the condition.
func (w *world) gate(n int) string {
	w.t.Helper()
	pod, err := w.kube.CoreV1().Pods("default").Get(w.t.Context(), fmt.Sprintf("web-%d", n), metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == readiness.Gate("web") {
			return string(c.Status) + " " + c.Reason
		}
	}
	return ""
}

// podWrites counts the patches of pods since the last time.
func (w *world) podWrites() int {
	n := 0
	for _, a := range w.kube.Actions() {
		if a.Matches("patch", "pods") {
			n++
		}
	}
	w.kube.ClearActions()
	return n
}

// healthIs makes all servers have a health from now on.
func (w *world) healthIs(status string) {
	w.setting(func(settings *simapi.Settings) {
		if settings.BackendHealthy = 0; status == "unavailable" { // Nothing is known yet.
			settings.BackendHealthy = 100 * 365 * 24 * time.Hour
		}
	})
	w.cloud.Lock()
	defer w.cloud.Unlock()
	w.health = status
	for _, i := range w.cloud.Instances {
		i.Healthy = new(status != "abnormal")
	}
}

// TestReadinessGate: what becomes of a pod that waits for the load balancer, in each mode and state of the cloud.
func TestReadinessGate(t *testing.T) {
	tests := []struct {
		name    string
		service func(*corev1.Service)
		health  string
		broken  bool // the health can't be read
		// first is what the gate says after ten seconds, and last after two minutes.
		first, last string
		reads       int // of the health, in two minutes
	}{
		{name: "pods", service: podsMode, health: "normal", first: "True ServerRegistered", last: "True ServerRegistered", reads: 1},
		{name: "pods, checks under way", service: podsMode, health: "unavailable", last: "True ServerRegistered", reads: 6},
		{name: "pods, checks fail", service: podsMode, health: "abnormal", first: "False ServerUnhealthy",
			last: "False ServerUnhealthy", reads: 8},
		{name: "pods, health unknown", service: podsMode, broken: true, last: "True ServerRegistered", reads: 6},
		{
			name: "pods without checks", health: "unavailable", first: "True ServerRegistered", last: "True ServerRegistered",
			service: func(svc *corev1.Service) { podsMode(svc); annotated(annotation.HealthCheckSwitch, "off")(svc) },
		},
		{
			name: "pods without the port", health: "normal", first: "True NoServer", last: "True NoServer",
			service: func(svc *corev1.Service) { podsMode(svc); svc.Spec.Ports[0].TargetPort = intstr.FromString("http") },
		},
		{name: "all nodes", service: func(*corev1.Service) {}, health: "abnormal", first: "True ServerRegistered", last: "True ServerRegistered"},
		{
			name: "nodes with pods", health: "abnormal", first: "True ServerRegistered", last: "True ServerRegistered",
			service: func(svc *corev1.Service) {
				svc.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, 2, func(w *world) {
				w.healthIs(tt.health)
				if tt.broken {
					w.cloud.Fail("ListServerHealth", 1000, errors.New("no answer"))
				}
				w.create(web(tt.service))
				w.calls()
				w.pods(w.gatedPod(1))
				check(t, "gate at first", tt.first, w.gate(1))
				w.after(2 * time.Minute)
				check(t, "gate at last", tt.last, w.gate(1))
				check(t, "reads of the health", tt.reads, len(w.cloud.CallsOf("ListServerHealth")))
				w.podWrites()
				w.after(30 * time.Minute)
				check(t, "patches of what didn't change", 0, w.podWrites())
			})
		})
	}
}

// TestReadinessGateTurnsGood: a pod is released when the health checks succeed, however long that takes, and the pods of a rollout share
// the reads.
func TestReadinessGateTurnsGood(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.healthIs("abnormal")
		w.create(web(podsMode))
		var endpoints []discoveryv1.Endpoint
		for n := range 20 {
			endpoints = append(endpoints, w.gatedPod(n+1))
		}
		w.pods(endpoints...)
		w.after(10 * time.Minute)
		w.podWrites()
		w.cloud.ResetCalls()
		w.healthIs("normal")
		w.after(time.Minute)
		for n := range 20 {
			check(t, fmt.Sprint("gate of pod ", n+1), "True ServerRegistered", w.gate(n+1))
		}
		check(t, "patches", 20, w.podWrites())
		if reads := len(w.cloud.CallsOf("ListServerHealth")); reads > 3 {
			t.Errorf("%d reads of the health of 20 pods", reads)
		}
	})
}

// TestReadinessGateOfInvalidServer: a pod without a network interface learns why it waits, and is released once it has one.
func TestReadinessGateOfInvalidServer(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		w.create(web(podsMode))
		endpoint := w.gatedPod(1)
		w.cloud.Lock()
		found := w.cloud.Interfaces["eni-web-1"]
		delete(w.cloud.Interfaces, "eni-web-1")
		w.cloud.Unlock()
		w.pods(endpoint)
		check(t, "gate without an interface", "False ServerInvalidServer", w.gate(1))
		w.cloud.Lock()
		w.cloud.Interfaces["eni-web-1"] = found
		w.cloud.Unlock()
		w.after(5 * time.Minute)
		check(t, "gate with one", "True ServerRegistered", w.gate(1))
	})
}

// TestReadinessGateWithoutLoadBalancer: who waits for a Service that has no load balancer is released, but not at once if the Service may
// still come, and never if the gate is another controller's.
func TestReadinessGateWithoutLoadBalancer(t *testing.T) {
	tests := []struct {
		name    string
		prepare func(w *world)
		want    string // after two minutes
	}{
		{name: "no Service", prepare: func(*world) {}, want: "True NoServer"},
		{name: "not a load balancer", prepare: func(w *world) {
			w.create(web(func(svc *corev1.Service) { svc.Spec.Type = corev1.ServiceTypeClusterIP }))
		}, want: "True NoServer"},
		{name: "another class", prepare: func(w *world) {
			w.create(web(func(svc *corev1.Service) { svc.Spec.LoadBalancerClass = new("example.com/nlb") }))
		}},
		{name: "no endpoint", prepare: func(w *world) { w.create(web(podsMode)) }, want: "True NoServer"},
		{name: "no longer a load balancer", prepare: func(w *world) {
			w.healthIs("abnormal")
			w.create(web(podsMode))
			w.pods(waitingEndpoint("web-1", "10.0.0.1"))
			w.update(func(svc *corev1.Service) { svc.Spec.Type = corev1.ServiceTypeClusterIP })
		}, want: "True NoServer"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			inWorld(t, 2, func(w *world) {
				w.gatedPod(1)
				w.after(30 * time.Second)
				check(t, "gate at first", "", w.gate(1))
				tt.prepare(w)
				w.after(2 * time.Minute)
				check(t, "gate", tt.want, w.gate(1))
				w.restart()
				check(t, "gate after a restart", tt.want, w.gate(1))
			})
		})
	}
}

// TestReadinessGateIsRefused: what the API server doesn't take is written again, and reported.
func TestReadinessGateIsRefused(t *testing.T) {
	inWorld(t, 2, func(w *world) {
		failures := 3
		w.kube.PrependReactor("patch", "pods", func(kubetesting.Action) (bool, runtime.Object, error) {
			if failures == 0 {
				return false, nil, nil
			}
			failures--
			return true, nil, errors.New("no")
		})
		w.create(web(podsMode))
		w.events.take()
		w.pods(w.gatedPod(1))
		w.after(5 * time.Minute)
		check(t, "gate", "True ServerRegistered", w.gate(1))
		if !slices.Contains(w.events.reasons(), "FailedUpdateReadinessGate") {
			t.Error("no event about the refusal")
		}
	})
}
