package instance

import (
	"context"
	"fmt"

	"google.golang.org/grpc/codes"

	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

// statusesPerCall is how many statuses one answer can hold. One call may name more ids, but would need another page.
const statusesPerCall = 50

// fetchStatuses reads the statuses of at most statusesPerCall instances; one that does not exist is not in the answer.
func (s *Service) fetchStatuses(ctx context.Context, ids []string) (map[string]string, error) {
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
		if err := s.api.Read(ctx, "DescribeInstanceStatus", p, &answer); err != nil {
			return 0, 0, err
		}
		list := answer.InstanceStatuses.InstanceStatus
		for _, i := range list {
			found[i.InstanceID] = i.Status
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
