package openapisim

import (
	"iter"
	"net/http"
	"slices"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/journal"
	"alicloud-controllers.dev/cloudgateway/openapisim/limit"
	"alicloud-controllers.dev/cloudgateway/openapisim/nlb"
	"alicloud-controllers.dev/cloudgateway/openapisim/slb"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// Shown is a cloud as a console for people sees it; package console has one.
type Shown interface {
	// View calls f with the state, which f neither changes nor keeps.
	View(f func(*state.Cloud, api.Health))
	// Backward yields the calls, the latest first. They are not changed.
	Backward() iter.Seq[*journal.Call]
	// Limits returns whether rate limits are in force, and which, by "product/action".
	Limits() (enabled bool, table limit.Table)
	// Clock returns the time of the cloud and whether it stands still.
	Clock() (now time.Time, frozen bool)
	// Faults returns the number of fault rules in force.
	Faults() int
	// Places returns the accounts and regions of the process, as ACCOUNT/REGION.
	Places() []string
}

// newConsole makes the console of a cloud, or what says that it has none.
func (s *Simulator) newConsole(products []string) (http.Handler, error) {
	if s.cfg.Console == nil {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "the program that has started this cloud has no console", http.StatusNotFound)
		}), nil
	}
	return s.cfg.Console(shown{s}, products)
}

// shown is the simulator as the console sees it.
type shown struct{ *Simulator }

// View adds what DescribeHealthStatus and GetListenerHealthStatus would return.
func (s shown) View(f func(*state.Cloud, api.Health)) {
	s.look(func(c *api.Context) {
		f(c.State, api.Health{
			CLB: func(lb *state.LoadBalancer, l *state.Listener, server *state.Server) string {
				return slb.Health(c, lb, l, server)
			},
			NLB: func(l *state.NLBListener, g *state.NLBServerGroup, server *state.NLBServer) string {
				return nlb.Health(c, l, g, server)
			},
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
