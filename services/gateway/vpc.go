package gateway

import (
	"context"
	"errors"
	"fmt"

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
