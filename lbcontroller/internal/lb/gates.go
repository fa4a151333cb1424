package lb

import (
	"context"
	"fmt"
	"log/slog"
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

// place is where a pod takes traffic: a server of a server group.
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

// gates releases pods that wait for a load balancer.
type gates struct {
	product Product
	// patience is how long a pod waits for its first health checks at most.
	patience time.Duration
	logger   *slog.Logger
}

// open adds to an outcome what is written on the pods that wait for the load balancer, of which so much is there.
func (g gates) open(ctx context.Context, o controller.Outcome, s pass, observed model.Observed) controller.Outcome {
	verdicts, probed, next := registered(s, observed)
	found, after := g.judgeHealth(ctx, s, probed, observed)
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
// Where nodes are the servers, being registered is all that a pod can wait for: kube-proxy sends nothing to a pod that
// isn't ready, so that the health of its node can't be good because of it.
func registered(s pass, observed model.Observed) (verdicts []readiness.Verdict, probed []waiting, next time.Duration) {
	names := s.gated.Waiting()
	if len(names) == 0 || s.want.Desired == nil || observed.InstanceID == "" {
		return nil, nil, 0
	}
	isMissing := func(ip string) bool { _, missing := slices.BinarySearch(s.pods.Missing, ip); return missing }
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
		case slices.ContainsFunc(ips, isMissing):
			verdicts = append(verdicts, w.verdict(corev1.ConditionFalse, readiness.ReasonInvalid, "no network interface has the address of the pod"))
		case !complete || slices.ContainsFunc(w.places, func(p place) bool { return !present[p] }):
			// What keeps it away is tried again.
		case len(w.places) == 0:
			verdicts = append(verdicts, w.verdict(corev1.ConditionTrue, readiness.ReasonRegistered,
				"the nodes of the Service take traffic from load balancer "+observed.InstanceID))
		default:
			probed = append(probed, w)
		}
	}
	released, next := controller.Strays(s.gated, strays, "the Service has no such endpoint")
	return append(verdicts, released...), probed, next
}

func (w waiting) verdict(status corev1.ConditionStatus, reason, message string) readiness.Verdict {
	return readiness.Verdict{Pod: w.name, UID: w.pod.UID, Status: status, Reason: reason, Message: message}
}

// judgeHealth decides about the pods that are servers. All of them cost one read, which is repeated more and more
// seldom while nothing changes.
func (g gates) judgeHealth(ctx context.Context, s pass, probed []waiting,
	observed model.Observed) (verdicts []readiness.Verdict, next time.Duration) {
	release := len(probed) > 0 && (g.patience == 0 || unprobed(s, observed))
	var patient []waiting
	var uids []types.UID
	for _, w := range probed {
		if release {
			verdicts = append(verdicts, w.verdict(corev1.ConditionTrue, readiness.ReasonRegistered,
				"the pod takes traffic from load balancer "+observed.InstanceID))
			continue
		}
		patient, uids = append(patient, w), append(uids, w.pod.UID)
	}
	ask, after := s.memory.polls.Wait(uids)
	if !ask {
		return verdicts, after
	}
	found := g.health(ctx, s.key, observed)
	next = s.memory.polls.Asked()
	for _, w := range patient {
		health := readiness.Good
		for _, p := range w.places {
			health = min(health, found(p.server))
		}
		switch {
		case health == readiness.Good:
			verdicts = append(verdicts, w.verdict(corev1.ConditionTrue, readiness.ReasonRegistered,
				"the pod takes traffic from load balancer "+observed.InstanceID+", whose health checks succeed"))
		case health == readiness.Bad:
			verdicts = append(verdicts, w.verdict(corev1.ConditionFalse, readiness.ReasonUnhealthy,
				"the health checks of load balancer "+observed.InstanceID+" fail"))
		case s.memory.polls.Since(w.pod.UID) >= g.patience:
			verdicts = append(verdicts, w.verdict(corev1.ConditionTrue, readiness.ReasonRegistered,
				fmt.Sprintf("the pod is registered at load balancer %s, which has not found out about its health in %s",
					observed.InstanceID, g.patience)))
		}
	}
	return verdicts, next
}

// unprobed reports that no listener checks the health of servers, so that there is nothing to wait for. A listener of the user's may.
func unprobed(s pass, observed model.Observed) bool {
	if s.view.Reused() != "" {
		return false
	}
	listeners := observed.Listeners
	if !observed.ConfigKnown {
		listeners = s.want.Desired.Listeners
	}
	return !slices.ContainsFunc(listeners, s.product.Probes)
}

// health asks for the health of all servers of a load balancer. What can't be read is unknown: pods must not wait for
// trouble that is not theirs.
func (g gates) health(ctx context.Context, key string, there model.Observed) func(model.ServerKey) readiness.Health {
	statuses, err := g.product.Health(gateway.WithPriority(ctx, gateway.Background), there)
	if err != nil {
		g.logger.Warn("the health of servers can't be read", "service", key, "loadBalancer", there.InstanceID, "error", err)
	}
	return func(server model.ServerKey) readiness.Health {
		server.Type = 0 // The cloud may leave it out.
		return readiness.Judge(statuses[server])
	}
}
