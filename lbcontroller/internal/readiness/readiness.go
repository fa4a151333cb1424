package readiness

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Prefix stands before the name of a Service in the condition type of its gate. It is that of the existing CCM.
const Prefix = "service.readiness.alibabacloud.com/"

// Reasons of the condition. The first two are those of the existing CCM.
const (
	// ReasonRegistered: the pod takes traffic from the load balancer, as far as that is known.
	ReasonRegistered = "ServerRegistered"
	// ReasonInvalid: the pod can't be a server, because no network interface has its address.
	ReasonInvalid = "ServerInvalidServer"
	// ReasonUnhealthy: the health checks of a listener fail.
	ReasonUnhealthy = "ServerUnhealthy"
	// ReasonNoServer: there is nothing to wait for: the Service has no load balancer, or sends no traffic to the pod.
	ReasonNoServer = "NoServer"
)

// Gate returns the condition type that a pod declares to wait for the load balancer of a Service.
func Gate(service string) corev1.PodConditionType { return corev1.PodConditionType(Prefix + service) }

// Services returns the keys of the Services that a pod waits for, or has waited for.
func Services(pod *corev1.Pod) []string {
	var keys []string
	for _, gate := range pod.Spec.ReadinessGates {
		if service, ours := strings.CutPrefix(string(gate.ConditionType), Prefix); ours && service != "" {
			keys = append(keys, pod.Namespace+"/"+service)
		}
	}
	return keys
}

// Pod is a pod that declares the gate of a Service.
type Pod struct {
	UID types.UID
	// Since is when all its containers became ready; zero if they are not.
	Since time.Time
	// Condition is the one of the gate. Its status is empty if the pod has none yet.
	Condition corev1.PodCondition
}

// Of returns what is known of a pod for the Service of a name.
func Of(pod *corev1.Pod, service string) Pod {
	p := Pod{UID: pod.UID}
	for _, c := range pod.Status.Conditions {
		switch {
		case c.Type == corev1.ContainersReady && c.Status == corev1.ConditionTrue && pod.DeletionTimestamp == nil:
			// A pod of an old API server may lack the time.
			p.Since = c.LastTransitionTime.Time
			if p.Since.IsZero() {
				p.Since = time.Unix(0, 0)
			}
		case c.Type == Gate(service):
			p.Condition = c
		}
	}
	return p
}

// Waits reports whether nothing but gates keeps the pod from being ready, and the one of the Service still does.
func (p Pod) Waits() bool { return !p.Since.IsZero() && p.Condition.Status != corev1.ConditionTrue }

// Waiting returns the keys of the Services for which a pod waits now.
func Waiting(pod *corev1.Pod) []string {
	return slices.DeleteFunc(Services(pod), func(key string) bool {
		_, service, _ := strings.Cut(key, "/")
		return !Of(pod, service).Waits()
	})
}

// Pods are those that declare the gate of a Service, by name.
type Pods map[string]Pod

// Serves reports whether a pod that is not ready can take traffic, because all its containers are ready. Only the load
// balancer, which such a pod waits for, may take it for a server.
func (p Pods) Serves(ref *corev1.ObjectReference) bool {
	if ref == nil || ref.Kind != "Pod" {
		return false
	}
	pod, ok := p[ref.Name]
	return ok && (ref.UID == "" || ref.UID == pod.UID) && !pod.Since.IsZero()
}

// Waiting returns the names of the pods that wait, sorted.
func (p Pods) Waiting() []string {
	var names []string
	for name, pod := range p {
		if pod.Waits() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Verdict is what the condition of a gate shall say.
type Verdict struct {
	Pod     string
	UID     types.UID
	Status  corev1.ConditionStatus
	Reason  string
	Message string
}

// Says reports whether a condition says already what the verdict does.
func (v Verdict) Says(c corev1.PodCondition) bool {
	return c.Status == v.Status && c.Reason == v.Reason && c.Message == v.Message
}

// Condition returns the condition that replaces another one.
func (v Verdict) Condition(service string, old corev1.PodCondition, now time.Time) corev1.PodCondition {
	c := corev1.PodCondition{Type: Gate(service), Status: v.Status, Reason: v.Reason, Message: v.Message,
		LastTransitionTime: old.LastTransitionTime}
	if old.Status != v.Status {
		c.LastTransitionTime.Time = now
	}
	return c
}

// Health is what the listeners of a load balancer find about a server.
type Health int

// The states, worst first.
const (
	// Bad: the checks of a listener fail.
	Bad Health = iota
	// Unknown: not every listener has found anything yet.
	Unknown
	// Good: the checks of all listeners succeed.
	Good
)

// Judge sums up what the listeners say of a server. One that no listener checks yet, or at all, is Unknown to it.
func Judge(found []Health) Health {
	if len(found) == 0 {
		return Unknown
	}
	return slices.Min(found)
}
