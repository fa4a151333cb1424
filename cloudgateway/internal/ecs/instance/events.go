package instance

import (
	"context"
	"strings"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/ecs"
)

// events lists system events.
func events() cloud.Listing[*ecsv1.InstanceEvent] {
	return cloud.Listing[*ecsv1.InstanceEvent]{
		Action: "DescribeInstanceHistoryEvents", Items: "InstanceSystemEventSet.InstanceSystemEventType", Decode: decodeEvent,
		ID: (*ecsv1.InstanceEvent).GetEventId, MaxResults: ecs.ItemsPerCall,
	}
}

// unfinished are the statuses of events that are not over. Without them, the cloud lists those that are.
func unfinished() []string { return []string{"Scheduled", "Executing", "Inquiring"} }

// ListInstanceEvents lists the system events that are not over.
func (s *Service) ListInstanceEvents(
	ctx context.Context, r *ecsv1.ListInstanceEventsRequest,
) (*ecsv1.ListInstanceEventsResponse, error) {
	ids := cloud.Sorted(r.GetInstanceIds())
	found, err := s.events.Do(ctx, strings.Join(ids, " "), r.GetMaxAge().AsDuration(),
		func(ctx context.Context) ([]*ecsv1.InstanceEvent, error) {
			all, err := cloud.InChunks(ids, ecs.ItemsPerCall, func(some []string) ([]*ecsv1.InstanceEvent, error) {
				return events().All(ctx, s.api, cloud.Params{}.List("InstanceEventCycleStatus", unfinished()).List("ResourceId", some))
			})
			return cloud.Distinct(all, (*ecsv1.InstanceEvent).GetEventId), err
		})
	return cloud.Answer(&ecsv1.ListInstanceEventsResponse{Events: found}, err)
}

// decodeEvent reads one system event.
func decodeEvent(item []byte) (*ecsv1.InstanceEvent, error) {
	e := &ecsv1.InstanceEvent{}
	err := cloud.Decode(item, cloud.Fields{
		"EventId":          &e.EventId,
		"InstanceId":       &e.InstanceId,
		"EventType":        cloud.Fields{"Name": &e.EventType},
		"EventCycleStatus": cloud.Fields{"Name": &e.Status},
		"NotBefore":        cloud.Via(&e.NotBeforeTime, cloud.Time),
		"EventPublishTime": cloud.Via(&e.PublishTime, cloud.Time),
		"Reason":           &e.Reason,
	})
	return e, err
}
