package lb

import (
	"slices"
	"strings"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
	"alicloud-controllers.dev/lbcontroller/internal/lb/memory"
	"alicloud-controllers.dev/lbcontroller/internal/lb/plan"
)

// Drift says what happens when a CLB is no longer as its Service asks, though the Service says that it was: a user or another tool has
// changed it in the cloud. The zero value brings everything back. Servers always follow nodes and pods.
type Drift struct {
	// ReportInstance only reports changed attributes of the CLB, and ReportListeners changed listeners and their certificates.
	ReportInstance, ReportListeners bool
	// ReportStopped only reports listeners that a user or another tool stopped, also at a takeover.
	ReportStopped bool
}

// split leaves out of a plan what is only reported. A Service without the hash has something that isn't in place yet, or is to be compared
// because a user took the hash away.
func (d Drift) split(s subject, p plan.Plan) (rest plan.Plan, reported []plan.Action) {
	// The cache may not show the hash yet that is remembered to be written.
	written := s.state == memory.Known && s.entry.Hash != ""
	making := s.svc.Annotations[annotation.Making]
	stopped, inPlace := written || s.svc.Labels[LabelHash] != "" || making != "", s.configured() || written && s.entry.Hash == s.hash
	return p.Without(func(action plan.Action) bool {
		start, starts := action.(plan.StartListener)
		part, verb := action.About()
		switch {
		case starts && d.ReportStopped && stopped && !slices.Contains(strings.Split(making, ","), plan.KeyText(start.Key)):
			return true
		case part == plan.PartInstance && verb == plan.VerbChange:
			return d.ReportInstance && inPlace
		case part == plan.PartListener, part == plan.PartCertificate:
			return d.ReportListeners && inPlace
		}
		return false
	})
}

// noListener is the note of a change that makes no listener.
const noListener = "none"

// making is the note for a change that is about to begin. A Service on which nothing says that its listeners were ever in place needs none: all of
// them may be started.
func making(s subject, p plan.Plan) string {
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

// partOf names what an action is about, for the metric.
func partOf(action plan.Action) string {
	switch part, _ := action.About(); part {
	case plan.PartInstance:
		return "instance"
	case plan.PartGroup, plan.PartServers:
		return "servers"
	default:
		return "listeners"
	}
}
