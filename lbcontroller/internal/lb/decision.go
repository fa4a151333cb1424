package lb

import (
	"fmt"
	"slices"
	"strings"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb/knowledge"
	"alicloud-controllers.dev/lbcontroller/internal/lb/model"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
	"alicloud-controllers.dev/lbcontroller/internal/lb/reuse"
)

// decision is what to do about a Service, and what it is based on.
type decision struct {
	known knowledge.Known
	plan  plan.Plan
	// reported is what others have changed and is left so, and withheld what the policy doesn't allow.
	reported, withheld []plan.Action
	// entry is what was remembered of the load balancer and still holds.
	entry knowledge.Entry
	// read reports that the cloud was read completely for this.
	read bool
	// begun reports that servers are left for the next pass, and unfinished that certificates are.
	begun, unfinished bool
}

// complete reports that the Service has all it asks for, once the plan is carried out.
func (d decision) complete() bool {
	return len(d.plan.Refused)+len(d.withheld) == 0 && !d.unfinished && !d.plan.Waits
}

// refusal is why the Service can't have what it asks for; nil if it can.
func (d decision) refusal() *reuse.Refusal {
	refused, _ := d.known.(knowledge.Refused)
	return refused.Refusal
}

// own is the load balancer that the Service gives up for the one that it names.
func (d decision) own() model.Observed {
	all, _ := d.known.(knowledge.All)
	return all.Own
}

// there is what there is.
func (d decision) there() model.Observed { return knowledge.There(d.known) }

// recall is what is known without a call.
func recall(s pass) knowledge.Known {
	reused := s.view.Reused()
	switch known := s.entry.Known.(type) {
	case knowledge.Refused:
		if known.For == s.said() {
			return known
		}
	case knowledge.Servers, knowledge.All: // What is remembered may be the load balancer that the Service had before.
		if there := knowledge.There(known); there.Reused == (reused != "") && (reused == "" || there.InstanceID == reused) {
			return known
		}
	case knowledge.Absent:
		if known.Certain && reused == "" {
			return knowledge.Of(model.Nothing())
		}
		return knowledge.Nothing{}
	case knowledge.Trusted: // Something has changed since.
		return knowledge.Nothing{}
	}
	if s.fresh && reused == "" {
		nothing := model.Nothing()
		nothing.ListsKnown = true
		return knowledge.Of(nothing)
	}
	return knowledge.Nothing{}
}

// decide decides, if what is known is enough for that; what was just read is. What was only remembered is not enough to
// delete anything: others may have come to use it. Nor is it to refuse anything: what stands in the way may be gone. On
// a user's load balancer anything may have been made.
func decide(s pass, known knowledge.Known, read bool) (d decision, enough bool) {
	d = decision{known: known, entry: s.entry, read: read}
	want := s.want.Desired
	var have knowledge.All
	switch known := known.(type) {
	case knowledge.Refused:
		return d, true
	case knowledge.Servers:
		// After a restart the hash says that the configuration is in place; only the servers have to be compared.
		d.plan, enough = plan.DiffServers(want, known.Observed) // A policy that allows no change of servers reads all.
		return d, enough && s.configured()
	case knowledge.All:
		have = known
	default:
		return d, false
	}
	moving := have.Own.InstanceID != "" || len(s.claims().Without(want.Reuse.ID)) > 0
	d.plan, d.reported = s.drift.split(s, plan.Diff(s.product, want, have.Observed))
	if moving {
		d.plan.KeepLists()
	}
	d.plan, d.withheld = d.plan.Without(func(action plan.Action) bool { return !s.policy.Allows(action) })
	if refusal := s.policy.keeps(s, have.Own); refusal != nil {
		d.known = knowledge.Refused{Refusal: refusal}
		return d, true
	}
	if !read {
		seen := len(d.plan.Refused) == 0 || have.ComparedFor == s.hash
		return d, seen && plan.Knows(want, have.Observed) && !d.plan.Deletes() && (want.Reuse.ID == "" || !d.plan.ChangesConfig())
	}
	have.ComparedFor = s.hash
	d.known, d.entry = have, knowledge.Renew(s.entry) // What was read just now counts as verified.
	if moving {
		if refusal := mayMove(want, have, d.plan); refusal != nil {
			d.known = knowledge.Refused{Refusal: refusal}
		}
	}
	return d, true
}

// mayMove refuses to take a Service from one load balancer to another where not all of it can go, or where no server would take its
// traffic though some do now. It moves as a whole or not at all: what it has now serves on.
func mayMove(want *model.Desired, have knowledge.All, p plan.Plan) *reuse.Refusal {
	idle, isPending := plan.Idle(want, have.Observed)
	serves := slices.ContainsFunc(have.Own.Groups, func(g model.Group) bool { return plan.TakesTraffic(g.Servers) })
	switch {
	case want.Reuse.ID != "" && len(p.Refused) > 0:
		return &reuse.Refusal{Text: strings.Join(p.Refused, "; ")}
	case len(idle) == 0 || !serves:
		return nil
	case isPending:
		return &reuse.Refusal{Text: "the Service doesn't move before the network interfaces of its pods are known: " + strings.Join(idle, ", "),
			Again: firstRetry}
	}
	return &reuse.Refusal{Text: fmt.Sprintf("the Service doesn't move, as no server would take the traffic of %s; look whether pods and "+
		"nodes are ready, and whether pods have addresses of the VPC", strings.Join(idle, ", ")), Again: reuse.RetryMissing}
}

// mayCreate refuses a load balancer to a Service that had one which is gone, and a public one where the cluster doesn't
// allow these.
func mayCreate(s pass, d decision) *reuse.Refusal {
	if d.there().InstanceID != "" {
		return nil
	}
	if refusal := reuse.Gone(s.facts(), d.there().Gone); refusal != nil {
		return refusal
	}
	if why := s.want.Desired.Instance.Forbidden; why != "" {
		return &reuse.Refusal{Text: why}
	}
	if d := s.want.Desired; len(d.Listeners) == 0 && len(d.Refused) > 0 {
		return &reuse.Refusal{Text: strings.Join(d.Refused, "; ")}
	}
	canBeMade := func(l model.Listener) bool { return l.Waits == "" }
	if len(s.want.Lacking) > 0 && !slices.ContainsFunc(s.want.Desired.Listeners, canBeMade) {
		return &reuse.Refusal{Text: strings.Join(s.want.Lacking, "; ")}
	}
	return nil
}

// keeps refuses to give up what a Service has elsewhere, unless the policy allows it. A Service moves as a whole or not at all.
func (p Policy) keeps(s pass, own model.Observed) *reuse.Refusal {
	if p.Allows(plan.DeleteInstance{}) {
		return nil
	}
	var left []string
	if own.InstanceID != "" {
		left = append(left, own.InstanceID)
	}
	for _, claim := range s.claims().Without(s.want.Desired.Reuse.ID) {
		left = append(left, claim.LoadBalancer)
	}
	if len(left) == 0 {
		return nil
	}
	return &reuse.Refusal{Text: fmt.Sprintf("policy %s: the Service doesn't move, because it would give up "+
		"what it has on load balancer %s; %s",
		p, strings.Join(left, ", "), remedy)}
}

// remedy says how to have done what a policy holds back.
const remedy = "to have it done, set annotation " + annotation.Prefix + annotation.SyncPolicy +
	": sync on the Service, or policy: sync in the configuration"

// withheld says that a policy holds changes back.
func (p Policy) withheld(id string, actions []plan.Action) error {
	if id != "" {
		id = " on load balancer " + id
	}
	return fmt.Errorf("policy %s: not done%s: %s; %s", p, id, summary(plan.Plan{Phases: []plan.Phase{actions}}), remedy)
}

// split leaves out of a plan what is only reported. A Service without the hash has something that isn't in place yet, or is to be compared
// because a user took the hash away.
func (d Drift) split(s pass, p plan.Plan) (rest plan.Plan, reported []plan.Action) {
	noted := s.entry.Noted // The cache may not show the hash yet that is remembered to be written.
	making := s.svc.Annotations[annotation.Making]
	stopped := noted != "" || s.svc.Labels[LabelHash] != "" || making != ""
	inPlace := s.configured() || noted != "" && noted == s.hash
	return p.Without(func(action plan.Action) bool {
		start, starts := action.(plan.StartListener)
		part, verb := action.About()
		switch {
		case starts && d.ReportStopped && stopped && !slices.Contains(strings.Split(making, ","), plan.KeyText(start.Key)):
			return true
		case part == plan.PartInstance && verb == plan.VerbChange, part == plan.PartBound:
			return d.ReportInstance && inPlace
		case part == plan.PartListener, part == plan.PartCertificate, part == plan.PartAccess:
			return d.ReportListeners && inPlace
		}
		return false
	})
}

// noListener is the note of a change that makes no listener.
const noListener = "none"

// making is the note for a change that is about to begin. A Service on which nothing says that its listeners were ever
// in place needs none: all of them may be started.
func making(s pass, p plan.Plan) string {
	before := s.svc.Annotations[annotation.Making]
	if before == "" && s.svc.Labels[LabelHash] == "" {
		return ""
	}
	keys := strings.Split(before, ",")
	for action := range p.Actions() {
		if create, ok := action.(plan.CreateListener); ok {
			keys = append(keys, plan.KeyText(create.Listener.Key))
		}
	}
	slices.Sort(keys)
	keys = slices.DeleteFunc(slices.Compact(keys), func(key string) bool { return key == "" || key == noListener })
	if len(keys) == 0 {
		return noListener
	}
	return strings.Join(keys, ",")
}
