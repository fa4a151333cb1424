// Package instance serves InstanceService: ECS instances. Reads of single instances that come at about the same time share calls.
package instance

import (
	"context"
	"fmt"
	"time"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/batch"
	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/ecs"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/write"
)

// kind describes instances.
func kind(cfg ecs.Config) cloud.Kind[ecsv1.Instance] {
	return cloud.Kind[ecsv1.Instance]{
		Name: "instance", Cache: "instances", NotFound: rpcerr.InstanceNotFound, IDs: "instance_ids",
		Listing: cloud.Listing[*ecsv1.Instance]{
			Action: "DescribeInstances", Items: "Instances.Instance", Decode: decode, ID: (*ecsv1.Instance).GetInstanceId,
			MaxResults: ecs.ItemsPerCall,
		},
		Filters: map[string]cloud.Filter{
			"instance_ids": cloud.JSONList("InstanceIds", ecs.ItemsPerCall),
			"private_ips":  cloud.JSONList("PrivateIpAddresses", ecs.ItemsPerCall).With("InstanceNetworkType", "vpc"),
			"public_ips":   cloud.JSONList("PublicIpAddresses", ecs.ItemsPerCall),
			"eips":         cloud.JSONList("EipAddresses", ecs.ItemsPerCall),
			"name":         cloud.Param("InstanceName"),
			"charge_type":  cloud.Param("InstanceChargeType"),
		},
		Gathering: cfg.Gathering(),
	}
}

// Service implements ecsv1.InstanceServiceServer.
type Service struct {
	ecsv1.UnimplementedInstanceServiceServer

	api       cloud.API
	writes    *write.Serial
	instances *cloud.Collection[ecsv1.Instance]
	statuses  *batch.Reader[string, string]
	events    *batch.Reader[string, []*ecsv1.InstanceEvent] // by the instances that they are of
	room      *batch.Room
	confirmer confirmer
}

// New makes a Service for a region.
func New(cfg ecs.Config, region string, interfaces Interfaces) *Service {
	s := &Service{
		api: cfg.API(), writes: write.NewSerial(cfg.Locks), room: cfg.Room, confirmer: confirmer{region, interfaces},
		instances: cloud.NewCollection(cfg.API(), cfg.Shared, kind(cfg)),
		events:    cloud.NewCache[[]*ecsv1.InstanceEvent](cfg.Shared, "instance_events"),
	}
	s.writes.OnWrite(func(id string) { s.forget(id, false) })
	s.statuses = cloud.NewReader(cfg.Shared, "instance_statuses", statusesPerCall, cfg.Gathering(), s.fetchStatuses)
	return s
}

// Forget drops what is remembered of an instance, which has got or lost an interface.
func (s *Service) Forget(id string) { s.instances.Forget(id) }

// Owner is how the scopes of callers see instances.
func (s *Service) Owner() cloud.Owner { return s.instances }

// GetInstance reads one instance.
func (s *Service) GetInstance(ctx context.Context, r *ecsv1.GetInstanceRequest) (*ecsv1.GetInstanceResponse, error) {
	found, err := s.instances.Get(ctx, r.GetInstanceId(), r.GetMaxAge())
	return cloud.Answer(&ecsv1.GetInstanceResponse{Instance: found}, err)
}

// BatchGetInstances reads many instances.
func (s *Service) BatchGetInstances(
	ctx context.Context, r *ecsv1.BatchGetInstancesRequest,
) (*ecsv1.BatchGetInstancesResponse, error) {
	found := s.instances.BatchGet(ctx, r.GetInstanceIds(), r.GetMaxAge())
	results := cloud.Results(r.GetInstanceIds(), found,
		func(id string, value *ecsv1.Instance, err *commonv1.ItemError) *ecsv1.InstanceResult {
			return &ecsv1.InstanceResult{Requested: id, Instance: value, Error: err}
		})
	return &ecsv1.BatchGetInstancesResponse{Results: results}, nil
}

// ListInstances reads every instance that matches, ordered by id.
func (s *Service) ListInstances(ctx context.Context, r *ecsv1.ListInstancesRequest) (*ecsv1.ListInstancesResponse, error) {
	found, err := s.instances.List(ctx, r)
	return cloud.Answer(&ecsv1.ListInstancesResponse{Instances: found}, err)
}

// BatchGetInstanceStatuses reads the statuses of many instances.
func (s *Service) BatchGetInstanceStatuses(
	ctx context.Context, r *ecsv1.BatchGetInstanceStatusesRequest,
) (*ecsv1.BatchGetInstanceStatusesResponse, error) {
	found := s.statuses.GetMany(ctx, r.GetInstanceIds(), r.GetMaxAge().AsDuration())
	for i, id := range r.GetInstanceIds() {
		if found[i].Err == nil && found[i].Value == gone {
			found[i].Err = noStatus(id)
		}
	}
	results := cloud.Results(r.GetInstanceIds(), found,
		func(id, value string, err *commonv1.ItemError) *ecsv1.InstanceStatusResult {
			return &ecsv1.InstanceStatusResult{Requested: id, Status: value, Error: err}
		})
	return &ecsv1.BatchGetInstanceStatusesResponse{Results: results}, nil
}

// UpdateInstance changes what is present in the request.
func (s *Service) UpdateInstance(ctx context.Context, r *ecsv1.UpdateInstanceRequest) (*ecsv1.UpdateInstanceResponse, error) {
	id := r.GetInstanceId()
	params := cloud.Params{}.With("InstanceName", r.GetName()).With("Description", r.GetDescription())
	ecs.Boolean(params, "DeletionProtection", r.DeletionProtection)
	err := s.writes.Do(ctx, id, func(ctx context.Context) error {
		if err := s.api.SetAll(ctx, ecs.Attributes("ModifyInstanceAttribute", "InstanceId", id, params)); err != nil {
			return err
		}
		return s.api.ChangeTags(ctx, "instance", id, rpcerr.InstanceNotFound, r.GetSetTags(), r.GetRemoveTagKeys())
	})
	return cloud.Answer(&ecsv1.UpdateInstanceResponse{}, err)
}

// StartInstance starts an instance and waits until it runs.
func (s *Service) StartInstance(ctx context.Context, r *ecsv1.StartInstanceRequest) (*ecsv1.StartInstanceResponse, error) {
	return cloud.Answer(&ecsv1.StartInstanceResponse{}, s.change(ctx, r.GetInstanceId(), start()))
}

// StopInstance stops an instance and waits until it is stopped.
func (s *Service) StopInstance(ctx context.Context, r *ecsv1.StopInstanceRequest) (*ecsv1.StopInstanceResponse, error) {
	return cloud.Answer(&ecsv1.StopInstanceResponse{}, s.change(ctx, r.GetInstanceId(), stop(r)))
}

// DeleteInstance deletes an instance and waits until it is gone.
func (s *Service) DeleteInstance(ctx context.Context, r *ecsv1.DeleteInstanceRequest) (*ecsv1.DeleteInstanceResponse, error) {
	return cloud.Answer(&ecsv1.DeleteInstanceResponse{}, s.change(ctx, r.GetInstanceId(), deletion(r.GetForce())))
}

// statusesPerCall is how many statuses one answer can hold. One call may name more ids, but would need another page.
const statusesPerCall = 50

// fetchStatuses reads the statuses of at most statusesPerCall instances; one that does not exist is not in the answer.
func (s *Service) fetchStatuses(ctx context.Context, ids []string) (map[string]string, error) {
	type status struct{ id, status string }
	list, err := cloud.Listing[status]{
		Action: "DescribeInstanceStatus", Items: "InstanceStatuses.InstanceStatus", PerPage: statusesPerCall,
		ID: func(s status) string { return s.id },
		Decode: func(item []byte) (i status, err error) {
			err = cloud.Decode(item, cloud.Fields{"InstanceId": &i.id, "Status": &i.status})
			return i, err
		},
	}.All(ctx, s.api, cloud.Params{}.List("InstanceId", ids))
	found := make(map[string]string, len(list))
	for _, i := range list {
		found[i.id] = i.status
	}
	return found, err
}

func noStatus(id string) error {
	return cloud.NotFound(rpcerr.InstanceNotFound, "ecs/DescribeInstanceStatus", "instance "+id)
}

// The statuses of an instance; gone is ours.
const (
	running  = "Running"
	stopped  = "Stopped"
	starting = "Starting"
	stopping = "Stopping"
	gone     = ""
)

// slowestLook is the longest time between two looks at an instance that is changing: a start takes between seconds and a minute.
const slowestLook = 5 * time.Second

// change takes an instance to another status.
type change struct {
	action string
	params cloud.Params
	// final is the status that it ends with, and passing the one on the way to it and nowhere else; empty if there is none such.
	final, passing string
	// hopeless is a status that the cloud refuses the change in, and that it does not leave by itself; empty if there is none such.
	hopeless string
}

func start() change { return change{action: "StartInstance", final: running, passing: starting} }

func stop(r *ecsv1.StopInstanceRequest) change {
	params := cloud.Params{}.With("StoppedMode", cloud.Word(r.GetStoppedMode()))
	if r.GetForce() {
		params["ForceStop"] = "true"
	}
	return change{action: "StopInstance", params: params, final: stopped, passing: stopping}
}

func deletion(force bool) change {
	if force {
		return change{action: "DeleteInstance", params: cloud.Params{"Force": "true"}, final: gone}
	}
	return change{action: "DeleteInstance", final: gone, hopeless: running}
}

// change makes a change and waits for its end. Repeated after a lost answer it is refused, as it is while the instance is changing, or when
// another client made the change before: then the status says which.
func (s *Service) change(ctx context.Context, id string, ch change) error {
	defer s.forget(id, ch.final == gone)
	_, err := write.Converge[string]{
		Name:    fmt.Sprintf("%s of %s", ch.action, id),
		Send:    func(ctx context.Context, _ string) error { return s.send(ctx, id, ch) },
		Look:    func(ctx context.Context) (string, error) { return s.status(ctx, id) },
		Judge:   func(status string) (write.Verdict, error) { return ch.judge(id, status) },
		Slowest: slowestLook,
	}.Run(ctx)
	if ch.final == gone {
		err = cloud.Unless(err, rpcerr.InstanceNotFound)
	}
	return err
}

// send makes the call. No other request may write meanwhile. While the end is awaited, one may: a forced stop must be able to overtake one
// that hangs.
func (s *Service) send(ctx context.Context, id string, ch change) error {
	call := cloud.Write(openapi.ECS, ch.action, cloud.Params{"InstanceId": id}.Merge(ch.params))
	call.Idempotent = true
	return s.writes.Do(ctx, id, func(ctx context.Context) error {
		_, err := s.api.Caller.Do(ctx, call, nil)
		return err
	})
}

// judge says how far an instance has come that has a status.
func (ch change) judge(id, status string) (write.Verdict, error) {
	switch status {
	case ch.final:
		return write.Done, nil
	case gone:
		return write.Failed, noStatus(id) // It has been deleted meanwhile.
	case ch.passing:
		return write.Waiting, nil
	case ch.hopeless:
		return write.Failed, rpcerr.Errorf(rpcerr.InvalidState, "instance %s is %s; stop it before, or set force", id,
			status).WithAPI("ecs/" + ch.action)
	}
	return write.Todo, nil
}

// status reads the status of an instance now.
func (s *Service) status(ctx context.Context, id string) (string, error) {
	s.statuses.Invalidate(id) // A read under way may have begun before the change.
	return s.statuses.Get(ctx, id, 0)
}

// forget drops what is remembered about an instance that was written to. If it was deleted, that is everything: its
// interfaces are gone with it, its EIPs are free, and it is in no server group any more.
func (s *Service) forget(id string, deleted bool) {
	s.instances.Forget(id)
	s.statuses.Invalidate(id)
	if deleted {
		s.room.Clear()
	}
}
