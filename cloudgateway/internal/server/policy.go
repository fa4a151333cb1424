package server

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	"alicloud-controllers.dev/proto/method"

	"alicloud-controllers.dev/cloudgateway/internal/config"
	"alicloud-controllers.dev/cloudgateway/internal/rpc"
)

// Policies has one row per method: the virtual resource and verb that the caller must be allowed, and the priority of the calls
// to the cloud. The rows are what the protocol says of the methods. Those that only tools use are off, unless their service is
// enabled.
func Policies(api config.API) rpc.Policies {
	methods := method.All()
	rows := make(rpc.Policies, len(methods))
	for _, m := range methods {
		row := rpc.Policy{
			Resource: m.Options.GetResource(), Verb: m.Verb(), Priority: int(m.Options.GetPriority()), Timeout: m.Timeout(), Mutating: !m.Reads(),
		}
		if narrow := m.Options.GetNarrow(); narrow != nil {
			row.Narrow = rpc.Narrow{Resource: narrow.GetResource(), Fields: narrow.GetFields()}
		}
		if m.Options.GetToolOnly() && !slices.Contains(api.Enable, m.Service) {
			row.Off = fmt.Sprintf(
				"%s of %s is off, since no controller needs it; it is offered if api.enable of the gateway's configuration lists %s",
				m.Name, m.Service, m.Service)
		}
		rows[m.FullName()] = row
	}
	return rows
}

type capabilities struct {
	commonv1.UnimplementedCapabilitiesServiceServer

	cfg Config
}

func (s *capabilities) GetCapabilities(
	context.Context, *commonv1.GetCapabilitiesRequest,
) (*commonv1.GetCapabilitiesResponse, error) {
	return &commonv1.GetCapabilitiesResponse{
		Version: s.cfg.Version, Methods: methods(s.cfg.API), RegionId: s.cfg.Region, VpcId: s.cfg.VpcID,
	}, nil
}

// methods names every method that is offered, e.g. "slb.v1.ServerGroupService.ApplyServerChanges". Behaviour that is
// newer than its method gets a name of its own here.
func methods(api config.API) []string {
	var names []string
	for full, row := range Policies(api) {
		if row.Off == "" {
			names = append(names, strings.ReplaceAll(strings.TrimPrefix(full, "/cloudgateway."), "/", "."))
		}
	}
	slices.Sort(names)
	return names
}

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
