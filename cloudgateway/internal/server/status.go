package server

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"

	"alicloud-controllers.dev/cloudgateway/internal/flow"
)

type statusService struct {
	commonv1.UnimplementedStatusServiceServer

	cfg Config
}

func (s *statusService) GetStatus(context.Context, *commonv1.GetStatusRequest) (*commonv1.GetStatusResponse, error) {
	standing, _ := s.cfg.Standing() // What was seen stays true, also if the Lease can't be read at present.
	answer := &commonv1.GetStatusResponse{
		AsOf: timestamppb.Now(), Version: s.cfg.Version, RegionId: s.cfg.Region,
		Active: standing.Leads, Leader: standing.Leader, LeaderSince: timestamp(standing.Since),
	}
	for _, a := range s.cfg.Budget.Actions() {
		answer.Actions = append(answer.Actions, actionStatus(a))
	}
	for _, c := range s.cfg.Budget.Callers() {
		answer.Callers = append(answer.Callers, &commonv1.CallerStatus{
			Caller: c.Name, Priority: priorityOf(c.Priority), Sent: c.Sent, Refused: c.Refused, GaveUp: c.GaveUp,
		})
	}
	return answer, nil
}

func actionStatus(a flow.ActionStatus) *commonv1.ActionStatus {
	status := &commonv1.ActionStatus{
		Product: a.Product, Action: a.Action, Window: durationpb.New(a.Window),
		Limit: int32(a.Limit), Share: int32(a.Share), Allowance: int32(a.Allowance), Learned: a.Learned,
		Sent: int32(a.Sent), Throttled: a.Throttled, PausedUntil: timestamp(a.PausedUntil),
	}
	for _, c := range a.SentBy {
		status.SentByCaller = append(status.SentByCaller, &commonv1.CallerCalls{Caller: c.Caller, Calls: int32(c.Calls)})
	}
	for _, w := range a.Waiting {
		status.Waiting = append(status.Waiting, &commonv1.WaitingCalls{
			Caller: w.Name, Priority: priorityOf(w.Priority), Calls: int32(w.Calls), Longest: durationpb.New(w.Longest),
		})
	}
	return status
}

// priorityOf has the names of the protocol, which are the same as those of the budget.
func priorityOf(p flow.Priority) commonv1.Priority {
	switch p {
	case flow.Backend:
		return commonv1.Priority_PRIORITY_BACKEND
	case flow.Change:
		return commonv1.Priority_PRIORITY_USER
	case flow.Deletion:
		return commonv1.Priority_PRIORITY_DELETION
	case flow.Background:
	}
	return commonv1.Priority_PRIORITY_BACKGROUND
}

func timestamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}
