package controller

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// service is all that the controller remembers of one Service. It is made when the Service is first seen, and dropped with it.
type service struct {
	mu sync.Mutex
	// fought are the parts of what it shows, as they were written last.
	fought [parts]Fight
	// conditions are those that were written last.
	conditions written
	// state is how the Service stands, as it is counted.
	state string
	// due is when the last pass for its endpoints began, or the next one will, and since when the first change came that
	// no pass has dealt with.
	due, since time.Time
	// own are versions that the controller has written last, and lost the state before another client took something off.
	own  []string
	lost replaced
	// changed reports that a user has changed the Service since a pass over it began.
	changed bool
	// filled are its servers in server groups of users; nil for a Service that names none, or of which that isn't known.
	filled *Filled
}

// fill notes which servers the Service has in server groups of users, and reports whether they are others than before.
func (s *service) fill(now *Filled) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now == nil || s.filled != nil && s.filled.Count == now.Count && slices.Equal(s.filled.Servers, now.Servers) {
		return false
	}
	s.filled = now
	return true
}

// fills gives what fill has noted.
func (s *service) fills() *Filled {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.filled
}

// setChanged notes that a user has changed the Service.
func (s *service) setChanged() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.changed = true
}

// takeChanged reports whether a user has changed the Service, and forgets that.
func (s *service) takeChanged() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := s.changed
	s.changed = false
	return changed
}

// forgetShown forgets what was written on the Service.
func (s *service) forgetShown() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fought, s.conditions = [parts]Fight{}, written{}
}

// lastRestore is the longest time between two writes of the same to a Service.
const lastRestore = 5 * time.Minute

// part is a part of what a Service shows. Each is written again after a pause, if it is what was written last: at first the
// cache may not show that yet, and later another client takes it back, again and again. The pause doubles with each time.
type part int

// The parts.
const (
	inStatus part = iota
	inNotes
	parts
)

// unshown are the parts of a publication that a Service doesn't show and that are written now, with what they say. What must
// wait is taken out of it. Nothing has to if a Service shows its load balancer no more, which isLast says.
func (s *service) unshown(svc *corev1.Service, p *Publication, isLast bool) (now map[part]string, wait time.Duration) {
	if isLast {
		return nil, 0
	}
	now = map[part]string{}
	if !p.KeepIngress && !sameIngress(svc.Status.LoadBalancer.Ingress, p.Ingress) {
		now[inStatus] = gistOfIngress(p.Ingress)
	}
	if len(p.Notes.change(svc)) > 0 {
		now[inNotes] = fmt.Sprint(p.Notes.Labels, p.Notes.Annotations)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for which, gist := range now {
		fought := s.fought[which]
		pause := fought.Wait(gist)
		if pause == 0 {
			continue
		}
		if wait == 0 || pause < wait {
			wait = pause
		}
		delete(now, which)
		switch {
		case which == inNotes:
			p.Notes = Notes{}
		case fought.delay == firstRestore: // The cache doesn't show it yet.
			svc.Status.LoadBalancer.Ingress, p.Ingress, p.KeepIngress = p.Ingress, nil, true
		default:
			p.Ingress, p.KeepIngress = nil, true
		}
	}
	return now, wait
}

func gistOfIngress(list []corev1.LoadBalancerIngress) string {
	var gist strings.Builder
	for _, i := range list {
		gist.WriteString(" " + i.IP + i.Hostname)
		if i.IPMode != nil {
			gist.WriteString(string(*i.IPMode))
		}
	}
	return gist.String()
}

// shows remembers that a part was written. It reports whether another client takes it back again and again.
func (s *service) shows(which part, gist string) (isContested bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fought[which].Wrote(gist, lastRestore)
	return s.fought[which].IsOn()
}

// calm reports whether nothing has been taken back for long enough.
func (s *service) calm() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !slices.ContainsFunc(s.fought[:], Fight.IsOn)
}

// restoreConditions is how soon conditions that another client took away are written again.
const restoreConditions = 10 * time.Minute

// written are the conditions that were written last, so that they are written on change only: neither because a message
// names another request, nor again and again because another client overwrites them.
type written struct {
	Fight
	// before is what those said that were written before them: both may arrive later.
	before string
}

// mustShow reports whether conditions have to be written on the Service, and remembers that they are then.
func (s *service) mustShow(svc *corev1.Service, wanted []metav1.Condition) bool {
	same := true
	gist := gistOf(svc, wanted)
	for _, w := range wanted {
		have := find(svc.Status.Conditions, w.Type)
		same = same && have != nil && have.Status == w.Status && have.Reason == w.Reason && (have.Message == w.Message || !namesMistake(w))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if same || s.conditions.Wait(gist) > 0 {
		return false
	}
	s.conditions = written{Fight: Fight{gist: gist, at: time.Now(), delay: restoreConditions}, before: s.conditions.gist}
	return true
}

// arrived reports whether an update is nothing but the arrival of the conditions that were written last.
func (s *service) arrived(old, svc *corev1.Service) bool {
	if equality.Semantic.DeepEqual(old.Status.Conditions, svc.Status.Conditions) {
		return false
	}
	before := *old
	before.Status.Conditions = svc.Status.Conditions
	before.ResourceVersion, before.ManagedFields = svc.ResourceVersion, svc.ManagedFields
	if !equality.Semantic.DeepEqual(&before, svc) {
		return false
	}
	var ours []metav1.Condition
	for _, conditionType := range []string{ConditionReady, ConditionSynced} {
		if have := find(svc.Status.Conditions, conditionType); have != nil {
			ours = append(ours, *have)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	gist := gistOf(svc, ours)
	return s.conditions.gist == gist || s.conditions.before == gist
}

// forgetConditions makes the next pass write them.
func (s *service) forgetConditions() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conditions = written{}
}

// maxOwnVersions bounds the versions of a Service that are known to be the controller's: a pass writes less often.
const maxOwnVersions = 16

// A client may replace a Service by a manifest which knows nothing of what the controller noted on it: finalizer,
// labels and annotations are gone, as with kubectl replace or helm upgrade --force. The event has the last state.

// replaced is a Service before it was replaced, and the version by which it was.
type replaced struct {
	before *corev1.Service
	by     string
}

// wrote remembers a version that the controller has written.
func (s *service) wrote(version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := append(s.own, version)
	s.own = list[max(0, len(list)-maxOwnVersions):]
}

// lose remembers the state before an update that has taken something off. Whether the controller has done that is known when its pass ends.
func (s *service) lose(old, svc *corev1.Service) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost.before == nil || s.lost.before.UID != svc.UID || slices.Contains(s.own, s.lost.by) {
		s.lost = replaced{before: old, by: svc.ResourceVersion}
	}
}

// before returns the last state of the Service, nil if none of it was taken off by another client.
func (s *service) before() *corev1.Service {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(s.own, s.lost.by) {
		s.lost = replaced{}
	}
	return s.lost.before
}

// restored forgets the last state.
func (s *service) restored() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost = replaced{}
}

// endpointGap is the least time between two passes over a Service because of its endpoints. The first change is served at once, and what
// changes after that within the gap together.
const endpointGap = 2500 * time.Millisecond

// nextPass notes a change of endpoints, and returns how long its pass has to wait, if not that long by itself. Endpoints may change all the
// time, as in a rollout.
func (s *service) nextPass(wait time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.since.IsZero() {
		s.since = now
	}
	switch {
	case now.Before(s.due):
	case now.Before(s.due.Add(endpointGap)):
		s.due = s.due.Add(endpointGap)
	default:
		s.due = now.Add(wait)
	}
	return s.due.Sub(now)
}

// beginPass returns since when changes of endpoints wait for the pass that begins now; the zero time if none do.
func (s *service) beginPass() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	since := s.since
	s.since = time.Time{}
	return since
}

// passAgain puts back changes that a pass could not deal with.
func (s *service) passAgain(since time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since.IsZero() || since.Before(s.since) {
		s.since = since
	}
}
