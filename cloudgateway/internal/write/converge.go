// Package write makes changes of the cloud safe: one at a time for a resource, and each once, whatever becomes of an answer.
package write

import (
	"context"
	"fmt"
	"time"

	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
)

// Serial lets the writes to a resource through one at a time. What is remembered of the resource is forgotten after each.
type Serial struct {
	locks  cloud.Locker
	forget []func(key string)
}

// NewSerial makes a Serial.
func NewSerial(locks cloud.Locker) *Serial { return &Serial{locks: locks} }

// OnWrite adds what is to be done after a write to the resource with a key. It must not be called after the first write.
func (s *Serial) OnWrite(forget func(key string)) { s.forget = append(s.forget, forget) }

// Do makes a write.
func (s *Serial) Do(ctx context.Context, key string, write func(ctx context.Context) error) error {
	return s.InTurn(ctx, key, func(ctx context.Context, _ *Turn) error { return write(ctx) })
}

// InTurn makes a write that may let others go first.
func (s *Serial) InTurn(ctx context.Context, key string, write func(ctx context.Context, turn *Turn) error) error {
	turn := &Turn{serial: s, key: key}
	if err := turn.take(ctx); err != nil {
		return err
	}
	defer turn.give()
	return write(ctx, turn)
}

// Turn is the time in which a request alone writes to a resource.
type Turn struct {
	serial *Serial
	key    string
	unlock func()
}

func (t *Turn) take(ctx context.Context) (err error) {
	t.unlock, err = cloud.Lock(ctx, t.serial.locks, t.key)
	return err
}

func (t *Turn) give() {
	if t.unlock == nil {
		return
	}
	t.serial.Forget(t.key) // Whatever has happened, the cloud may hold something new.
	t.unlock()
	t.unlock = nil
}

// Held reports whether the turn is the request's. It may not be after a StepAside that has failed.
func (t *Turn) Held() bool { return t.unlock != nil }

// StepAside sleeps and lets others write meanwhile: what makes the request wait need not be in their way. It reports
// whether there was time for that and the turn is the request's again.
func (t *Turn) StepAside(ctx context.Context, d time.Duration) bool {
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= d {
		return false
	}
	t.give()
	return cloud.Sleep(ctx, d) && t.take(ctx) == nil
}

// Forget drops what is remembered of a resource.
func (s *Serial) Forget(key string) {
	for _, forget := range s.forget {
		forget(key)
	}
}

// Verdict says how far a change has come.
type Verdict uint8

// The Verdicts.
const (
	Todo    Verdict = iota // has to be sent
	Waiting                // the cloud is at it
	Done
	Failed
)

// PollInterval is the time between two looks at something that is changing, or between the first two.
const PollInterval = time.Second

// Converge brings one thing into a state. The cloud answers before it has carried out the request. It refuses a change while it is at
// another one. An answer may get lost. So what the cloud shows decides: nothing is sent that is not missing, and the same change made
// twice is made once.
type Converge[T any] struct {
	// Name is for errors, e.g. "the association of eip-1".
	Name string
	// Look reads the thing now.
	Look func(ctx context.Context) (T, error)
	// Judge says how far the thing has come, or why it can't come there.
	Judge func(T) (Verdict, error)
	// Send makes the write. Nil: it was made before, and its effect is awaited.
	Send func(ctx context.Context, seen T) error
	// LookFirst saves writes that have nothing to do, and gives Send what there is; otherwise seen is empty the first time.
	LookFirst bool
	// Doubtful reports whether a refusal may mean that the thing is as it shall be; nil: none does.
	Doubtful func(error) bool
	// Slowest is the longest time between two looks, which grows by a PollInterval from look to look; 0: it does not grow.
	Slowest time.Duration
}

// Run ends when the thing is as it shall be, and returns it as it was seen then.
func (c Converge[T]) Run(ctx context.Context) (T, error) {
	var (
		seen     T
		refusal  error // of the last attempt
		accepted = c.Send == nil
		begun    = accepted // the cloud may have begun to carry it out
		v        Verdict
		err      error
	)
	pause := PollInterval
	for attempt := 0; ; attempt++ {
		if v == Todo && !accepted && (attempt > 0 || !c.LookFirst) {
			switch refusal = c.Send(ctx, seen); {
			case refusal == nil:
				accepted, begun = true, true
			case cloud.Unclear(refusal):
				begun = true
			case !cloud.Busy(refusal) && !c.mayMeanDone(refusal):
				return seen, refusal
			}
		}
		if seen, err = c.Look(ctx); err != nil {
			return seen, c.unread(err, begun)
		}
		if v, err = c.Judge(seen); v == Done || err != nil {
			return seen, err
		}
		switch {
		case v == Todo && c.mayMeanDone(refusal):
			return seen, refusal // The look has cleared the doubt.
		case v == Todo && attempt == 0 && c.LookFirst && !accepted:
			continue
		case !cloud.Sleep(ctx, pause):
			return seen, c.unfinished(refusal)
		}
		pause = max(PollInterval, min(pause+PollInterval, c.Slowest))
	}
}

// RunAlone is Run while no other request writes to the resource with a key.
func (c Converge[T]) RunAlone(ctx context.Context, writes *Serial, key string) (seen T, err error) {
	err = writes.Do(ctx, key, func(ctx context.Context) (err error) {
		seen, err = c.Run(ctx)
		return err
	})
	return seen, err
}

func (c Converge[T]) mayMeanDone(refusal error) bool {
	return refusal != nil && c.Doubtful != nil && c.Doubtful(refusal)
}

// unread is the error when the cloud can't be asked what became of a change.
func (c Converge[T]) unread(err error, begun bool) error {
	if !begun {
		return err
	}
	return rpcerr.Errorf(rpcerr.OutcomeUnknown, "%s was sent, and its effect can't be read: %v", c.Name, err)
}

// unfinished is the error when there is no more time.
func (c Converge[T]) unfinished(refusal error) error {
	if refusal != nil {
		return refusal
	}
	return rpcerr.Errorf(rpcerr.ResourceBusy, "%s did not come to its end before the deadline; it may still do so",
		c.Name).WithRetry(PollInterval)
}

// Attempt sends a write until it is known what has become of it. It waits while the thing is busy. After a lost answer, or a refusal that
// may mean that it was done before, it looks.
type Attempt struct {
	Send func(ctx context.Context) error
	// Doubtful reports whether a refusal may mean that it is done.
	Doubtful func(error) bool
	// Done looks.
	Done func(ctx context.Context) (bool, error)
	// Again reports whether what is left after such a refusal may be sent again; nil: the refusal stands.
	Again func(error) bool
	// Doubt is for the error when looking fails after such a refusal, e.g. "it is there already, but reading it failed".
	Doubt string
	// Sleep waits between two attempts, as StepAside does; nil: cloud.Sleep.
	Sleep func(ctx context.Context, d time.Duration) bool
}

// Run ends when it is done, or can't be done.
func (a Attempt) Run(ctx context.Context) error {
	again := func(err error) bool { return cloud.Busy(err) || cloud.Unclear(err) || a.Again != nil && a.Again(err) }
	sleep := a.Sleep
	if sleep == nil {
		sleep = cloud.Sleep
	}
	return cloud.RetryWith(ctx, sleep, again, func(ctx context.Context) error {
		err := a.Send(ctx)
		if err == nil || !cloud.Unclear(err) && !a.Doubtful(err) {
			return err
		}
		done, lookErr := a.Done(ctx)
		switch {
		case lookErr != nil && !again(err):
			return fmt.Errorf("%s: %w", a.Doubt, lookErr)
		case lookErr == nil && done:
			return nil
		}
		return err
	})
}
