package ecs

import (
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func taskActions() []api.Action {
	return []api.Action{
		api.Read("DescribeTasks", describeTasks, api.Words("InvalidParameter"), append(listing.Params(maxResults), region(),
			api.Optional("TaskIds"),
			api.Optional("TaskAction"), api.OneOf("TaskStatus", "Finished", "Processing", "Failed"),
			api.Param{Name: "ResourceIds", Kind: api.Strings, Max: maxResults}, api.Optional("StartTime"), api.Optional("EndTime"))...),
		api.Read("DescribeTaskAttribute", describeTask, api.Words("InvalidTaskId.NotFound"), region(), api.Required("TaskId")),
	}
}

// newTask begins a task about a resource that takes its time.
func newTask(c *api.Context, action, resource string, takes time.Duration) string {
	t := &state.Task{ID: c.NewID("t-bp1"), Action: action, ResourceID: resource, Created: c.Now, Ends: c.Now.Add(takes)}
	c.State.Tasks[t.ID] = t
	return t.ID
}

func taskStatus(c *api.Context, t *state.Task) string {
	if c.Now.Before(t.Ends) {
		return "Processing"
	}
	return "Finished"
}

func finished(c *api.Context, t *state.Task) string {
	if taskStatus(c, t) == "Processing" {
		return ""
	}
	return timeText(t.Ends)
}

// describeTasks lists the tasks that began in a time, the last day if the call names none.
func describeTasks(c *api.Context) (any, *api.Error) {
	from, ok := timeOf(c, "StartTime", c.Now.Add(-24*time.Hour))
	if !ok {
		return nil, api.Invalid("StartTime")
	}
	until, ok := timeOf(c, "EndTime", c.Now)
	if !ok {
		return nil, api.Invalid("EndTime")
	}
	matching := listing.Find(c.State.Tasks, func(t *state.Task) bool {
		return !t.Created.Before(from) && !t.Created.After(until) && listing.Among(listing.CommaList(c.Get("TaskIds")), t.ID) &&
			listing.Match(c.Get("TaskAction"), t.Action) && listing.Match(c.Get("TaskStatus"), taskStatus(c, t)) &&
			listing.Among(c.List("ResourceIds"), t.ResourceID)
	})
	return listing.Answer(c, matching, "TaskSet", "Task", func(t *state.Task) api.Object {
		return api.Object{
			"TaskId", t.ID, "TaskAction", t.Action, "TaskStatus", taskStatus(c, t), "SupportCancel", "false", "CreationTime", timeText(t.Created),
			"FinishedTime", finished(c, t), "ResourceId", t.ResourceID,
		}
	}, "RegionId", c.Region)
}

func describeTask(c *api.Context) (any, *api.Error) {
	t := c.State.Tasks[c.Get("TaskId")]
	if t == nil {
		return nil, api.NotFound("InvalidTaskId.NotFound", "The specified TaskId does not exist.")
	}
	done, process := 1, "100%"
	if finished(c, t) == "" {
		done, process = 0, "0%"
	}
	return api.Object{
		"TaskId", t.ID, "RegionId", c.Region, "TaskAction", t.Action, "TaskStatus", taskStatus(c, t), "SupportCancel", "false",
		"TaskProcess", process, "TotalCount", 1, "SuccessCount", done, "FailedCount", 0,
		"CreationTime", timeText(t.Created), "FinishedTime", finished(c, t), "OperationProgressSet", api.Object{
			"OperationProgress", []api.Object{},
		},
	}, nil
}
