package nlb

import (
	"maps"
	"slices"
	"strings"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// Kinds of resources, as ListAsynJobs and the tag actions name them.
const (
	kindBalancer = "loadbalancer"
	kindListener = "listener"
	kindGroup    = "servergroup"
	kindPolicy   = "securitypolicy"
)

// Statuses of jobs.
const (
	processing = "Processing"
	succeeded  = "Succeeded"
	failed     = "Failed"
)

// Statuses of resources.
const (
	provisioning = "Provisioning"
	active       = "Active"
	configuring  = "Configuring"
	createFailed = "CreateFailed"

	running  = "Running"
	starting = "Starting"
	stopping = "Stopping"
	stopped  = "Stopped"
	deleting = "Deleting"

	creating  = "Creating"
	available = "Available"
	adding    = "Adding"
	removing  = "Removing"

	associating    = "Associating"
	associated     = "Associated"
	disassociating = "Diassociating" // spelt so by the cloud
)

// settle completes the jobs that have ended.
func settle(c *api.Context) {
	if len(c.State.Vanishing) > 0 {
		c.State.Vanish(c.Now)
	}
	if len(c.State.NLBRunningJobs) == 0 {
		return
	}
	var ended []*state.NLBJob
	c.State.NLBRunningJobs = slices.DeleteFunc(c.State.NLBRunningJobs, func(id string) bool {
		j := c.State.NLBJobs[id]
		if j == nil { // of a seed
			return true
		}
		if c.Now.Before(j.EndsAt) {
			return false
		}
		ended = append(ended, j)
		return true
	})
	if len(c.State.NLBRunningJobs) == 0 {
		c.State.NLBRunningJobs = nil
	}
	slices.SortStableFunc(ended, func(a, b *state.NLBJob) int { return a.EndsAt.Compare(b.EndsAt) })
	for _, j := range ended {
		finish(c, j)
	}
}

// settleAll settles everything, seeds that say little included, and returns when the next job ends.
func settleAll(c *api.Context) (next time.Time) {
	for _, lb := range c.State.NLBs {
		complete(c, lb)
	}
	for _, l := range c.State.NLBListeners {
		completeListener(c, l)
	}
	for _, g := range c.State.NLBServerGroups {
		completeGroup(c, g)
	}
	settle(c)
	for _, id := range c.State.NLBRunningJobs {
		next = api.Earlier(next, c.State.NLBJobs[id].EndsAt)
	}
	return next
}

// finish takes the resource of a job that has ended to its next status.
func finish(c *api.Context, j *state.NLBJob) {
	j.Status = succeeded
	if j.ErrorCode != "" {
		j.Status = failed
	}
	switch j.ResourceType {
	case kindBalancer:
		finishBalancer(c, j)
	case kindListener:
		finishListener(c, j)
	case kindGroup:
		finishGroup(c, j)
	case kindPolicy:
		finishPolicy(c, j)
	}
}

// busy reports whether a job of a resource is running; actions narrows it to the jobs of these actions.
func busy(c *api.Context, kind, id string, actions ...string) bool {
	return slices.ContainsFunc(c.State.NLBRunningJobs, func(job string) bool {
		j := c.State.NLBJobs[job]
		return j.ResourceType == kind && j.ResourceID == id && (len(actions) == 0 || slices.Contains(actions, j.Action))
	})
}

// busyBalancer reports whether any job of a load balancer or one of its listeners is running, but for those of some actions.
func busyBalancer(c *api.Context, id string, besides ...string) bool {
	return slices.ContainsFunc(c.State.NLBRunningJobs, func(job string) bool {
		j := c.State.NLBJobs[job]
		return j.NLBID == id && !slices.Contains(besides, j.Action)
	})
}

// Jobs are forgotten a day after they end, as client tokens are. So that this costs little, it is done once in a while.
const (
	jobLifetime = 24 * time.Hour
	forgetEvery = 1024
)

func forgetJobs(c *api.Context) {
	if len(c.State.NLBJobs)%forgetEvery == forgetEvery-1 {
		maps.DeleteFunc(c.State.NLBJobs, func(_ string, j *state.NLBJob) bool {
			return j.Status != processing && c.Now.Sub(j.EndsAt) > jobLifetime
		})
	}
}

func jobActions() []api.Action {
	return []api.Action{
		read("GetJobStatus", getJobStatus, []string{"ResourceNotFound.JobId"}, append(mandatory("JobId"), api.Optional("ClientToken"))...),
		read("ListAsynJobs", listAsynJobs, nil, append(paging(),
			texts("JobIds", maxPage), api.Optional("ApiName"), api.OneOf("ResourceType", kindBalancer, kindListener, kindGroup, kindPolicy),
			texts("ResourceIds", maxPage), api.OneOf("Status", processing, succeeded, failed))...),
	}
}

func getJobStatus(c *api.Context) (any, *api.Error) {
	j := c.State.NLBJobs[c.Get("JobId")]
	if j == nil {
		return nil, fail("ResourceNotFound.JobId")
	}
	return api.Object{"Status", j.Status}, nil
}

func listAsynJobs(c *api.Context) (any, *api.Error) {
	resources := c.List("ResourceIds")
	return list[state.NLBJob]{
		name: "Jobs", ids: "JobIds", all: c.State.NLBJobs, place: (*state.NLBJob).Place,
		match: func(j *state.NLBJob) bool {
			return listing.Among(resources, j.ResourceID) && listing.Match(c.Get("ApiName"), j.Action) &&
				listing.Match(c.Get("ResourceType"), j.ResourceType) && listing.Match(c.Get("Status"), j.Status)
		},
		show: func(j *state.NLBJob) api.Object { return showJob(c, j) },
	}.answer(c)
}

// showJob shows a job. Times are milliseconds since 1970.
func showJob(c *api.Context, j *state.NLBJob) api.Object {
	operation, code, message := "Update", "", ""
	for _, verb := range []string{"Create", "Delete"} {
		if strings.HasPrefix(j.Action, verb) {
			operation = verb
		}
	}
	if j.Status == failed {
		code, message = j.ErrorCode, j.ErrorMessage
	}
	return api.Object{
		"Id", j.ID, "ApiName", j.Action, "OperateType", operation, "ResourceType", j.ResourceType, "ResourceId", j.ResourceID,
		"Status", j.Status, "CreateTime", j.Created.UnixMilli(), "ModifyTime", min(j.EndsAt.UnixMilli(), c.Now.UnixMilli()),
		"ErrorCode", code, "ErrorMessage", message,
	}
}
