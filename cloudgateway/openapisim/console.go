package openapisim

import (
	"iter"
	"slices"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/console"
	"alicloud-controllers.dev/cloudgateway/openapisim/journal"
	"alicloud-controllers.dev/cloudgateway/openapisim/limit"
	"alicloud-controllers.dev/cloudgateway/openapisim/nlb"
	"alicloud-controllers.dev/cloudgateway/openapisim/slb"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// shown is the simulator as the console sees it.
type shown struct{ *Simulator }

// View adds what DescribeHealthStatus and GetListenerHealthStatus would return.
func (s shown) View(f func(*state.Cloud, console.Health)) {
	s.look(func(c *api.Context) {
		f(c.State, console.Health{
			CLB: func(lb *state.LoadBalancer, l *state.Listener, server *state.Server) string {
				return slb.Health(c, lb, l, server)
			},
			NLB: func(g *state.NLBServerGroup, server *state.NLBServer) string { return nlb.Health(c, g, server) },
		})
	})
}

func (s shown) Backward() iter.Seq[*journal.Call] { return s.journal.Backward() }

func (s shown) Limits() (enabled bool, table limit.Table) { return s.limiter.Get() }

func (s shown) Clock() (now time.Time, frozen bool) { return s.clock.Now(), s.clock.Frozen() }

func (s shown) Faults() int { return len(s.faults.Rules()) }

func (s shown) Places() []string {
	var out []string
	for p := range s.places {
		out = append(out, p.account+"/"+p.region)
	}
	slices.Sort(out)
	return out
}
