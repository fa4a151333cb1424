package nodestate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/services/nodes"
)

// Further reasons of the condition MaintenancePlanned; see nodes.ReasonEventImminent. One with another reason is somebody else's.
const (
	ReasonEventScheduled = "SystemEventScheduled"
	reasonNoEvent        = "NoSystemEvent"
	messageNoEvent       = "The cloud plans nothing for the instance"
)

// lockRecycling is the lock of a spot instance that is released within minutes.
const lockRecycling = "Recycling"

// What an event is besides Scheduled.
const (
	eventExecuting = "Executing"
	eventInquiring = "Inquiring"
)

// shownEvents bounds the events in a message.
const shownEvents = 3

// Plan is what the cloud is about to do to an instance.
type Plan struct {
	// Events are those that are not over.
	Events []*ecsv1.InstanceEvent
	// Reclaimed is set if it is a spot instance that is released within minutes.
	Reclaimed bool
}

// Reclaimed reports whether an instance is a spot instance that is released within minutes.
func Reclaimed(instance *ecsv1.Instance) bool {
	return slices.ContainsFunc(instance.GetLockReasons(), func(why string) bool { return strings.EqualFold(why, lockRecycling) })
}

// IsSpot reports whether the instance of a node is a spot instance, by the label that the node has of it.
func IsSpot(node *corev1.Node) bool {
	strategy := node.Labels[labelSpotStrategy]
	return strategy != "" && strategy != "NoSpot"
}

// Announce is the change that says on a node what the cloud is about to do to its instance. What interrupts it within
// lead is imminent.
func Announce(node *corev1.Node, plan Plan, now time.Time, lead time.Duration) Change {
	there, exists := nodes.Condition(node, nodes.ConditionMaintenancePlanned)
	announced := exists && there.Status == corev1.ConditionTrue
	if announced && !announcedByUs(there) {
		return Change{}
	}
	wanted := corev1.NodeCondition{Type: nodes.ConditionMaintenancePlanned, Status: corev1.ConditionTrue}
	switch message, imminent := plan.describe(now, lead); {
	case message == "" && !announced:
		return Change{}
	case message == "":
		wanted.Status, wanted.Reason, wanted.Message = corev1.ConditionFalse, reasonNoEvent, messageNoEvent
	case imminent:
		wanted.Reason, wanted.Message = nodes.ReasonEventImminent, message
	default:
		wanted.Reason, wanted.Message = ReasonEventScheduled, message
	}
	if there.Status == wanted.Status {
		if there.Reason == wanted.Reason && there.Message == wanted.Message {
			return Change{}
		}
		wanted.LastTransitionTime = there.LastTransitionTime
	}
	return Change{Condition: &wanted}
}

func announcedByUs(condition corev1.NodeCondition) bool {
	return condition.Reason == ReasonEventScheduled || condition.Reason == nodes.ReasonEventImminent
}

// Announced gives the reason of the condition by which the controller says that something is planned for a node's instance, "" if it
// says nothing.
func Announced(node *corev1.Node) string {
	there, _ := nodes.Condition(node, nodes.ConditionMaintenancePlanned)
	if there.Status != corev1.ConditionTrue || !announcedByUs(there) {
		return ""
	}
	return there.Reason
}

// describe says what is planned, "" for nothing, the most urgent first, and whether any of it is imminent.
func (p Plan) describe(now time.Time, lead time.Duration) (text string, imminent bool) {
	var parts []string
	if p.Reclaimed {
		parts, imminent = append(parts, "the spot instance is released within minutes"), true
	}
	events := slices.SortedFunc(slices.Values(p.Events), func(a, b *ecsv1.InstanceEvent) int {
		return cmp.Or(begin(a).Compare(begin(b)), strings.Compare(a.GetEventId(), b.GetEventId()))
	})
	for _, e := range events {
		imminent = imminent || interruptsWithin(e, now, lead)
		part := fmt.Sprintf("%s (%s), %s", e.GetEventType(), e.GetEventId(), when(e))
		if e.GetReason() != "" {
			part += ": " + e.GetReason()
		}
		parts = append(parts, part)
	}
	if more := len(parts) - shownEvents; more > 0 {
		parts = append(parts[:shownEvents], fmt.Sprintf("%d more", more))
	}
	return strings.Join(parts, "; "), imminent
}

// begin is when an event begins at the earliest, the zero time for one that has begun.
func begin(e *ecsv1.InstanceEvent) time.Time {
	switch {
	case e.GetStatus() == eventExecuting:
		return time.Time{}
	case e.GetNotBeforeTime() == nil:
		return time.Unix(1<<40, 0) // Nobody knows.
	default:
		return e.GetNotBeforeTime().AsTime()
	}
}

func when(e *ecsv1.InstanceEvent) string {
	switch {
	case e.GetStatus() == eventExecuting:
		return "under way"
	case e.GetStatus() == eventInquiring:
		return "waits for your consent"
	case e.GetNotBeforeTime() == nil:
		return "at a time that is not known"
	default:
		return "not before " + e.GetNotBeforeTime().AsTime().UTC().Format(time.RFC3339)
	}
}

// interruptsWithin reports whether an event interrupts the instance within a time, or does so now. One that waits for a consent does not.
func interruptsWithin(e *ecsv1.InstanceEvent, now time.Time, lead time.Duration) bool {
	_, what, _ := strings.Cut(e.GetEventType(), ".")
	interrupts := slices.ContainsFunc([]string{"Reboot", "Redeploy", "Stop", "Delete"}, func(verb string) bool {
		return strings.HasPrefix(what, verb)
	})
	return interrupts && e.GetStatus() != eventInquiring && !begin(e).After(now.Add(lead))
}
