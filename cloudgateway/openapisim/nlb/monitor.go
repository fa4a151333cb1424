package nlb

import (
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// monitorActions say where the fine-grained monitoring of a region keeps what it measures. Nothing is measured here.
func monitorActions() []api.Action {
	return []api.Action{
		write("SetHdMonitorRegionConfig", setMonitor, nil, mandatory("LogProject", "MetricStore")...),
		write("DeleteHdMonitorRegionConfig", deleteMonitor, nil),
		read("DescribeHdMonitorRegionConfig", describeMonitor, nil),
	}
}

func setMonitor(c *api.Context) (*change, *api.Error) {
	return &change{apply: func() {
		c.State.NLBMonitors[c.Region] = &state.NLBMonitor{ID: c.Region, LogProject: c.Get("LogProject"), MetricStore: c.Get("MetricStore")}
	}}, nil
}

func deleteMonitor(c *api.Context) (*change, *api.Error) {
	return &change{apply: func() { delete(c.State.NLBMonitors, c.Region) }}, nil
}

// describeMonitor shows nothing but the region where nothing was set.
func describeMonitor(c *api.Context) (any, *api.Error) {
	m := c.State.NLBMonitors[c.Region]
	if m == nil {
		return api.Object{"RegionId", c.Region}, nil
	}
	return api.Object{"RegionId", c.Region, "LogProject", m.LogProject, "MetricStore", m.MetricStore}, nil
}
