package instance

import (
	"context"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/services/absence"
)

// Interfaces lists network interfaces, the second witness of ConfirmAbsent.
type Interfaces interface {
	ListNetworkInterfaces(context.Context, *ecsv1.ListNetworkInterfacesRequest) (*ecsv1.ListNetworkInterfacesResponse, error)
}

// confirmer is what ConfirmAbsent needs besides instances.
type confirmer struct {
	region     string
	interfaces Interfaces
}

// ConfirmAbsent finds out which instances are gone for good.
func (s *Service) ConfirmAbsent(ctx context.Context, r *ecsv1.ConfirmAbsentRequest) (*ecsv1.ConfirmAbsentResponse, error) {
	cloud := absence.Cloud{Region: s.confirmer.region, Instances: s.BatchGetInstances,
		Interfaces: s.confirmer.interfaces.ListNetworkInterfaces}
	return cloud.Confirm(ctx, r), nil
}
