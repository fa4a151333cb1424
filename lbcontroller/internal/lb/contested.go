package lb

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
	"alicloud-controllers.dev/lbcontroller/internal/lb/reuse"
)

// lastChange is the longest time between two changes of the same things for a Service that asks for the same.
const lastChange = 4 * time.Hour

// contested refuses to change once more what was changed again and again though the Service has asked for the same all the time: somebody
// else changes it back, or what is asked for contradicts itself. It is nil for any other plan. A few such changes are none: a listener may
// wait for servers.
func contested(s pass, d decision) *reuse.Refusal {
	gist := changeOf(s, d.plan)
	wait := s.memory.changes.Wait(gist)
	if gist == "" || wait <= 0 || !s.memory.changes.IsOn() {
		return nil
	}
	return &reuse.Refusal{Again: wait, Text: fmt.Sprintf("load balancer %s was changed again and again, though the Service asks "+
		"for the same all the time: %s; somebody else changes it back, or the annotations contradict each other; find out who, "+
		"by the cloud's audit trail, and stop that, or change the annotations; it is tried again more and more seldom",
		d.there().InstanceID, summary(d.plan))}
}

// changeOf names what of the configuration a plan changes, for what the Service asks; empty if it changes servers only. A change and its
// reverse are the same.
func changeOf(s pass, p plan.Plan) string {
	if !p.ChangesConfig() {
		return ""
	}
	var things []string
	for action := range p.Actions() {
		if part, _ := action.About(); part != plan.PartServers {
			_, thing, _ := strings.Cut(plan.Name(action), " ")
			thing, _, _ = strings.Cut(thing, ": ")
			things = append(things, thing)
		}
	}
	slices.Sort(things)
	return s.hash + " " + strings.Join(slices.Compact(things), ", ")
}
