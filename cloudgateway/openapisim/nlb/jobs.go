package nlb

import (
	"cmp"
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

// busyBalancer reports whether any job of a load balancer or one of its listeners is running.
func busyBalancer(c *api.Context, id string) bool {
	return slices.ContainsFunc(c.State.NLBRunningJobs, func(job string) bool { return c.State.NLBJobs[job].NLBID == id })
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
			list("JobIds", maxPage), api.Optional("ApiName"), api.OneOf("ResourceType", kindBalancer, kindListener, kindGroup, kindPolicy),
			list("ResourceIds", maxPage), api.OneOf("Status", processing, succeeded, failed))...),
	}
}

type jobStatus struct {
	Status string `json:"Status"`
}

func getJobStatus(c *api.Context) (any, *api.Error) {
	j := c.State.NLBJobs[c.Get("JobId")]
	if j == nil {
		return nil, fail("ResourceNotFound.JobId")
	}
	return jobStatus{j.Status}, nil
}

// jobView shows a job. Times are milliseconds since 1970.
type jobView struct {
	ID           string `json:"Id"`
	APIName      string `json:"ApiName"`
	OperateType  string `json:"OperateType"`
	ResourceType string `json:"ResourceType"`
	ResourceID   string `json:"ResourceId"`
	Status       string `json:"Status"`
	CreateTime   int64  `json:"CreateTime"`
	ModifyTime   int64  `json:"ModifyTime"`
	ErrorCode    string `json:"ErrorCode"`
	ErrorMessage string `json:"ErrorMessage"`
}

func newJobView(c *api.Context, j *state.NLBJob) jobView {
	v := jobView{
		ID: j.ID, APIName: j.Action, OperateType: "Update", ResourceType: j.ResourceType, ResourceID: j.ResourceID, Status: j.Status,
		CreateTime: j.Created.UnixMilli(), ModifyTime: min(j.EndsAt.UnixMilli(), c.Now.UnixMilli()),
	}
	for _, verb := range []string{"Create", "Delete"} {
		if strings.HasPrefix(j.Action, verb) {
			v.OperateType = verb
		}
	}
	if j.Status == failed {
		v.ErrorCode, v.ErrorMessage = j.ErrorCode, j.ErrorMessage
	}
	return v
}

func listAsynJobs(c *api.Context) (any, *api.Error) {
	ids, resources := c.List("JobIds"), c.List("ResourceIds")
	matching := []*state.NLBJob{}
	for _, j := range candidates(c.State.NLBJobs, ids) {
		if listing.Among(resources, j.ResourceID) && listing.Match(c.Get("ApiName"), j.Action) &&
			listing.Match(c.Get("ResourceType"), j.ResourceType) && listing.Match(c.Get("Status"), j.Status) {
			matching = append(matching, j)
		}
	}
	slices.SortFunc(matching, func(a, b *state.NLBJob) int { return cmp.Compare(a.ID, b.ID) })
	page, jobs, err := pageOf(c, matching, func(j *state.NLBJob) string { return j.ID })
	if err != nil {
		return nil, err
	}
	out := struct {
		pageView
		Jobs []jobView `json:"Jobs"`
	}{page, make([]jobView, 0, len(jobs))}
	for _, j := range jobs {
		out.Jobs = append(out.Jobs, newJobView(c, j))
	}
	return out, nil
}

// candidates are the values of a map with some ids, or all if no id is given. Reads that name ids cost no more for it in a
// large cloud.
func candidates[T any](all map[string]*T, ids []string) map[string]*T {
	if len(ids) == 0 {
		return all
	}
	some := make(map[string]*T, len(ids))
	for _, id := range ids {
		if item := all[id]; item != nil {
			some[id] = item
		}
	}
	return some
}

// pageView is what an answer says about a page.
type pageView struct {
	TotalCount int    `json:"TotalCount"`
	MaxResults int    `json:"MaxResults"`
	NextToken  string `json:"NextToken,omitempty"`
}

// pageOf cuts the page of NextToken and MaxResults out of a list that is sorted by id.
func pageOf[T any](c *api.Context, items []T, id func(T) string) (pageView, []T, *api.Error) {
	v := pageView{TotalCount: len(items), MaxResults: c.Int("MaxResults", 20)}
	page, next, ok := listing.After(items, id, c.Get("NextToken"), v.MaxResults)
	if !ok {
		return v, nil, api.BadRequest("InvalidParameter", "The specified parameter NextToken is not valid.")
	}
	v.NextToken = next
	return v, page, nil
}
