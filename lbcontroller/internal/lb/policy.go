package lb

import (
	"alicloud-controllers.dev/lbcontroller/internal/lb/desired"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
)

// Policy says which changes are made in the cloud at all; what it doesn't allow is reported and not done. The zero value is PolicySync.
type Policy string

// The policies, those of the configuration and of annotation sync-policy.
const (
	// PolicySync makes every change.
	PolicySync Policy = "sync"
	// PolicyUpsert creates and changes, and deletes neither load balancers nor listeners, certificates or server groups.
	// Servers follow nodes and pods: one that is left would send requests to a pod that is gone, or to
	// whatever has its address next.
	PolicyUpsert Policy = "upsert-only"
	// PolicyReport writes nothing in the cloud, and on the Service nothing but conditions.
	PolicyReport Policy = "report"
)

// Allows reports whether the policy lets an action be carried out.
func (p Policy) Allows(action plan.Action) bool {
	_, verb := action.About()
	return p != PolicyReport && (verb != plan.VerbDelete || p.allowsDeletions())
}

// allowsDeletions reports whether the policy lets anything of a Service be deleted.
func (p Policy) allowsDeletions() bool { return p != PolicyReport && p != PolicyUpsert }

// deletes reports whether what is no Service's any more may be deleted, which has no policy of its own.
func (p Policy) deletes() bool { return p == PolicySync || p == "" }

// policyOf is the policy for a Service: its own, or that of the configuration.
func policyOf(view desired.View, general Policy) Policy {
	if own := Policy(view.SyncPolicy()); own != "" {
		return own
	}
	return general
}

// Drift says what happens when a load balancer is no longer as its Service asks, though the Service says that it was: a
// user or another tool has changed it in the cloud. The zero value brings everything back. Servers always follow nodes
// and pods.
type Drift struct {
	// ReportInstance only reports changed attributes of the load balancer, and ReportListeners changed listeners and
	// their certificates.
	ReportInstance, ReportListeners bool
	// ReportStopped only reports listeners that a user or another tool stopped, also at a takeover.
	ReportStopped bool
}

// withheld are the changes that a policy holds back for a Service.
type withheld struct {
	policy  Policy
	changes int
}
