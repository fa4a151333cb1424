package server

import (
	"context"
	"slices"
	"strings"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"

	"alicloud-controllers.dev/cloudgateway/internal/config"
)

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

// methods names every method that is offered, e.g. "slb.v1.ServerGroupService.ApplyServerChanges". Behaviour that is newer than its method gets
// a name of its own here.
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
