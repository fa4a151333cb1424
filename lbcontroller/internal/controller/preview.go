package controller

import (
	"context"
)

// Preview is what a kind would do about a Service now.
type Preview struct {
	Namespace string `json:"namespace"`
	Service   string `json:"service"`
	// LoadBalancer is the one that the Service has, "" for none.
	LoadBalancer string `json:"loadBalancer,omitempty"`
	// Actions are the changes in the cloud, in their order.
	Actions []string `json:"actions,omitempty"`
	// Withheld are changes that the policy holds back.
	Withheld []string `json:"withheld,omitempty"`
	// Refused is what the Service asks for and would not be done.
	Refused []string `json:"refused,omitempty"`
	// Warnings are about what would be left out or has no effect.
	Warnings []string `json:"warnings,omitempty"`
	// Error is why the cloud could not be read.
	Error string `json:"error,omitempty"`
}

// Orphan is a load balancer that was made for a Service of the cluster which no longer exists.
type Orphan struct {
	LoadBalancer string `json:"loadBalancer"`
	Name         string `json:"name"`
	Address      string `json:"address"`
	// Mark is what names the Service.
	Mark string `json:"mark"`
	// Thing is what it is if it is no load balancer, but stands beside one that is gone, such as "access list";
	// LoadBalancer is its id then.
	Thing string `json:"thing,omitempty"`
	// Kept is why it is never deleted by the controller, if that is known.
	Kept string `json:"kept,omitempty"`
}

// Quota is a limit of the cloud, and how much of it the Services of the cluster ask for that were looked at.
type Quota struct {
	Kind string `json:"kind"`
	// Name is load_balancers, listeners (of the load balancer with the most), servers (of the largest server group),
	// attachments (of the server that is in the most groups) or acl_entries (of the longest access list).
	Name   string `json:"name"`
	Needed int    `json:"needed"`
	Limit  int    `json:"limit"`
}

// Previewer finds out what a kind would do. It reads, and writes nothing anywhere.
type Previewer interface {
	// Preview compares what a Service asks for with what the cloud holds. The Writer of the request isn't used.
	Preview(ctx context.Context, r Request) Preview
	// Quotas are those of the cloud, after Preview was called for all Services. Ones that aren't known are left out.
	Quotas() []Quota
	// ListOrphans lists the orphans. It reads the Services anew: they must not be older than the load balancers.
	ListOrphans(ctx context.Context) ([]Orphan, error)
}
