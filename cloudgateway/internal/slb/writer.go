package slb

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"alicloud-controllers.dev/cloudgateway/internal/busytime"
	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/memo"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
)

// pace knows when the cloud has likely applied the last change of an instance. The time it needs is learned from all of them.
type pace struct {
	estimator busytime.Estimator
	last      *memo.Memo[string, time.Time] // by instance: when its last change was answered
}

func newPace(registerer prometheus.Registerer) *pace {
	p := &pace{last: memo.New[string, time.Time](mostBalancers)}
	promauto.With(registerer).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "cloudgateway_slb_settle_seconds",
		Help: "How long the gateway waits between two changes of one load balancer, as learned from the cloud's busy answers.",
	}, func() float64 { return p.estimator.Pause().Seconds() })
	return p
}

// Writer sends the changes of the listeners and groups of one instance, whose lock is held. The instance applies them one after
// the other and refuses the next one meanwhile, so each waits as long as that is likely to take.
type Writer struct {
	product        *Product
	loadBalancerID string
	refused        bool // the last change sent, as busy
}

// Send sends a change.
func (w *Writer) Send(ctx context.Context, action string, params cloud.Params, out any) error {
	return w.do(ctx, cloud.Write(openapi.SLB, action, params), out)
}

// SetOnce sends a change that says how something shall be, so that it may be sent twice.
func (w *Writer) SetOnce(ctx context.Context, action string, params cloud.Params) error {
	call := cloud.Write(openapi.SLB, action, params)
	call.Idempotent = true
	return w.do(ctx, call, nil)
}

// Set is SetOnce, repeated while the instance is busy.
func (w *Writer) Set(ctx context.Context, action string, params cloud.Params) error {
	return cloud.Retry(ctx, cloud.Busy, func(ctx context.Context) error { return w.SetOnce(ctx, action, params) })
}

func (w *Writer) do(ctx context.Context, call openapi.Call, out any) error {
	pace := w.product.pace
	last, known := pace.last.Get(w.loadBalancerID)
	if known {
		// Without time to wait it is sent at once: the instance may be ready sooner than expected.
		cloud.Sleep(ctx, pace.estimator.Next(time.Since(last)))
	}
	result, err := w.product.Caller.Do(ctx, call, out)
	if known && !result.Sent.IsZero() {
		w.learn(result.Sent.Sub(last), err)
	}
	w.refused = cloud.Busy(err)
	if err == nil || cloud.Unclear(err) {
		pace.last.Put(w.loadBalancerID, time.Now(), busytime.Longest)
	}
	return err
}

// learn draws the conclusion from a change that was sent so long after the one before.
func (w *Writer) learn(after time.Duration, err error) {
	estimator := &w.product.pace.estimator
	switch {
	case cloud.Busy(err) && !w.refused:
		estimator.Refused(after)
	case err == nil && w.refused:
		estimator.Sufficed(after)
	case err == nil:
		estimator.Accepted(after)
	}
}
