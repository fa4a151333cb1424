package lb

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"alicloud-controllers.dev/services/gateway"
	"alicloud-controllers.dev/services/reconcile"

	"alicloud-controllers.dev/lbcontroller/internal/backend"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/readiness"
)

// place is where a pod takes traffic: a server of a vServer group.
type place struct {
	group  string
	server model.ServerKey
}

// waiting is a pod that is registered and waits for its health checks.
type waiting struct {
	name   string
	pod    readiness.Pod
	places []place
}

// withGates adds to an outcome what is written on the pods that wait for the CLB, of which so much is there.
func (k *Kind) withGates(ctx context.Context, o controller.Outcome, s subject, observed model.Observed) controller.Outcome {
	verdicts, probed, next := s.registered(observed)
	found, after := k.judgeHealth(ctx, s, probed, observed)
	o.Gates = append(o.Gates, append(verdicts, found...)...)
	for _, d := range []time.Duration{next, after} {
		if d > 0 {
			o.Looks = append(o.Looks, controller.Look{After: d, Priority: reconcile.Endpoint})
		}
	}
	return o
}

// registered decides about the waiting pods as far as that needs no look at the cloud, and returns those whose health decides, and when to
// look again at those that the Service doesn't name.
//
// Where nodes are the servers, being registered is all that a pod can wait for: kube-proxy sends nothing to a pod that isn't ready, so that the
// health of its node can't be good because of it.
func (s subject) registered(observed model.Observed) (verdicts []readiness.Verdict, probed []waiting, next time.Duration) {
	names := s.gated.Waiting()
	if len(names) == 0 || s.want.Desired == nil || observed.InstanceID == "" {
		return nil, nil, 0
	}
	addresses := backend.Addresses(s.slices)
	wanted := map[string][]place{}
	present, complete := map[place]bool{}, true
	for _, g := range s.want.Desired.Groups {
		i := slices.IndexFunc(observed.Groups, func(have model.Group) bool { return have.Name == g.Name || g.ID != "" && have.ID == g.ID })
		if complete = complete && i >= 0; i >= 0 {
			for _, server := range observed.Groups[i].Servers {
				present[place{g.Name, server.ServerKey}] = true
			}
		}
		for _, server := range g.Servers {
			if server.IP != "" {
				wanted[server.IP] = append(wanted[server.IP], place{g.Name, server.ServerKey})
			}
		}
	}
	var strays []string
	for _, name := range names {
		w := waiting{name: name, pod: s.gated[name]}
		ips, listed := addresses[name]
		for _, ip := range ips {
			w.places = append(w.places, wanted[ip]...)
		}
		switch {
		case !listed:
			strays = append(strays, name)
		case len(w.places) == 0 && s.view.Mode == backend.Pods:
			verdicts = append(verdicts, w.verdict(corev1.ConditionTrue, readiness.ReasonNoServer, "no port of the Service sends traffic to the pod"))
		case slices.ContainsFunc(ips, s.isMissing):
			verdicts = append(verdicts, w.verdict(corev1.ConditionFalse, readiness.ReasonInvalid, "no network interface has the address of the pod"))
		case !complete || slices.ContainsFunc(w.places, func(p place) bool { return !present[p] }):
			// What keeps it away is tried again.
		case len(w.places) == 0:
			verdicts = append(verdicts, w.verdict(corev1.ConditionTrue, readiness.ReasonRegistered, "the nodes of the Service take traffic from CLB "+observed.InstanceID))
		default:
			probed = append(probed, w)
		}
	}
	released, next := controller.Strays(s.gated, strays, "the Service has no such endpoint")
	return append(verdicts, released...), probed, next
}

// isMissing reports whether no network interface has the address of a pod.
func (s subject) isMissing(ip string) bool {
	_, missing := slices.BinarySearch(s.pods.Missing, ip)
	return missing
}

func (w waiting) verdict(status corev1.ConditionStatus, reason, message string) readiness.Verdict {
	return readiness.Verdict{Pod: w.name, UID: w.pod.UID, Status: status, Reason: reason, Message: message}
}

// judgeHealth decides about the pods that are servers. All of them cost one read, which is repeated more and more seldom while nothing changes.
func (k *Kind) judgeHealth(ctx context.Context, s subject, probed []waiting, observed model.Observed) (verdicts []readiness.Verdict, next time.Duration) {
	unprobed := len(probed) > 0 && (k.HealthPatience == 0 || s.unprobed(observed))
	var patient []waiting
	var uids []types.UID
	for _, w := range probed {
		if unprobed {
			verdicts = append(verdicts, w.verdict(corev1.ConditionTrue, readiness.ReasonRegistered, "the pod takes traffic from CLB "+observed.InstanceID))
			continue
		}
		patient, uids = append(patient, w), append(uids, w.pod.UID)
	}
	ask, after := k.polls.Wait(s.key, uids)
	if !ask {
		return verdicts, after
	}
	found := k.health(ctx, s.key, observed)
	next = k.polls.Asked(s.key)
	for _, w := range patient {
		health := readiness.Good
		for _, p := range w.places {
			health = min(health, found(p.server))
		}
		switch {
		case health == readiness.Good:
			verdicts = append(verdicts, w.verdict(corev1.ConditionTrue, readiness.ReasonRegistered, "the pod takes traffic from CLB "+observed.InstanceID+", whose health checks succeed"))
		case health == readiness.Bad:
			verdicts = append(verdicts, w.verdict(corev1.ConditionFalse, readiness.ReasonUnhealthy, "the health checks of CLB "+observed.InstanceID+" fail"))
		case k.polls.Since(s.key, w.pod.UID) >= k.HealthPatience:
			verdicts = append(verdicts, w.verdict(corev1.ConditionTrue, readiness.ReasonRegistered,
				fmt.Sprintf("the pod is registered at CLB %s, which has not found out about its health in %s", observed.InstanceID, k.HealthPatience)))
		}
	}
	return verdicts, next
}

// unprobed reports that no listener checks the health of servers, so that there is nothing to wait for. A listener of the user's may.
func (s subject) unprobed(observed model.Observed) bool {
	if s.view.Reused() != "" {
		return false
	}
	listeners := observed.Listeners
	if !observed.ConfigKnown {
		listeners = s.want.Desired.Listeners
	}
	return !slices.ContainsFunc(listeners, s.product.Probes)
}

// health asks for the health of all servers of a CLB. What can't be read is unknown: pods must not wait for trouble that is not theirs.
func (k *Kind) health(ctx context.Context, key string, there model.Observed) func(model.ServerKey) readiness.Health {
	statuses, err := k.Product.Health(gateway.WithPriority(ctx, gateway.Background), there)
	if err != nil {
		k.Logger.Warn("the health of servers can't be read", "service", key, "loadBalancer", there.InstanceID, "error", err)
	}
	return func(server model.ServerKey) readiness.Health {
		server.Type = 0 // The cloud may leave it out.
		return readiness.Judge(statuses[server])
	}
}
