package ecs

import (
	"context"
	"fmt"

	"google.golang.org/grpc/codes"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/services/rpcerr"
)

// fetchStatuses reads the statuses of at most statusesPerCall instances; one that does not exist is not in the answer.
func (c *Client) fetchStatuses(ctx context.Context, ids []string) (map[string]string, error) {
	found := make(map[string]string, len(ids))
	err := cloud.Numbered(ctx, cloud.Params{}.List("InstanceId", ids), statusesPerCall, func(p cloud.Params) (int, int, error) {
		var answer struct {
			TotalCount       int
			InstanceStatuses struct {
				InstanceStatus []struct {
					InstanceID string `json:"InstanceId"`
					Status     string
				}
			}
		}
		if err := c.read(ctx, "DescribeInstanceStatus", p, &answer); err != nil {
			return 0, 0, err
		}
		list := answer.InstanceStatuses.InstanceStatus
		for _, s := range list {
			found[s.InstanceID] = s.Status
		}
		return len(list), answer.TotalCount, nil
	})
	return found, err
}

func noStatus(id string) error {
	return &rpcerr.Error{
		Code: codes.NotFound, Reason: rpcerr.InstanceNotFound, API: "ecs/DescribeInstanceStatus",
		Message: fmt.Sprintf("there is no instance %s in this region, or the gateway may not see it", id),
	}
}
