package openapisim

import (
	"iter"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/console"
	"alicloud-controllers.dev/cloudgateway/openapisim/journal"
	"alicloud-controllers.dev/cloudgateway/openapisim/limit"
	"alicloud-controllers.dev/cloudgateway/openapisim/slb"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// shown is the simulator as the console sees it.
type shown struct{ *Simulator }

// View adds what DescribeHealthStatus would return.
func (s shown) View(f func(*state.Cloud, console.Health)) {
	s.look(func(c *api.Context) {
		f(c.State, func(lb *state.LoadBalancer, l *state.Listener, server *state.Server) string {
			return slb.Health(c, lb, l, server)
		})
	})
}

func (s shown) Backward() iter.Seq[*journal.Call] { return s.journal.Backward() }

func (s shown) Limits() (enabled bool, table limit.Table) { return s.limiter.Get() }

func (s shown) Clock() (now time.Time, frozen bool) { return s.clock.Now(), s.clock.Frozen() }

func (s shown) Faults() int { return len(s.faults.Rules()) }
