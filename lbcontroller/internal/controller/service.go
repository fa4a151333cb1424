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
	// fought are what other clients may overwrite, as it was written last, and published all that was.
	fought    [contestables]Fight
	published publishing
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
	s.fought, s.published, s.conditions = [contestables]Fight{}, publishing{}, written{}
}

// lastRestore is the longest time between two writes of the same addresses or labels to a Service.
const lastRestore = 5 * time.Minute

// publishing is the last time that something was written. What the cache doesn't show yet would be written once more.
type publishing struct {
	gist string
	at   time.Time
}

// gistOfPublication is all that is written, apart from conditions.
func gistOfPublication(p Publication) string {
	parts := []any{p.KeepIngress, p.Notes.Labels, p.Notes.Annotations}
	return fmt.Sprint(append(parts, gistOfIngress(p.Ingress))...)
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

// justPublished reports whether the same was written just now.
func (s *service) justPublished(p Publication) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.published.at) < firstRestore && s.published.gist == gistOfPublication(p)
}

// publish remembers that something was written.
func (s *service) publish(p Publication) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.published = publishing{gist: gistOfPublication(p), at: time.Now()}
}

// What other clients may fight for.
const (
	inStatus = iota
	inLabels
	contestables
)

// wait returns how long something must wait to be written, 0 if it may be now.
func (s *service) wait(what int, gist string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fought[what].Wait(gist)
}

// fight remembers that something was written. It reports whether another client overwrites it again and again.
func (s *service) fight(what int, gist string) (isContested bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fought[what].Wrote(gist, lastRestore)
	return s.fought[what].IsOn()
}

// calm reports whether nothing has been overwritten for long enough.
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
	// gist is what they say, and before what those said that were written before them: both may arrive later.
	gist, before string
	at           time.Time
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
	if last := s.conditions; same || last.gist == gist && time.Since(last.at) < restoreConditions {
		return false
	}
	s.conditions = written{gist: gist, before: s.conditions.gist, at: time.Now()}
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
