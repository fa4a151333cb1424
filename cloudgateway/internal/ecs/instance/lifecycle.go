package instance

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/write"
)

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
	params := cloud.Params{}.With("StoppedMode", stoppedModes()[r.GetStoppedMode()])
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
// somebody else was there before: then the status says which.
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

// send makes the call. Nobody else may write meanwhile, but while the end is awaited: a forced stop must be able to overtake one that hangs.
func (s *Service) send(ctx context.Context, id string, ch change) error {
	unlock, err := cloud.Lock(ctx, s.locks, id)
	if err != nil {
		return err
	}
	defer unlock()
	call := cloud.Write(openapi.ECS, ch.action, cloud.Params{"InstanceId": id}.Merge(ch.params))
	call.Idempotent = true
	_, err = s.api.Caller.Do(ctx, call, nil)
	return err
}

// judge says how far an instance has come that has a status.
func (ch change) judge(id, status string) (write.Verdict, error) {
	switch status {
	case ch.final:
		return write.Done, nil
	case gone:
		return write.Failed, noStatus(id) // Somebody has deleted it.
	case ch.passing:
		return write.Waiting, nil
	case ch.hopeless:
		return write.Failed, &rpcerr.Error{
			Code: codes.FailedPrecondition, Reason: rpcerr.InvalidState, API: "ecs/" + ch.action,
			Message: fmt.Sprintf("instance %s is %s; stop it before, or set force", id, status),
		}
	}
	return write.Todo, nil
}

// status reads the status of an instance now.
func (s *Service) status(ctx context.Context, id string) (string, error) {
	s.statuses.Invalidate(id) // A read under way may have begun before the change.
	status, err := s.statuses.Get(ctx, id, 0)
	if rpcerr.ReasonOf(err) == rpcerr.InstanceNotFound {
		return gone, nil
	}
	return status, err
}

// forget drops what is remembered about an instance that was written to. If it was deleted, something of that is gone with it.
func (s *Service) forget(id string, deleted bool) {
	s.instances.Invalidate(id)
	s.statuses.Invalidate(id)
	s.lists.Clear()
	if deleted {
		s.onDelete()
	}
}
