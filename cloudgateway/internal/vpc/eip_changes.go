package vpc

import (
	"context"
	"fmt"

	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
)

// The states of an EIP in which nothing is under way.
const (
	eipFree  = "Available"
	eipInUse = "InUse"
)

// AllocateEip buys an EIP and waits until the cloud shows it. The request id is the cloud's ClientToken, so it may be sent again.
func (c *Client) AllocateEip(ctx context.Context, r *vpcv1.AllocateEipRequest) (*vpcv1.Eip, error) {
	defer c.eipLists.Clear()
	params := cloud.Tags(cloud.Params{"ClientToken": r.GetRequestId()}, r.GetTags()).
		Int("Bandwidth", int(r.GetBandwidthMbps())).
		With("InternetChargeType", r.GetInternetChargeType()).
		With("InstanceChargeType", r.GetInstanceChargeType()).
		With("PricingCycle", r.GetPricingCycle()).
		Int("Period", int(r.GetPeriod())).
		With("ISP", r.GetIsp()).
		With("Name", r.GetName()).
		With("Description", r.GetDescription()).
		With("ResourceGroupId", r.GetResourceGroupId())
	if r.GetPeriod() > 0 {
		params["AutoPay"] = "true" // An order that nobody pays is no EIP.
	}
	var answer struct {
		AllocationID string `json:"AllocationId"`
	}
	if err := c.set(ctx, "AllocateEipAddress", params, &answer); err != nil {
		return nil, err
	}
	return change[*vpcv1.Eip]{
		name: "the allocation of " + answer.AllocationID,
		look: func(ctx context.Context) (*vpcv1.Eip, error) { return c.lookAtEip(ctx, answer.AllocationID) },
		judge: func(e *vpcv1.Eip) (verdict, error) {
			if e == nil {
				return waiting, nil
			}
			return done, nil
		},
	}.run(ctx)
}

// lookAtEip reads an EIP as it is after all that was sent; nil: there is none.
func (c *Client) lookAtEip(ctx context.Context, id string) (*vpcv1.Eip, error) {
	c.eips.Cache.Invalidate(id)
	return c.eips.Get(ctx, id, 0)
}

// UpdateEip changes the attributes that are present.
func (c *Client) UpdateEip(ctx context.Context, r *vpcv1.UpdateEipRequest) error {
	return c.changeEip(ctx, r.GetAllocationId(), func(ctx context.Context) error {
		if r.Name != nil || r.Description != nil || r.BandwidthMbps != nil {
			params := cloud.Params{"AllocationId": r.GetAllocationId()}.
				With("Name", r.GetName()).
				With("Description", r.GetDescription()).
				Int("Bandwidth", int(r.GetBandwidthMbps()))
			if err := c.set(ctx, "ModifyEipAddressAttribute", params, nil); err != nil {
				return err
			}
		}
		for _, call := range cloud.TagCalls(openapi.VPC, "EIP", r.GetAllocationId(), r.GetSetTags(), r.GetRemoveTagKeys()) {
			if err := cloud.Set(ctx, c.caller, call, nil); err != nil {
				return cloud.As(rpcerr.EipNotFound, err)
			}
		}
		return nil
	})
}

// changeEip runs a change of one EIP, alone, and forgets what was remembered about it.
func (c *Client) changeEip(ctx context.Context, id string, change func(ctx context.Context) error) error {
	unlock, err := cloud.Lock(ctx, c.locks, id)
	if err != nil {
		return err
	}
	defer unlock()
	defer c.eipLists.Clear()
	defer c.eips.Cache.Invalidate(id)
	return change(ctx)
}

// AssociateEip binds an EIP to an instance and waits until it is in use.
func (c *Client) AssociateEip(ctx context.Context, r *vpcv1.AssociateEipRequest) (eip *vpcv1.Eip, err error) {
	id := r.GetAllocationId()
	params := cloud.Params{"AllocationId": id, "InstanceId": r.GetInstanceId(), "InstanceType": r.GetInstanceType()}.
		With("PrivateIpAddress", r.GetPrivateIpAddress()).
		With("Mode", r.GetMode())
	err = c.changeEip(ctx, id, func(ctx context.Context) error {
		eip, err = change[*vpcv1.Eip]{
			name:  fmt.Sprintf("the association of %s with %s", id, r.GetInstanceId()),
			look:  func(ctx context.Context) (*vpcv1.Eip, error) { return c.lookAtEip(ctx, id) },
			judge: func(e *vpcv1.Eip) (verdict, error) { return judgeAssociation(r, e) },
			send:  func(ctx context.Context, _ *vpcv1.Eip) error { return c.write(ctx, "AssociateEipAddress", params) },
			// The instance has an EIP already: perhaps this one.
			doubtful: func(err error) bool { return rpcerr.ReasonOf(err) == rpcerr.ResourceInUse },
		}.run(ctx)
		return err
	})
	return eip, err
}

func judgeAssociation(r *vpcv1.AssociateEipRequest, e *vpcv1.Eip) (verdict, error) {
	ours := e.GetInstanceId() == r.GetInstanceId() &&
		(r.GetPrivateIpAddress() == "" || e.GetPrivateIpAddress() == r.GetPrivateIpAddress())
	switch {
	case e == nil:
		return failed, noEip(r.GetAllocationId())
	case e.GetStatus() == eipFree:
		return todo, nil
	case e.GetStatus() == eipInUse && ours:
		return done, nil
	case e.GetStatus() == eipInUse:
		return failed, inUse("AssociateEipAddress", "EIP %s is bound to %s", e.GetAllocationId(), boundTo(e))
	default:
		return waiting, nil
	}
}

func boundTo(e *vpcv1.Eip) string {
	text := e.GetInstanceType() + " " + e.GetInstanceId()
	if e.GetPrivateIpAddress() != "" {
		text += " at " + e.GetPrivateIpAddress()
	}
	return text
}

// UnassociateEip takes an EIP from its instance and waits until it is free. What it is bound to is read first: the cloud wants to
// be told the type, too, and a repetition must not take it from another instance that it was given to meanwhile.
func (c *Client) UnassociateEip(ctx context.Context, r *vpcv1.UnassociateEipRequest) error {
	id, from := r.GetAllocationId(), r.GetInstanceId()
	return c.changeEip(ctx, id, func(ctx context.Context) error {
		_, err := change[*vpcv1.Eip]{
			name: "the unassociation of " + id,
			look: func(ctx context.Context) (*vpcv1.Eip, error) { return c.lookAtEip(ctx, id) },
			judge: func(e *vpcv1.Eip) (verdict, error) {
				switch {
				case e == nil || e.GetStatus() == eipFree:
					return done, nil
				case e.GetStatus() != eipInUse:
					return waiting, nil
				}
				if from == "" {
					from = e.GetInstanceId()
				}
				if e.GetInstanceId() != from {
					return done, nil
				}
				return todo, nil
			},
			send: func(ctx context.Context, seen *vpcv1.Eip) error {
				return c.write(ctx, "UnassociateEipAddress", cloud.Params{"AllocationId": id}.
					With("InstanceId", seen.GetInstanceId()).
					With("InstanceType", seen.GetInstanceType()).
					With("PrivateIpAddress", seen.GetPrivateIpAddress()))
			},
			lookFirst: true,
		}.run(ctx)
		return err
	})
}

// ReleaseEip gives an EIP back and waits until it is gone.
func (c *Client) ReleaseEip(ctx context.Context, id string) error {
	return c.changeEip(ctx, id, func(ctx context.Context) error {
		_, err := change[*vpcv1.Eip]{
			name: "the release of " + id,
			look: func(ctx context.Context) (*vpcv1.Eip, error) { return c.lookAtEip(ctx, id) },
			judge: func(e *vpcv1.Eip) (verdict, error) {
				switch {
				case e == nil:
					return done, nil
				case e.GetStatus() == eipInUse:
					return failed, inUse("ReleaseEipAddress", "EIP %s is bound to %s; unassociate it first", id, boundTo(e))
				case e.GetStatus() == eipFree:
					return todo, nil
				default:
					return waiting, nil
				}
			},
			send: func(ctx context.Context, _ *vpcv1.Eip) error {
				err := c.write(ctx, "ReleaseEipAddress", cloud.Params{"AllocationId": id})
				return cloud.Unless(err, rpcerr.EipNotFound)
			},
		}.run(ctx)
		return err
	})
}
