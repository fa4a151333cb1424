// Package nlb is what the resources of the cloud's Nlb product share.
package nlb

import (
	"context"
	"fmt"
	"maps"
	"time"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/write"
)

// The cloud's limits (NLB API reference).
const (
	// IDsPerCall is how many ids or names a filter takes.
	IDsPerCall = 20
	// PageSize is the greatest page.
	PageSize = 100
	// ParallelReads bounds the calls for one request.
	ParallelReads = 8
)

// Product is what the resources share.
type Product struct {
	cloud.API
	cloud.Shared

	// Balancers orders the writes to an instance and its listeners: while a job of one is under way, the cloud may refuse the next.
	Balancers *write.Serial
	// Groups orders the writes to a server group, which stands by itself.
	Groups *write.Serial
	// ObserveBalancer and ObserveGroup are called for what answers of the cloud show; nil: nothing is.
	ObserveBalancer func(*nlbv1.LoadBalancer)
	ObserveGroup    func(*nlbv1.ServerGroup)

	jobs write.Jobs
}

// New makes a Product.
func New(caller cloud.Caller, shared cloud.Shared) *Product {
	p := &Product{
		API: cloud.API{Product: openapi.NLB, Caller: caller}, Shared: shared,
		Balancers: write.NewSerial(shared.Locks), Groups: write.NewSerial(shared.Locks),
	}
	// Callers wait for their jobs at the same pace, so a look that waits a little meets the looks of others.
	const idle, most = 200 * time.Millisecond, time.Second
	looks := cloud.NewReader(shared, "nlb_jobs", IDsPerCall, cloud.Gathering{Idle: idle, Max: most}, p.readJobs)
	p.jobs = write.Jobs{Look: func(ctx context.Context, id string) (write.Job, error) { return looks.Get(ctx, id, 0) }}
	return p
}

// readJobs reads at most IDsPerCall jobs. One that the cloud does not show has not ended.
func (p *Product) readJobs(ctx context.Context, ids []string) (map[string]write.Job, error) {
	found, err := cloud.Listing[write.Job]{Action: "ListAsynJobs", Items: "Jobs", MaxResults: PageSize, Decode: decodeJob}.
		All(ctx, p.API, cloud.Params{}.List("JobIds", ids))
	return cloud.ByKey(found, func(j write.Job) string { return j.ID }), err
}

func decodeJob(item []byte) (j write.Job, err error) {
	status := ""
	err = cloud.Decode(item, cloud.Fields{"Id": &j.ID, "Status": &status, "ErrorCode": &j.Code, "ErrorMessage": &j.Message})
	if j.Ended = status == "Succeeded" || status == "Failed"; status == "Failed" && j.Code == "" {
		j.Code = status
	}
	return j, err
}

// Request is a request to write.
type Request interface {
	GetRequestId() string
	GetValidateOnly() bool
}

// Writer makes the writes of one request.
type Writer struct {
	product *Product
	method  string // for the tokens
	request Request
	// Calls is how many were made.
	Calls int32
}

// Writer makes a Writer. The method is its name in the API.
func (p *Product) Writer(method string, r Request) *Writer {
	return &Writer{product: p, method: method, request: r}
}

// Do makes a write and waits for the end of its job, if it has one. The step
// distinguishes it from the other writes of the request. The answer goes to
// fields. A dry run ends with the cloud's word that it would carry out the write.
func (w *Writer) Do(ctx context.Context, action, step string, params cloud.Params, fields cloud.Fields) error {
	call := cloud.Params{"ClientToken": write.Token(ctx, "nlb/"+w.method, w.request.GetRequestId(), step)}.Merge(params)
	if w.request.GetValidateOnly() {
		call["DryRun"] = "true"
		delete(call, "ClientToken") // A token would be used up.
		return w.dryRun(ctx, action, call)
	}
	job, request := "", ""
	answer := cloud.Fields{"JobId": &job, "RequestId": &request}
	maps.Copy(answer, fields)
	w.Calls++
	if err := w.product.Set(ctx, action, call, &answer); err != nil || job == "" {
		return err
	}
	err := w.product.jobs.Await(ctx, action, job)
	if e, ok := rpcerr.From(err); ok && e.Reason == rpcerr.JobFailed { // What Alibaba's support asks for.
		e.API, e.CloudRequestID = "nlb/"+action, request
		return e
	}
	return err
}

func (w *Writer) dryRun(ctx context.Context, action string, params cloud.Params) error {
	err := w.product.Set(ctx, action, params, nil)
	if e, ok := rpcerr.From(err); ok && e.CloudCode == "DryRunOperation" {
		return nil
	}
	return err
}

// Metadata is what requests to change a resource may have.
type Metadata interface {
	Request
	GetSetTags() []*commonv1.Tag
	GetRemoveTagKeys() []string
}

// ChangeTags changes the tags of a resource that NLB calls a kind. The cloud has no dry run for it.
func (w *Writer) ChangeTags(ctx context.Context, kind, id string, notFound rpcerr.Reason, r Metadata) error {
	if r.GetValidateOnly() {
		return nil
	}
	return w.product.ChangeTags(ctx, kind, id, notFound, r.GetSetTags(), r.GetRemoveTagKeys())
}

// Move moves a resource to another resource group, if there is one. The cloud has no dry run for it.
func (w *Writer) Move(ctx context.Context, kind, id string, group *string) error {
	if group == nil || w.request.GetValidateOnly() {
		return nil
	}
	return w.Do(ctx, "MoveResourceGroup", "group", cloud.Params{"ResourceType": kind, "ResourceId": id, "NewResourceGroupId": *group}, nil)
}

// Serially makes the writes of a request to one resource, or, for a dry run, asks for them at any time.
func Serially(ctx context.Context, s *write.Serial, key string, r Request, do func(ctx context.Context) error) error {
	if r.GetValidateOnly() {
		return do(ctx)
	}
	ctx, cancel := cloud.Earlier(ctx)
	defer cancel()
	return s.Do(ctx, key, do)
}

// Structs are parameters with members, name.1.Member and so on.
func Structs(p cloud.Params, name string, items []cloud.Params) cloud.Params {
	for i, item := range items {
		for member, value := range item {
			p.With(fmt.Sprintf("%s.%d.%s", name, i+1, member), value)
		}
	}
	return p
}
