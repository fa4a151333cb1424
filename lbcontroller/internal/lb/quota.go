package lb

import (
	"github.com/prometheus/client_golang/prometheus"

	"alicloud-controllers.dev/lbcontroller/internal/lb/knowledge"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
)

// Quotas are the cloud's limits; 0 for one that isn't known.
type Quotas struct {
	// LoadBalancers are those of the account, Listeners those of a load balancer, and Servers those of a server group.
	LoadBalancers, Listeners, Servers int
	// Attachments are the server groups that a server is in, and ACLEntries those of an access list.
	Attachments, ACLEntries int
}

// needs are what a Service asks for that the cloud has a quota of.
type needs struct {
	// on is the user's load balancer that the Service names; empty for one of its own.
	on                   string
	listeners, acl, most int
	groups               []knowledge.Set
}

// needsOf returns the needs of a Service.
func needsOf(d *model.Desired, packer *knowledge.Packer) *needs {
	n := &needs{on: d.Reuse.ID, listeners: len(d.Listeners)}
	if d.Access != nil {
		n.acl = len(d.Access.Entries)
	}
	for _, g := range d.Groups {
		n.most = max(n.most, len(g.Servers))
		n.groups = append(n.groups, packer.Set(g.Servers))
	}
	return n
}

// quota is one limit, and how much of it is needed.
type quota struct {
	name          string
	needed, limit int
}

// quotas are the known limits, and what the Services that were seen ask for.
func (e *engine) quotas() []quota {
	var own, servers, entries int
	listeners, sets, attached := map[string]int{}, map[knowledge.Set]int{}, map[string]int{}
	for key, s := range e.services.All() {
		n := s.needs.Load()
		if n == nil {
			continue
		}
		on := n.on
		if on == "" {
			own, on = own+1, key
		}
		listeners[on] += n.listeners
		servers, entries = max(servers, n.most), max(entries, n.acl)
		for _, set := range n.groups {
			sets[set]++
		}
	}
	for set, times := range sets { // Most Services share a few sets.
		for _, id := range set.IDs() {
			attached[id] += times
		}
	}
	var known []quota
	for _, q := range []quota{
		{"load_balancers", own, e.Quotas.LoadBalancers}, {"listeners", most(listeners), e.Quotas.Listeners},
		{"servers", servers, e.Quotas.Servers}, {"attachments", most(attached), e.Quotas.Attachments},
		{"acl_entries", entries, e.Quotas.ACLEntries},
	} {
		if q.limit > 0 {
			known = append(known, q)
		}
	}
	return known
}

func most(counts map[string]int) int {
	n := 0
	for _, count := range counts {
		n = max(n, count)
	}
	return n
}

// quotaCollector counts when somebody asks.
type quotaCollector struct {
	engine        *engine
	needed, limit *prometheus.GaugeVec
}

func newQuotaCollector(e *engine) quotaCollector {
	kind := string(e.Product.Marks().Name)
	return quotaCollector{
		engine: e,
		needed: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lbcontroller_quota_needed", ConstLabels: prometheus.Labels{"kind": kind},
			Help: "How much of a quota of the cloud the Services of the cluster ask for, by kind: load_balancers, listeners of the load " +
				"balancer with the most, servers of the largest server group, attachments of the server in the most groups, acl_entries " +
				"of the longest access list.",
		}, []string{"quota"}),
		limit: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "lbcontroller_quota_limit", ConstLabels: prometheus.Labels{"kind": kind}, Help: "Quotas of the cloud, as configured.",
		}, []string{"quota"}),
	}
}

// Describe implements prometheus.Collector.
func (c quotaCollector) Describe(list chan<- *prometheus.Desc) {
	c.needed.Describe(list)
	c.limit.Describe(list)
}

// Collect implements prometheus.Collector.
func (c quotaCollector) Collect(list chan<- prometheus.Metric) {
	for _, q := range c.engine.quotas() {
		c.needed.WithLabelValues(q.name).Set(float64(q.needed))
		c.limit.WithLabelValues(q.name).Set(float64(q.limit))
	}
	c.needed.Collect(list)
	c.limit.Collect(list)
}
