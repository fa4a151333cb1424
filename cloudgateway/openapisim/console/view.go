package console

import (
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// view is what the page shows, without anything that is still part of the cloud.
type view struct {
	Query     query
	Products  []string // to choose from
	Places    []string // accounts and regions; those of a page are links if there are several
	Summary   summary
	Balancers balancersView
	Routes    routesView
	Instances instancesView
	Rates     ratesView
	Calls     callsView
}

// summary is the cloud in a few numbers.
type summary struct {
	Region, Account string
	Frozen          string // when the clock stands
	LimitsOff       bool
	Faults          int

	Balancers, Groups            int
	Listeners, RunningListeners  int
	Instances, RunningInstances  int
	Routes                       int
	Calls, CallsNow, FailuresNow int
}

// look takes everything that is shown from the source. The state is locked no longer than it takes to copy what is on the page.
func (c *Console) look(q query) view {
	now, frozen := c.source.Clock()
	v := view{Query: q, Products: c.products, Places: c.source.Places()}
	c.source.View(func(cloud *state.Cloud, health Health) {
		v.Summary = summarize(cloud)
		v.Balancers = viewBalancers(cloud, health, q)
		v.Routes = viewRoutes(cloud, q)
		v.Instances = viewInstances(cloud, q)
	})
	d := walk(c.source.Backward(), q, now)
	enabled, table := c.source.Limits()
	v.Rates, v.Calls = viewRates(d.counts, enabled, table, q), d.calls
	s := &v.Summary
	s.Calls, s.CallsNow, s.FailuresNow = d.calls.Kept, d.counts.current(), d.counts.failed
	s.LimitsOff, s.Faults = !enabled, c.source.Faults()
	if frozen {
		s.Frozen = now.UTC().Format(time.DateTime)
	}
	return v
}

func summarize(cloud *state.Cloud) summary {
	s := summary{
		Region: cloud.Region, Account: cloud.Account,
		Balancers: len(cloud.LoadBalancers) + len(cloud.NLBs), Groups: len(cloud.ServerGroups) + len(cloud.NLBServerGroups),
		Instances: len(cloud.Instances), Listeners: len(cloud.NLBListeners),
	}
	for _, lb := range cloud.LoadBalancers {
		s.Listeners += len(lb.Listeners)
		for _, l := range lb.Listeners {
			if l.Status == "running" {
				s.RunningListeners++
			}
		}
	}
	for _, l := range cloud.NLBListeners {
		if l.Status == "Running" {
			s.RunningListeners++
		}
	}
	for _, i := range cloud.Instances {
		if i.Status == "Running" {
			s.RunningInstances++
		}
	}
	for _, table := range cloud.RouteTables {
		s.Routes += len(table.Entries)
	}
	return s
}
