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
)

// The statuses of an instance; gone is ours.
const (
	running  = "Running"
	stopped  = "Stopped"
	starting = "Starting"
	stopping = "Stopping"
	gone     = ""
)

// The waiting times between two looks at an instance that is changing: a start takes between seconds and a minute.
const (
	firstLook = time.Second
	lastLook  = 5 * time.Second
)

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
	params := cloud.Params{}
	switch r.GetStoppedMode() {
	case ecsv1.StoppedMode_STOPPED_MODE_KEEP_CHARGING:
		params["StoppedMode"] = keepCharging
	case ecsv1.StoppedMode_STOPPED_MODE_STOP_CHARGING:
		params["StoppedMode"] = stopCharging
	case ecsv1.StoppedMode_STOPPED_MODE_UNSPECIFIED:
	}
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

// change makes a change and waits for its end. Others may change the instance meanwhile: a forced stop must be able to overtake one
// that hangs.
func (s *Service) change(ctx context.Context, id string, ch change) error {
	defer s.forget(id, ch.final == gone)
	ended, err := s.begin(ctx, id, ch)
	if err != nil || ended {
		return err
	}
	return s.await(ctx, id, ch)
}

// verdict is what the status of an instance says about a change that was refused, or whose answer was lost.
type verdict uint8

const (
	refused verdict = iota // for good
	early                  // it has to be sent again
	begun
	done
)

// begin makes the call. Repeated after a lost answer it is refused, as it is while the instance is changing, or when somebody else was
// there before: then the status says which. It reports whether the change has come to its end already.
func (s *Service) begin(ctx context.Context, id string, ch change) (ended bool, err error) {
	unlock, err := cloud.Lock(ctx, s.locks, id)
	if err != nil {
		return false, err
	}
	defer unlock()
	call := cloud.Write(openapi.ECS, ch.action, cloud.Params{"InstanceId": id}.Merge(ch.params))
	call.Idempotent = true
	var v verdict
	err = cloud.Retry(ctx, func(error) bool { return v == early }, func(ctx context.Context) error {
		_, err := s.api.Caller.Do(ctx, call, nil)
		switch {
		case err == nil:
			v = begun
		case ch.final == gone && rpcerr.ReasonOf(err) == rpcerr.InstanceNotFound:
			v, err = done, nil
		case cloud.Busy(err), cloud.Unclear(err):
			v, err = s.judge(ctx, id, ch, err)
		default:
			v = refused
		}
		return err
	})
	return v == done, err
}

// judge looks how far a change has come that failed for now.
func (s *Service) judge(ctx context.Context, id string, ch change, failure error) (verdict, error) {
	status, err := s.status(ctx, id)
	switch {
	case err != nil && cloud.Unclear(failure):
		return refused, failure
	case err != nil:
		return refused, err
	case status == ch.final:
		return done, nil
	case status == gone:
		return refused, noStatus(id)
	case status == ch.passing:
		return begun, nil
	case status == ch.hopeless:
		return refused, &rpcerr.Error{
			Code: codes.FailedPrecondition, Reason: rpcerr.InvalidState, API: "ecs/" + ch.action,
			Message: fmt.Sprintf("instance %s is %s; stop it before, or set force", id, status),
		}
	}
	return early, failure
}

// await looks at the instance until the change has come to its end.
func (s *Service) await(ctx context.Context, id string, ch change) error {
	for pause := firstLook; ; pause = min(pause+firstLook, lastLook) {
		status, err := s.status(ctx, id)
		if err != nil {
			return fmt.Errorf("%s of %s goes on, but its end can't be seen: %w", ch.action, id, err)
		}
		switch {
		case status == ch.final:
			return nil
		case status == gone:
			return noStatus(id) // Somebody has deleted it.
		case !cloud.Sleep(ctx, pause):
			return &rpcerr.Error{
				Code: codes.Aborted, Reason: rpcerr.ResourceBusy, RetryAfter: lastLook, API: "ecs/" + ch.action,
				Message: fmt.Sprintf("the change goes on: instance %s is %s until the deadline; repeat the call to wait for it", id, status),
			}
		}
	}
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
