package lb_test

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"

	"alicloud-controllers.dev/services/gateway/gatewaytest"
)

// walkWorlds are the ordinary worlds, and walkSteps the steps in each; fewer of both with -short. Each step is checked by
// itself: an act, the faults, crashes and retries that follow, and the peace after them. It begins in what the steps
// before have left, where more can go wrong than in an empty world. make soak walks a hundred other worlds. WALK_WORLDS
// asks for so many worlds with new seeds, or those from WALK_SEED on; WALK_SEED alone repeats one.
const walkWorlds, walkSteps, shortWorlds, shortSteps = 2, 60, 1, 10

// TestWalk goes from one peaceful state to the next, each time by one thing that users, nodes, the console, a crash or
// another controller do, with faults on the way. Meanwhile no port that is served before and after has fewer servers
// than the smaller of the two. Then each Service has exactly what it asks for, nothing foreign was touched, and another
// look writes nothing.
func TestWalk(t *testing.T) {
	ordinary := walkWorlds
	if testing.Short() {
		ordinary = shortWorlds
	}
	first, worlds := seeds(t, "WALK_SEED", "WALK_WORLDS", ordinary)
	before := debug.SetGCPercent(400) // Much of the time goes there.
	t.Cleanup(func() { debug.SetGCPercent(before) })
	for i := range worlds {
		seed := first + uint64(i)
		t.Run(fmt.Sprintf("WALK_SEED=%d", seed), func(t *testing.T) {
			t.Parallel()
			inWorld(t, chaosNodes, func(w *world) { newWalker(w, seed).walk() })
		})
	}
}

// walker is a monkey that does one thing at a time.
type walker struct {
	*monkey
	// least are the fewest servers of each listener since the last step began.
	least map[string]int
}

func newWalker(w *world, seed uint64) *walker {
	m := &walker{monkey: newMonkey(w, seed)}
	w.cloud.Interpose(func(seq int, method string, request proto.Message) gatewaytest.Fault {
		m.watch() // What the call before has left.
		return m.fault(seq, method, request)
	})
	return m
}

func (m *walker) walk() {
	m.t.Cleanup(func() {
		if m.t.Failed() {
			m.t.Log("what was done:\n" + strings.Join(m.diary, "\n"))
		}
	})
	steps := walkSteps
	if testing.Short() {
		steps = shortSteps
	}
	for step := range steps {
		m.step()
		if m.t.Failed() {
			m.t.Fatalf("after %d steps", step+1)
		}
	}
}

func (m *walker) step() {
	before := m.serving()
	m.set(func() { m.wild, m.least = true, before.counts() })
	late := lookTime
	act := m.fightOrAct()
	m.diary = append(m.diary, act)
	if strings.HasPrefix(act, byConsole) {
		before, late = m.serving(), driftTime // The controller gets no notice.
		m.set(func() { m.least = before.counts() })
	}
	m.after(time.Duration(m.n(4000)) * time.Millisecond)
	m.set(func() { m.wild = false })
	m.reap()
	m.after(11 * time.Minute) // Delays grow up to six.
	m.watch()
	if !m.lookupFailed() {
		m.judgeServing(act, before, m.serving())
	}
	m.mend(late)
	m.judge()
	m.cloud.ResetCalls()
	m.after(driftTime)
	for _, call := range m.cloud.Writes() {
		m.t.Errorf("another look writes: %s %v", call.Method, call.Request)
	}
}

// fightOrAct lets another controller fight for a status now and then.
func (m *walker) fightOrAct() string {
	services := m.services()
	if len(services) == 0 || m.n(12) > 0 {
		return m.act()
	}
	svc := pick(m.monkey, services...)
	theirs := []corev1.LoadBalancerIngress{{IP: "203.0.113.99"}}
	times := 1 + m.n(5)
	for range times {
		m.edit(svc, map[string]any{"status": map[string]any{"loadBalancer": map[string]any{"ingress": theirs}}}, "status")
		m.after(time.Duration(m.n(3000)) * time.Millisecond)
	}
	return fmt.Sprintf("another controller writes the status of %s %d times", svc.Name, times)
}

// served are the servers that take traffic, by listener.
type served map[string]map[string]bool

// counts are how many there are.
func (s served) counts() map[string]int {
	counts := make(map[string]int, len(s))
	for name, servers := range s {
		counts[name] = len(servers)
	}
	return counts
}

// add adds those of a listener.
func (s served) add(listener string, servers []place) {
	s[listener] = map[string]bool{}
	for _, p := range servers {
		if p.weight > 0 {
			s[listener][fmt.Sprintf("%s %s:%d", p.id, p.ip, p.port)] = true
		}
	}
}

// serving finds the servers that take traffic, by listener and whose it is.
func (m *walker) serving() served {
	m.cloud.Lock()
	defer m.cloud.Unlock()
	now := served{}
	for lb, l := range clbListeners(m.cloud.Cloud) {
		g := m.cloud.ServerGroups[l.Group()]
		if g == nil {
			continue // It redirects.
		}
		now.add(fmt.Sprintf("%s %d/%s %s", lb.ID, l.Port, l.Protocol, description(l)), placesOf(g.Servers))
	}
	for _, l := range m.cloud.NLBListeners {
		g := m.cloud.NLBServerGroups[l.ServerGroupID]
		now.add(fmt.Sprintf("%s %d/%s %s", l.NLBID, l.Port, l.Protocol, l.Description), nlbPlacesOf(g.Servers))
	}
	return now
}

// watch takes down when there are fewer servers than ever. A listener that is gone has none.
func (m *walker) watch() {
	now := m.serving().counts()
	m.set(func() {
		least := make(map[string]int, len(m.least))
		for name, n := range m.least {
			least[name] = min(n, now[name])
		}
		m.least = least
	})
}

// lookupFailed reports whether the network interfaces of pods could not be read on the way. A pod that is gone leaves
// then before the one that takes its place is known; requests to either would fail.
func (m *walker) lookupFailed() bool {
	return slices.ContainsFunc(m.cloud.CallsOf("BatchGetNetworkInterfaces"), func(c gatewaytest.Call) bool { return c.Err != nil })
}

// judgeServing looks for listeners that had too few servers on the way. Pods that are gone are no loss, even if those that take their place
// have to wait for their turn to be looked up.
func (m *walker) judgeServing(act string, before, after served) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var problems []string
	for name, had := range before {
		has, stays := after[name]
		need := min(len(had), len(has))
		if strings.Contains(act, havePods) {
			need = 0
			for server := range had {
				if has[server] {
					need++
				}
			}
		}
		if stays && m.least[name] < need {
			problems = append(problems, fmt.Sprintf("%s had %d servers, has %d, and had %d on the way", name, len(had), len(has), m.least[name]))
		}
	}
	slices.Sort(problems)
	for _, p := range problems {
		m.t.Error(p)
	}
}
