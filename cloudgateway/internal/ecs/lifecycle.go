package ecs

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

// StartInstance starts an instance and waits until it runs.
func (c *Client) StartInstance(ctx context.Context, id string) error {
	return c.change(ctx, id, change{action: "StartInstance", final: running, passing: starting})
}

// StopInstance stops an instance and waits until it is stopped.
func (c *Client) StopInstance(ctx context.Context, r *ecsv1.StopInstanceRequest) error {
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
	return c.change(ctx, r.GetInstanceId(), change{action: "StopInstance", params: params, final: stopped, passing: stopping})
}

// DeleteInstance deletes an instance and waits until it is gone.
func (c *Client) DeleteInstance(ctx context.Context, id string, force bool) error {
	ch := change{action: "DeleteInstance", final: gone, hopeless: running}
	if force {
		ch.params, ch.hopeless = cloud.Params{"Force": "true"}, ""
	}
	return c.change(ctx, id, ch)
}

// change makes a change and waits for its end. Others may change the instance meanwhile: a forced stop must be able to overtake one
// that hangs.
func (c *Client) change(ctx context.Context, id string, ch change) error {
	defer c.forgetInstance(id, ch.final == gone)
	ended, err := c.begin(ctx, id, ch)
	if err != nil || ended {
		return err
	}
	return c.await(ctx, id, ch)
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
// there before: then the status tells which. It reports whether the change has come to its end already.
func (c *Client) begin(ctx context.Context, id string, ch change) (ended bool, err error) {
	unlock, err := cloud.Lock(ctx, c.locks, id)
	if err != nil {
		return false, err
	}
	defer unlock()
	call := cloud.Write(openapi.ECS, ch.action, cloud.Params{"InstanceId": id}.Merge(ch.params))
	call.Idempotent = true
	var v verdict
	err = cloud.Retry(ctx, func(error) bool { return v == early }, func(ctx context.Context) error {
		_, err := c.caller.Do(ctx, call, nil)
		switch {
		case err == nil:
			v = begun
		case ch.final == gone && rpcerr.ReasonOf(err) == rpcerr.InstanceNotFound:
			v, err = done, nil
		case cloud.Busy(err), cloud.Unclear(err):
			v, err = c.judge(ctx, id, ch, err)
		default:
			v = refused
		}
		return err
	})
	return v == done, err
}

// judge looks how far a change has come that failed for now.
func (c *Client) judge(ctx context.Context, id string, ch change, failure error) (verdict, error) {
	status, err := c.status(ctx, id)
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
func (c *Client) await(ctx context.Context, id string, ch change) error {
	for pause := firstLook; ; pause = min(pause+firstLook, lastLook) {
		status, err := c.status(ctx, id)
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
func (c *Client) status(ctx context.Context, id string) (string, error) {
	c.statuses.Cache.Invalidate(id) // A read under way may have begun before the change.
	status, err := c.statuses.Get(ctx, id, 0)
	if rpcerr.ReasonOf(err) == rpcerr.InstanceNotFound {
		return gone, nil
	}
	return status, err
}

// forgetInstance drops what is remembered about an instance that was written to, and of one that was deleted also what is remembered
// about its interfaces, whichever they were.
func (c *Client) forgetInstance(id string, deleted bool) {
	c.instances.Cache.Invalidate(id)
	c.statuses.Cache.Invalidate(id)
	c.lists.Clear()
	if deleted {
		c.interfaces.Cache.Clear()
		c.addresses.Cache.Clear()
		c.interfaceLists.Clear()
	}
}
