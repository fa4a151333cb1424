package plan

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
)

// Part is the part of a load balancer that an action is about.
type Part int

// The parts.
const (
	// PartInstance is the load balancer itself.
	PartInstance Part = iota
	PartListener
	// PartCertificate is a further certificate of a listener.
	PartCertificate
	PartGroup
	// PartServers are the servers in a group.
	PartServers
	// PartAccess is the list of who may connect.
	PartAccess
	// PartBound is what stands by itself and is bound to the load balancer.
	PartBound
)

// Verb is what an action does to the part.
type Verb int

// The verbs.
const (
	VerbCreate Verb = iota
	VerbChange
	VerbStart
	VerbDelete
)

// Action is one call to the gateway. It is one of the types below, or one of a kind of load balancers.
type Action interface {
	fmt.Stringer
	// About says what the action does to which part. Policies, drift and the order of calls go by that.
	About() (Part, Verb)
	// Effect changes what is there as the successful call does.
	Effect(o *model.Observed, r Result)
}

// Result is what a call answers that can't be known before.
type Result struct {
	// Instance is the load balancer that was made.
	Instance model.LoadBalancer
	// CertificatesID is the answer of AddCertificates.
	CertificatesID string
	// GroupID is the answer of CreateGroup, and ListenerID of CreateListener where the cloud has ids for listeners.
	GroupID, ListenerID string
	// ListID is the answer of CreateList.
	ListID string
	// Bound is what was made to be bound.
	Bound *model.Bound
	// Held says that the cloud keeps what was to be deleted, as something else uses it. Of a server group only our
	// servers are taken out.
	Held bool
}

// DeleteInstance releases the instance with all that belongs to it.
type DeleteInstance struct{}

// CreateGroup creates a server group with its servers.
type CreateGroup struct{ Group model.Group }

// UpdateGroup changes the attributes of a group that are present in Changed.
type UpdateGroup struct {
	GroupID, Name string
	Changed       proto.Message
}

// ChangeServers changes the servers of a group.
type ChangeServers struct {
	GroupID, Name string
	// BuiltIn says that it is the group that every load balancer has.
	BuiltIn             bool
	Add, Remove, Update []model.Server
	// RemoveFirst makes room before adding, for a group that is full.
	RemoveFirst bool
}

// DeleteGroup deletes a group of ours. One that the cloud doesn't let go loses only our servers: a listener or a rule that isn't
// ours uses it.
type DeleteGroup struct {
	GroupID, Name string
	Servers       []model.Server
}

// GroupRef refers to a server group: by id, or by name if it is created by the same plan. The zero value refers to
// none.
type GroupRef struct{ ID, Name string }

// Resolve returns the id of the group.
func (r GroupRef) Resolve(o model.Observed) string {
	if r.ID != "" || r.Name == "" {
		return r.ID
	}
	for _, g := range slices.Backward(o.Groups) { // The plan may have made it beside one of another shape.
		if g.Name == r.Name {
			return g.ID
		}
	}
	return ""
}

// CreateListener creates and starts a listener.
type CreateListener struct {
	Listener model.Listener
	Group    GroupRef
}

// UpdateListener changes the attributes that are present in Changed, and the group unless Group is zero.
type UpdateListener struct {
	Key     model.ListenerKey
	Changed model.ListenerConfig
	Group   GroupRef
	// Guards says that Changed restricts who may connect, and nothing else.
	Guards bool
}

// StartListener lets a stopped listener accept connections.
type StartListener struct{ Key model.ListenerKey }

// AddCertificates gives a listener further certificates.
type AddCertificates struct {
	Key     model.ListenerKey
	Further model.FurtherCertificates
}

// ChangeCertificates puts others in place of further certificates of a listener.
type ChangeCertificates struct {
	Key     model.ListenerKey
	Further model.FurtherCertificates
}

// RemoveCertificates takes further certificates off a listener.
type RemoveCertificates struct {
	Key     model.ListenerKey
	Further model.FurtherCertificates
}

// DeleteListener deletes a listener.
type DeleteListener struct {
	Key model.ListenerKey
	// GroupID is its server group; empty for a redirect.
	GroupID string
	// Next are the listeners that take its place, if any do. Before it goes it is proved that they can be made, and if one can't all the same,
	// Old comes back.
	Next []CreateListener
	Old  model.Listener
}

// Back are the actions that make a listener again that has gone. It runs, as every listener of a Service does.
func (a DeleteListener) Back() []Action {
	old := model.Listener{Key: a.Old.Key, LeadsTo: a.Old.LeadsTo, Config: a.Old.Config, Tags: a.Old.Tags}
	list := []Action{CreateListener{Listener: old, Group: GroupRef{ID: a.GroupID}}}
	for _, e := range a.Old.Further {
		list = append(list, AddCertificates{Key: old.Key, Further: e})
	}
	return list
}

// About implements Action.
func (DeleteInstance) About() (Part, Verb) { return PartInstance, VerbDelete }

// About implements Action.
func (CreateGroup) About() (Part, Verb) { return PartGroup, VerbCreate }

// About implements Action.
func (UpdateGroup) About() (Part, Verb) { return PartGroup, VerbChange }

// About implements Action.
func (ChangeServers) About() (Part, Verb) { return PartServers, VerbChange }

// About implements Action.
func (DeleteGroup) About() (Part, Verb) { return PartGroup, VerbDelete }

// About implements Action.
func (CreateListener) About() (Part, Verb) { return PartListener, VerbCreate }

// About implements Action.
func (UpdateListener) About() (Part, Verb) { return PartListener, VerbChange }

// About implements Action.
func (StartListener) About() (Part, Verb) { return PartListener, VerbStart }

// About implements Action.
func (DeleteListener) About() (Part, Verb) { return PartListener, VerbDelete }

// About implements Action.
func (AddCertificates) About() (Part, Verb) { return PartCertificate, VerbCreate }

// About implements Action.
func (ChangeCertificates) About() (Part, Verb) { return PartCertificate, VerbChange }

// About implements Action.
func (RemoveCertificates) About() (Part, Verb) { return PartCertificate, VerbDelete }

// GroupOf is the id of the server group that an action is about, empty for one that it makes; it is false for any other action.
func GroupOf(a Action) (id string, isOfGroup bool) {
	switch a := a.(type) {
	case CreateGroup:
		return "", true
	case ChangeServers:
		return a.GroupID, a.GroupID != ""
	case UpdateGroup:
		return a.GroupID, true
	case DeleteGroup:
		return a.GroupID, true
	default:
		return "", false
	}
}

// UsesGroups reports whether a plan may concern other server groups than those that it deletes.
func (p Plan) UsesGroups() bool {
	for action := range p.Actions() {
		if usesGroups(action) {
			return true
		}
	}
	return false
}

// usesGroups reports whether an action makes or changes a server group, or what a listener forwards to, or ends a listener in whose place
// another comes.
func usesGroups(a Action) bool {
	part, verb := a.About()
	switch a := a.(type) {
	case UpdateListener:
		return a.Group != (GroupRef{})
	case DeleteListener:
		return len(a.Next) > 0
	case DeleteGroup:
		return false
	}
	switch part {
	case PartListener:
		return verb != VerbStart
	case PartInstance:
		return verb != VerbChange
	default:
		return part == PartGroup || part == PartServers
	}
}

// DeletedGroups are the ids of the server groups that a plan deletes.
func (p Plan) DeletedGroups() (ids []string) {
	for action := range p.Actions() {
		if gone, ok := action.(DeleteGroup); ok {
			ids = append(ids, gone.GroupID)
		}
	}
	return ids
}

// Is reports whether an action does that to that part.
func Is(a Action, part Part, verb Verb) bool {
	p, v := a.About()
	return p == part && v == verb
}

func (DeleteInstance) String() string { return "delete load balancer" }

func (a CreateGroup) String() string {
	return fmt.Sprintf("%s with %d servers", Name(a), len(a.Group.Servers))
}

func (a ChangeServers) String() string {
	return fmt.Sprintf("%s: add %d, remove %d, update %d", Name(a), len(a.Add), len(a.Remove), len(a.Update))
}

// Name is an action as people write it, without the number of its servers.
func Name(a Action) string {
	switch a := a.(type) {
	case CreateGroup:
		return "create server group " + a.Group.Name
	case ChangeServers:
		return "change servers of " + a.Name
	}
	return a.String()
}

func (a UpdateGroup) String() string {
	return "change server group " + a.Name + ": " + strings.Join(fieldNames(a.Changed), ", ")
}

func (a DeleteGroup) String() string    { return "delete server group " + a.Name }
func (a CreateListener) String() string { return "create listener " + KeyText(a.Listener.Key) }
func (a StartListener) String() string  { return "start listener " + KeyText(a.Key) }
func (a DeleteListener) String() string { return "delete listener " + KeyText(a.Key) }

func (a AddCertificates) String() string {
	return fmt.Sprintf("give listener %s certificate %s for %s", KeyText(a.Key), strings.Join(a.Further.Certificates, ","), a.Further.For())
}

func (a ChangeCertificates) String() string {
	return fmt.Sprintf("change the certificate of listener %s for %s to %s", KeyText(a.Key), a.Further.For(),
		strings.Join(a.Further.Certificates, ","))
}

func (a RemoveCertificates) String() string {
	return fmt.Sprintf("take the certificate for %s off listener %s", a.Further.For(), KeyText(a.Key))
}

func (a UpdateListener) String() string {
	names := fieldNames(a.Changed)
	if a.Group != (GroupRef{}) {
		names = append(names, "server group")
	}
	return fmt.Sprintf("change listener %s: %s", KeyText(a.Key), strings.Join(names, ", "))
}

// KeyText is a listener as people write it, such as 80/tcp or 8000-8100/udp.
func KeyText(k model.ListenerKey) string {
	if k.End != 0 {
		return fmt.Sprintf("%d-%d/%s", k.Port, k.End, k.Protocol)
	}
	return fmt.Sprintf("%d/%s", k.Port, k.Protocol)
}

// Servers are those that an action puts into a group or changes there.
func Servers(a Action) []model.Server {
	switch a := a.(type) {
	case CreateGroup:
		return a.Group.Servers
	case ChangeServers:
		return slices.Concat(a.Add, a.Update)
	}
	return nil
}

// Phase is a set of actions that don't depend on each other.
type Phase []Action

// Plan is what to do, phase after phase, and what is refused.
type Plan struct {
	Phases []Phase
	// Refused says, as text for users, what is asked for but will not be done.
	Refused []string
	// Kept are the listeners that keep their servers, of which Refused says why.
	Kept []Kept
	// Waits says that a listener keeps its servers until the network interfaces of pods are known.
	Waits bool
}

// Empty reports whether there is nothing to do.
func (p Plan) Empty() bool { return len(p.Phases) == 0 }

// has reports whether an action of the plan fits.
func (p Plan) has(fits func(Action) bool) bool {
	for a := range p.Actions() {
		if fits(a) {
			return true
		}
	}
	return false
}

// ChangesConfig reports whether anything but the servers of a group changes.
func (p Plan) ChangesConfig() bool {
	return p.has(func(a Action) bool { part, _ := a.About(); return part != PartServers })
}

// FillsBuiltIn reports whether servers of the group that every load balancer has change.
func (p Plan) FillsBuiltIn() bool {
	return p.has(func(a Action) bool {
		change, ok := a.(ChangeServers)
		return ok && change.BuiltIn
	})
}

// Deletes reports whether listeners or server groups are deleted, with whatever others may have put into them.
func (p Plan) Deletes() bool {
	return p.has(func(a Action) bool { part, verb := a.About(); return verb == VerbDelete && part != PartInstance })
}

// CreatesInstance reports whether the load balancer is made.
func (p Plan) CreatesInstance() bool {
	return p.has(func(a Action) bool { return Is(a, PartInstance, VerbCreate) })
}

// RemoveFirst makes room before adding, for groups and access lists that the cloud has called full.
func (p Plan) RemoveFirst() {
	for _, phase := range p.Phases {
		for i, a := range phase {
			if change, ok := a.(ChangeServers); ok && len(change.Add) > 0 && len(change.Remove) > 0 {
				change.RemoveFirst = true
				phase[i] = change
			}
			if list, ok := a.(ChangeList); ok {
				list.RemoveFirst = true
				phase[i] = list
			}
		}
	}
}

// Begin leaves all but the first servers of each new group to a later plan, if the plan makes the load balancer: they
// suffice to serve, and its address need not wait for the rest, which may take many calls. Servers that take no traffic
// come last. It reports whether anything is left.
func (p Plan) Begin(first int) bool {
	if !p.CreatesInstance() {
		return false
	}
	left := false
	for _, phase := range p.Phases {
		for i, a := range phase {
			create, ok := a.(CreateGroup)
			if !ok || len(create.Group.Servers) <= first {
				continue
			}
			create.Group.Servers = foremost(create.Group.Servers, first)
			phase[i], left = create, true
		}
	}
	return left
}

// foremost returns the first n servers that take traffic, and others if there are too few, in order.
func foremost(servers []model.Server, n int) []model.Server {
	picked := make([]model.Server, 0, n)
	for _, serving := range []bool{true, false} {
		for i := range servers {
			if len(picked) == n {
				break
			}
			if servers[i].Weight > 0 == serving {
				picked = append(picked, servers[i])
			}
		}
	}
	slices.SortFunc(picked, model.Server.Compare)
	return picked
}

// String lists the actions, one per line.
func (p Plan) String() string {
	var s strings.Builder
	for i, phase := range p.Phases {
		for _, a := range phase {
			fmt.Fprintf(&s, "%d. %s\n", i+1, a)
		}
	}
	for _, r := range p.Refused {
		fmt.Fprintf(&s, "refused: %s\n", r)
	}
	return s.String()
}

// add appends a phase unless it is empty.
func (p *Plan) add(phase Phase) {
	if len(phase) > 0 {
		p.Phases = append(p.Phases, phase)
	}
}

func (p *Plan) refuse(format string, args ...any) {
	p.Refused = append(p.Refused, fmt.Sprintf(format, args...))
}
