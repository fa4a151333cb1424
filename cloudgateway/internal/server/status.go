package server

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
)

type statusService struct {
	commonv1.UnimplementedStatusServiceServer

	cfg Config
}

func (s *statusService) GetStatus(context.Context, *commonv1.GetStatusRequest) (*commonv1.GetStatusResponse, error) {
	standing, _ := s.cfg.Standing() // What was seen stays true, also if the Lease can't be read at present.
	answer := &commonv1.GetStatusResponse{
		AsOf: timestamppb.Now(), Version: s.cfg.Version, RegionId: s.cfg.Region, Active: standing.Leads, Leader: standing.Leader,
		Actions: s.cfg.Budget.Actions(), Callers: s.cfg.Budget.Callers(),
	}
	if !standing.Since.IsZero() {
		answer.LeaderSince = timestamppb.New(standing.Since)
	}
	return answer, nil
}
