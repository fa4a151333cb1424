package lb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"alicloud-controllers.dev/services/reconcile"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/backend"
	"alicloud-controllers.dev/lbcontroller/internal/backend/eni"
	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
	"alicloud-controllers.dev/lbcontroller/internal/lb/knowledge"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/ownership"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
	"alicloud-controllers.dev/lbcontroller/internal/lb/reuse"
	"alicloud-controllers.dev/lbcontroller/internal/readiness"
)

// pass is a Service that is worked on, with all that is known of it before the cloud is looked at. It is a value: what
// changes it on the way returns another one.
type pass struct {
	product Product
	key     string
	writer  controller.Writer
	// svc is the Service as it is now, as far as is known.
	svc  *corev1.Service
	view desired.View
	// slices and gated are the endpoints of the Service, and the pods that may wait for the load balancer.
	slices []*discoveryv1.EndpointSlice
	gated  readiness.Pods
	// exists reports whether there is another Service.
	exists controller.Exists
	// nodes are those of the cluster.
	nodes *backend.Set
	// want is what the Service asks for; its Desired knows the network interfaces of pods once they are looked up.
	want desired.Result
	// named are the certificates that the user names by their ids.
	named []string
	// pods are the answers about network interfaces.
	pods eni.Answer
	// hash is a digest of the configuration, and applied one of that and the backends.
	hash, applied string
	// drift is what only is reported of what others have changed, and driftCheck how often that is looked for.
	drift      Drift
	driftCheck time.Duration
	// policy says which changes are made.
	policy Policy
	// idle reports that nothing is known to have happened to the Service: it is only looked at.
	idle bool
	// limited is how long the Service has no more servers than the cloud took; zero if it has all.
	limited time.Time
	// fresh reports that the Service certainly has no load balancer yet.
	fresh bool
	// memory is where things are remembered. entry is what is, and recalled what that is good for.
	memory   *state
	packer   *knowledge.Packer
	entry    knowledge.Entry
	recalled knowledge.State
}

// with returns the pass with the Service as it is now.
func (s pass) with(svc *corev1.Service) pass {
	s.svc = svc
	return s
}

// claims are what is noted on the Service.
func (s pass) claims() ownership.Claims { return claimsOf(s.svc) }

// facts are what decides about the load balancer that the Service may have.
func (s pass) facts() reuse.Service {
	f := reuse.Service{
		Namespace: s.svc.Namespace, Name: s.svc.Name, RecordedID: s.svc.Labels[LabelLoadBalancerID], Claims: s.claims(),
		ShowsBound: s.want.ShowsBound,
	}
	for _, i := range s.svc.Status.LoadBalancer.Ingress {
		f.Published = append(f.Published, s.product.Marks().addressOf(i))
	}
	return f
}

// served reports that the Service says that a load balancer serves it, as it asks now or did before.
func (s pass) served() bool {
	return s.svc.Labels[LabelHash] != "" && s.svc.Labels[LabelLoadBalancerID] != "" && len(s.svc.Status.LoadBalancer.Ingress) > 0
}

// configured reports that the Service says of its configuration that it is in place.
func (s pass) configured() bool { return s.served() && s.svc.Labels[LabelHash] == s.hash }

// isCurrent reports whether the Service, which may have been read anew, still asks for the load balancer for which it
// was built.
func (s pass) isCurrent() bool {
	return s.product.Wants(s.svc) && annotation.Reused(s.svc.Annotations) == s.want.Desired.Reuse.ID
}

// isTrusted reports whether nothing need be done because the cloud is recorded to have what the Service asks for. Pods
// that wait for the load balancer must know what it has now.
func (s pass) isTrusted() bool {
	trusted, ok := s.entry.Known.(knowledge.Trusted)
	return ok && trusted.Digest == s.applied && s.configured() && len(s.gated.Waiting())+len(s.memory.starting.keys) == 0
}

// said is all that a refusal depends on, except the load balancer that the Service names.
func (s pass) said() string {
	said := []any{s.hash, s.want.ShowsBound, s.want.Lacking, s.svc.Labels[LabelLoadBalancerID], s.svc.Annotations[annotation.Claims]}
	for _, ingress := range s.svc.Status.LoadBalancer.Ingress {
		said = append(said, ingress.IP, ingress.Hostname)
	}
	return fmt.Sprintf("%q", said)
}

// confirmed reads the Service anew, for what can't be undone.
func (s pass) confirmed(ctx context.Context) (pass, error) {
	live, _, err := s.writer.Confirm(ctx, s.svc)
	if err != nil {
		return s, err
	}
	if s = s.with(live); !s.isCurrent() {
		return s, controller.ErrStale
	}
	return s, nil
}

// resolved looks up the network interfaces of pods. With an error, those that could not be looked up are pending.
func (s pass) resolved(ctx context.Context, enis *eni.Resolver) (pass, error) {
	pods, err := enis.Find(ctx, &s.memory.pods, desired.PodAddresses(s.want.Desired.Groups, s.want.OwnGroups),
		s.want.Coming, backend.Holders(s.slices))
	wanted := *s.want.Desired
	wanted.Groups = desired.Resolve(wanted.Groups, pods.IDs, pods.Pending)
	s.want.Desired, s.want.OwnGroups, s.pods = &wanted, desired.Resolve(s.want.OwnGroups, pods.IDs, pods.Pending), pods
	return s, err
}

// looks are the times to look at a Service again: when the cloud must be read, when it may take more servers, and when
// pods may have got their network interface.
func (s pass) looks() []controller.Look {
	var looks []controller.Look
	look := func(at time.Time, isNeeded bool) {
		if isNeeded && !at.IsZero() {
			looks = append(looks, controller.Look{After: time.Until(at), Priority: reconcile.Periodic})
		}
	}
	look(s.entry.VerifyAt, true)
	look(s.limited, true)
	if len(s.pods.Missing)+len(s.pods.Pending) > 0 {
		looks = append(looks, controller.Look{After: s.pods.Again, Priority: reconcile.Endpoint})
	}
	return looks
}

// backendsOf returns the wanted servers of a Service, which may be invalid, if they are known.
func backendsOf(want desired.Result, err error) *model.Desired {
	if invalid, ok := errors.AsType[*desired.InvalidError](err); ok {
		return invalid.Backends
	}
	if want.Desired.Reuse.ID == "" {
		return want.Desired
	}
	return reuse.Anywhere(want.Desired, want.OwnGroups, nil)
}

// published are the addresses in the status of a Service, or names if the kind publishes these.
func (m Marks) published(svc *corev1.Service) []string {
	var addresses []string
	for _, i := range svc.Status.LoadBalancer.Ingress {
		if address := m.addressOf(i); address != "" {
			addresses = append(addresses, address)
		}
	}
	return addresses
}

// addressOf is what an entry of a status says of a load balancer; empty if it is of the other form.
func (m Marks) addressOf(i corev1.LoadBalancerIngress) string {
	if m.HostNames {
		return i.Hostname
	}
	return i.IP
}

func isHeld(product Product, svc *corev1.Service) bool {
	return slices.Contains(svc.Finalizers, product.Marks().Finalizer)
}

func keyOf(svc *corev1.Service) string { return svc.Namespace + "/" + svc.Name }

// claimsOf are the claims that are noted on a Service.
func claimsOf(svc *corev1.Service) ownership.Claims {
	return ownership.ParseClaims(svc.Annotations[annotation.Claims])
}

// result is what was carried out of a plan.
type result struct {
	changed  bool
	observed model.Observed
	events   []controller.Event
	wake     []string
	err      error
}

// shownActions bounds the list of actions in an event.
const shownActions = 5

// summary names actions.
func summary(p plan.Plan) string {
	var texts []string
	more := 0
	for action := range p.Actions() {
		if len(texts) < shownActions {
			texts = append(texts, action.String())
		} else {
			more++
		}
	}
	if more > 0 {
		texts = append(texts, fmt.Sprintf("%d more", more))
	}
	return strings.Join(texts, "; ")
}
