package gateway

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
)

// VPC gives the VPC that the caller's configuration names, or else the gateway's own.
func (c *Client) VPC(ctx context.Context, configured string) (string, error) {
	if configured != "" {
		return configured, nil
	}
	answer, err := c.Capabilities.GetCapabilities(ctx, &commonv1.GetCapabilitiesRequest{})
	if err != nil {
		return "", fmt.Errorf("ask the gateway for its VPC: %w", err)
	}
	if answer.GetVpcId() == "" {
		return "", errors.New("the gateway does not know its VPC; set vpcID in the configuration")
	}
	return answer.GetVpcId(), nil
}

// Region gives the region that the caller's configuration names, or else the gateway's own.
func (c *Client) Region(ctx context.Context, configured string) (string, error) {
	return c.region(ctx, configured)
}

// regionRetry is the time between two questions that the gateway refused.
const regionRetry = 5 * time.Second

// AwaitRegion is Region for callers that can't begin without it: it waits for the gateway, reports each failure meanwhile, and returns an
// error only when ctx ends.
func (c *Client) AwaitRegion(ctx context.Context, configured string, report func(error)) (string, error) {
	for {
		region, err := c.region(ctx, configured, grpc.WaitForReady(true))
		if err == nil {
			return region, nil
		}
		if ctx.Err() == nil {
			report(err)
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(regionRetry):
		}
	}
}

func (c *Client) region(ctx context.Context, configured string, options ...grpc.CallOption) (string, error) {
	if configured != "" {
		return configured, nil
	}
	answer, err := c.Capabilities.GetCapabilities(ctx, &commonv1.GetCapabilitiesRequest{}, options...)
	if err != nil {
		return "", fmt.Errorf("ask the gateway for its region: %w", err)
	}
	if answer.GetRegionId() == "" {
		return "", errors.New("the gateway does not know its region; set region in the configuration")
	}
	return answer.GetRegionId(), nil
}
