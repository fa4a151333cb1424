package ecs

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func eventActions() []api.Action {
	return []api.Action{
		api.Read("DescribeInstanceHistoryEvents", describeInstanceEvents, nil, append(listing.Params(maxResults), region(),
			api.Optional("InstanceId"), api.Param{Name: "ResourceId", Kind: api.Strings, Limit: idsPerCall},
			api.OneOf("ResourceType", "instance", "ddh", "managehost"), api.Param{Name: "EventId", Kind: api.Strings, Limit: idsPerCall},
			api.Optional("EventType"), api.Param{Name: "InstanceEventType", Kind: api.Strings, Min: 1, Max: 30},
			api.OneOf("EventCycleStatus", eventStatuses()...),
			api.Param{Name: "InstanceEventCycleStatus", Kind: api.Strings, Min: 1, Max: 7},
			api.Optional("NextToken"), api.Param{Name: "MaxResults", Kind: api.Int},
		)...),
	}
}

// eventStatuses are what an event may be; it is over in the last four.
func eventStatuses() []string {
	return []string{"Scheduled", "Executing", "Inquiring", "Avoided", "Executed", "Canceled", "Failed"}
}

func describeInstanceEvents(c *api.Context) (any, *api.Error) {
	statuses, types, ids := c.List("InstanceEventCycleStatus"), c.List("InstanceEventType"), c.List("ResourceId")
	for _, status := range statuses {
		if !slices.Contains(eventStatuses(), status) {
			return nil, api.Invalid("InstanceEventCycleStatus")
		}
	}
	one := func(name string) []string { // The list counts where there is one.
		if c.Has(name) {
			return []string{c.Get(name)}
		}
		return nil
	}
	if len(statuses) == 0 {
		statuses = one("EventCycleStatus")
	}
	if len(statuses) == 0 {
		statuses = eventStatuses()[3:]
	}
	if len(types) == 0 {
		types = one("EventType")
	}
	if len(ids) == 0 {
		ids = one("InstanceId")
	}
	ofInstances := cmp.Or(c.Get("ResourceType"), "instance") == "instance"
	matching := listing.Find(c.State.InstanceEvents, func(e *state.InstanceEvent) bool {
		return ofInstances && listing.Among(statuses, e.Status) && listing.Among(types, e.Type) && listing.Among(ids, e.InstanceID) &&
			listing.Among(c.List("EventId"), e.ID)
	})
	events, answer, ok := page(c, matching, func(e *state.InstanceEvent) string { return e.ID },
		min(max(c.Int("MaxResults", minResults), minResults), maxResults))
	if !ok {
		return nil, api.Invalid("NextToken")
	}
	return append(answer, "InstanceSystemEventSet", api.Object{"InstanceSystemEventType", api.Objects(events, newEventView)}), nil
}

func newEventView(e *state.InstanceEvent) api.Object {
	instant := func(t time.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.UTC().Format(time.RFC3339)
	}
	return api.Object{
		"EventId", e.ID, "InstanceId", e.InstanceID, "ResourceType", "instance", "ImpactLevel", "100", "Reason", e.Reason,
		"EventPublishTime", instant(e.Published), "NotBefore", instant(e.NotBefore), "EventFinishTime", instant(e.Finished),
		"EventCycleStatus", api.Object{"Code", eventStatusCode(e.Status), "Name", e.Status},
		"EventType", api.Object{"Code", 0, "Name", e.Type},
		"ExtendedAttribute", api.Object{},
	}
}

// eventStatusCode is the number of a status; clients go by the name.
func eventStatusCode(status string) int {
	return max(0, slices.IndexFunc(eventStatuses(), func(s string) bool { return strings.EqualFold(s, status) }))
}
