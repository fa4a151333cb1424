package plan

import (
	"google.golang.org/protobuf/proto"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
)

// Differ compares what only a kind of load balancers understands: the attributes of the load balancer and of its listeners. It is pure and
// total. Which listeners and server groups there are to be is decided here, for every kind.
type Differ interface {
	// Create returns the action that makes the wanted load balancer.
	Create(d *model.Desired) Action
	// Update returns the actions that change a present load balancer, its tags among it, in the order of their calls. Only what the user
	// asked for is compared. What can't be changed is refused, as text for users, and the rest goes on. Attributes that restrict who may
	// connect, or let others connect, have actions of their own, which say so by Closes and Opens.
	Update(d *model.Desired, o model.Observed) (changes []Action, refused []string)
	// Tagged returns a change of the load balancer that sets a tag, too; change is nil if nothing else changes.
	Tagged(change Action, tag *commonv1.Tag) Action
	// Opener says, as text for users, why a present load balancer is not to be public, though it is and stays so; empty if
	// there is nothing to say.
	Opener(d *model.Desired, o model.Observed) (why string)
	// Guard returns what is wanted with the access list in it, which is o.List, or without one that is to go. If who may connect can't be
	// restricted, it says why, as text for users: nothing is opened then.
	Guard(d *model.Desired, o model.Observed) (guarded *model.Desired, refused string)
	// Unprotect returns the action that lifts what keeps a load balancer from being deleted, or nil if nothing does. One that is to be
	// preserved loses the marks of ownership instead.
	Unprotect(o model.Observed, preserve bool) Action
	model.ListUser
	// Changed returns the attributes of a listener that are wanted and differ, those apart that restrict who may connect:
	// one that the cloud refuses among the others must not hold them back. Either is nil if there are none. What is not
	// wanted keeps its value. What can't be changed is refused, as text for users, and left out.
	Changed(want, have model.ListenerConfig) (guard, others model.ListenerConfig, refused string)
	// ChangedGroup is Changed for the attributes of a server group. Only groups that have some are compared.
	ChangedGroup(want, have proto.Message) (changed proto.Message, refused string)
}
