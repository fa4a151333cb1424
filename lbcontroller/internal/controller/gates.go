package controller

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/lbcontroller/internal/readiness"
)

// patience is how long a pod waits for a Service that isn't there, or that doesn't name it, before it is released: a
// Service may be made after its pods.
const patience = time.Minute

// Strays releases waiting pods that take no traffic from a load balancer, once they have waited for a while, and
// returns when it is time for the next; 0 for none.
func Strays(gated readiness.Pods, names []string, why string) (verdicts []readiness.Verdict, next time.Duration) {
	for _, name := range names {
		pod := gated[name]
		if left := patience - time.Since(pod.Since); left > 0 {
			if next == 0 || left < next {
				next = left
			}
			continue
		}
		verdicts = append(verdicts, readiness.Verdict{Pod: name, UID: pod.UID, Status: corev1.ConditionTrue,
			Reason: readiness.ReasonNoServer, Message: why})
	}
	return verdicts, next
}
