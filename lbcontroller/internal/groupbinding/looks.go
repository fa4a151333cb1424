package groupbinding

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"alicloud-controllers.dev/lbcontroller/internal/controller"
	"alicloud-controllers.dev/lbcontroller/internal/shadow"
)

const (
	// mostLooks is how many server groups are looked for at once.
	mostLooks = 4
	// lookAgain is how long it takes until a server group is looked at again that is not there, or that is in trouble.
	lookAgain = 5 * time.Minute
	// firstRetry doubles up to lastRetry while the cloud doesn't answer.
	firstRetry, lastRetry = time.Second, time.Minute
)

// looks are what was found of server groups, by binding. A look waits for the cloud, and no pass waits for it.
type looks struct {
	look  func(context.Context, ServerGroup) (Group, shadow.Verdict, error)
	done  func()
	room  chan struct{}
	under sync.WaitGroup
	mu    sync.Mutex
	found map[types.UID]*look
}

// look is what was found for a binding.
type look struct {
	named ServerGroup
	Found
	// at is when it was looked last, again how long it takes until the next time, and underway that it is being looked.
	at       time.Time
	again    time.Duration
	underway bool
}

// wait waits for the looks under way.
func (l *looks) wait() { l.under.Wait() }

// foundOf says what was found for a binding.
func (l *looks) foundOf(b *Binding) Found {
	l.mu.Lock()
	defer l.mu.Unlock()
	if one := l.found[b.UID]; one != nil && one.named == b.Spec.ServerGroup {
		return one.Found
	}
	return Found{}
}

// ask begins the looks that it is time for, and says when it is time for the next; 0 for never. What a binding says of
// itself is believed at first: it is written by the controller only.
func (l *looks) ask(ctx context.Context, w *World) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	var next time.Duration
	seen := map[types.UID]*look{}
	for _, b := range w.Bindings {
		one, named := l.found[b.UID], b.Spec.ServerGroup
		if one == nil || one.named != named {
			one = &look{named: named}
			accepted := meta.FindStatusCondition(b.Status.Conditions, ConditionAccepted)
			if l.found[b.UID] == nil && accepted != nil && accepted.Status == metav1.ConditionTrue &&
				accepted.ObservedGeneration == b.Generation && b.Status.ServerGroup != nil {
				one.Group, one.at, one.again = *b.Status.ServerGroup, time.Now(), lookAgain
			}
		}
		seen[b.UID] = one
		if one.underway || b.invalid().Reason != "" || one.Group.ID != "" && !inTrouble(w, b) {
			continue
		}
		wait := time.Until(one.at.Add(max(one.again, firstRetry)))
		if !one.at.IsZero() && wait > 0 {
			if next == 0 || wait < next {
				next = wait
			}
			continue
		}
		one.underway = true
		l.under.Go(func() { l.begin(ctx, one) })
	}
	l.found = seen
	return next
}

// inTrouble reports that the engine says that the server group of a binding hasn't its servers.
func inTrouble(w *World, b *Binding) bool {
	live := w.Service(ServiceName(b))
	return live != nil && meta.IsStatusConditionFalse(live.Status.Conditions, controller.ConditionSynced)
}

// begin looks, and remembers what it finds. What was found before stays if it can't be known.
func (l *looks) begin(ctx context.Context, one *look) {
	select {
	case l.room <- struct{}{}:
	case <-ctx.Done():
		return
	}
	group, refused, err := l.look(ctx, one.named)
	<-l.room
	if ctx.Err() != nil {
		return
	}
	l.mu.Lock()
	one.underway, one.at = false, time.Now()
	if err != nil {
		one.again, one.Trouble = min(max(firstRetry, 2*one.again), lastRetry), err.Error()
	} else {
		one.again, one.Found = lookAgain, Found{Group: group, Refused: refused}
	}
	l.mu.Unlock()
	l.done()
}
