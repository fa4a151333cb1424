package controller

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"alicloud-controllers.dev/services/reconcile"

	"alicloud-controllers.dev/lbcontroller/internal/backend"
	"alicloud-controllers.dev/lbcontroller/internal/certificate"
	"alicloud-controllers.dev/lbcontroller/internal/readiness"
)

// Kind is a kind of load balancers, such as CLB. Its methods are called by several goroutines, but Ensure and
// Release never for the same Service at the same time, nor for two Services that share a load balancer.
type Kind interface {
	// Interest returns what of the cluster concerns a Service.
	Interest(svc *corev1.Service) Interest
	// Ensure brings the load balancer of a wanted Service to what the Service asks for.
	Ensure(ctx context.Context, r Request) Outcome
	// Release gives up what a Service has and no longer wants. Without an error in its outcome the finalizer goes.
	Release(ctx context.Context, r Request) Outcome
	// Changed is called, while this replica leads, for every change of a Service before the Service is queued. It must not block.
	Changed(old, svc *corev1.Service)
	// Forget drops what is remembered of a Service that no longer exists.
	Forget(key string)
}

// Interest is what of the cluster concerns a Service, as far as one kind goes.
type Interest struct {
	// Wanted reports that the Service asks for a load balancer of the kind.
	Wanted bool
	// Policy says which pods and nodes may be backends.
	backend.Policy
	// Shared are the ids of load balancers on which other Services may have something, too.
	Shared []string
}

// Request is a Service to work on, and what the cluster says about it. The Service is a copy of the cache's.
type Request struct {
	Key     string
	Service *corev1.Service
	Slices  []*discoveryv1.EndpointSlice
	Nodes   *backend.Set
	// Gated are the pods that declare the readiness gate of the Service.
	Gated readiness.Pods
	// Secrets are those with certificates that the Service names, by name.
	Secrets map[string]certificate.Secret
	// Writer writes on the Service what must be there before the work is done.
	Writer Writer
	// Exists reports whether there is a Service that a name or description in the cloud was made for; owns says of one
	// whether it was. Nil for a Service that is gone itself.
	Exists Exists
}

// Exists reports whether there is a Service of that namespace and name, or another one for which owns holds: names in
// the cloud may be shortened. That there is none is said by the API server, and not by the cache alone.
type Exists func(ctx context.Context, namespace, name string, owns func(*corev1.Service) bool) (bool, error)

// Outcome is all that follows from one pass over a Service: what is written on it, which events are recorded, and when
// it is looked at again.
type Outcome struct {
	// Service is the Service as the kind left it; nil if it didn't write on it.
	Service *corev1.Service
	// Changed reports that something was changed in the cloud, or that it was tried.
	Changed bool
	// Publish is written on the Service; nil writes nothing.
	Publish *Publication
	// Gates are written on pods that wait for the load balancer, where they say something new.
	Gates []readiness.Verdict
	// Events are recorded; warnings unless they repeat the last one of their reason.
	Events []Event
	// Resolved are reasons of warnings that hold no longer. An event says so, and they are recorded again when they come back.
	Resolved []string
	// Err is what went wrong, and Retry when the pass is repeated for that.
	Err   error
	Retry Retry
	// Gone says that the load balancer whose address the Service shows isn't there.
	Gone bool
	// Waits says that it isn't known yet whether the load balancer is as the Service asks. Nothing is said of that then.
	Waits bool
	// Starting names the listeners that were started and don't run yet; empty for none.
	Starting string
	// Reason names in one word what went wrong, for a condition; empty for that of Err.
	Reason string
	// Looks are further times to look at the Service.
	Looks []Look
	// Wake are the keys of other Services for which room was made. They are tried again also when this one has failed.
	Wake []string
	// Filled says what the Service has in server groups of users; nil if it names none, or if that isn't known.
	Filled *Filled
}

// Filled are the servers that a Service has in server groups of users.
type Filled struct {
	Count int
	// Servers are the first of them, "ID:PORT=WEIGHT" or "ID/ADDRESS:PORT=WEIGHT".
	Servers []string
}

// Retry says when a pass that went wrong is repeated.
type Retry struct {
	// Mode chooses the way.
	Mode RetryMode
	// After is the time for RetryAfter, or the time that the gateway asked for with RetryBackoff, if any.
	After time.Duration
}

// RetryMode is a way to repeat what went wrong.
type RetryMode int

// The ways.
const (
	// RetryBackoff repeats after a growing delay, or when the gateway asks for it.
	RetryBackoff RetryMode = iota
	// RetryAfter repeats at a time of the kind's choice.
	RetryAfter
	// RetryNever waits until something is changed, or for one of the looks.
	RetryNever
	// RetryLook waits for one of the looks, as if there had been no attempt: delays that have grown stay.
	RetryLook
)

// Look is a time at which a Service is looked at, whatever happens.
type Look struct {
	After    time.Duration
	Priority reconcile.Priority
}

// Event is an event on a Service.
type Event struct {
	// Type is that of core/v1, Normal or Warning.
	Type    string
	Reason  string
	Message string
	// Cause distinguishes a new warning from a repetition; empty for the message.
	Cause string
	// Done says of a warning that it is about something that was done, and not about trouble that ends.
	Done bool
}

func keyOf(svc *corev1.Service) string { return svc.Namespace + "/" + svc.Name }
