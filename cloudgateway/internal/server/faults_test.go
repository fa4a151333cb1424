package server

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

var update = flag.Bool("update", false, "write docs/reference/fault-matrix.md")

// mishap is one way in which a call can go wrong.
type mishap struct {
	name string
	rule fault.Rule
	// refusal is the one right answer; empty: the caller must not notice.
	refusal rpcerr.Reason
	// kill ends the gateway while the cloud is at the call.
	kill bool
}

func mishaps() []mishap {
	answer := func(httpStatus int, code string) *fault.Error {
		return &fault.Error{Status: httpStatus, Code: code, Message: "Something is not as it should be."}
	}
	late := api.Duration(patience + patience/2)
	return []mishap{
		{name: "error before", rule: fault.Rule{Error: answer(500, "InternalError")}},
		{name: "error after", rule: fault.Rule{Error: answer(500, "InternalError"), When: fault.After}},
		{name: "dropped before", rule: fault.Rule{Drop: true}},
		{name: "dropped after", rule: fault.Rule{Drop: true, When: fault.After}},
		{name: "timeout before", rule: fault.Rule{Drop: true, Latency: late}},
		{name: "timeout after", rule: fault.Rule{When: fault.After, Latency: late}},
		{name: "503", rule: fault.Rule{Error: answer(503, "ServiceUnavailable")}},
		{name: "throttled", rule: fault.Rule{Error: answer(400, "Throttling.User")}, refusal: rpcerr.Throttled},
		{name: "busy", rule: fault.Rule{Error: answer(400, "SystemBusy")}},
		{name: "token expired", rule: fault.Rule{Error: answer(400, "InvalidSecurityToken.Expired")}},
		{name: "killed before", rule: fault.Rule{Drop: true, Latency: api.Duration(time.Minute)}, kill: true},
		{name: "killed after", rule: fault.Rule{When: fault.After, Latency: api.Duration(time.Minute)}, kill: true},
	}
}

// TestFaultMatrix strikes every cloud write of every write RPC with every mishap. The end must be that of an undisturbed run,
// or a truthful refusal after which the caller gets there by repeating the RPC, or, where the gateway was killed, by looking
// first if the cloud has no token for the call. What came out is docs/reference/fault-matrix.md.
func TestFaultMatrix(t *testing.T) {
	var (
		cells errgroup.Group
		mu    sync.Mutex
		table = map[string]string{}
	)
	cells.SetLimit(32) // They mostly wait.
	for _, op := range operations() {
		undisturbed := newWorld(t)
		at := op.prepare(t, undisturbed)
		if err := op.run(t.Context(), undisturbed, at); err != nil {
			t.Fatalf("%s undisturbed: %v", op.name, err)
		}
		want := undisturbed.picture()
		for _, action := range op.actions {
			for _, m := range mishaps() {
				cells.Go(func() error {
					name := cell(op.name, action, m.name)
					t.Run(name, func(t *testing.T) {
						outcome := m.strike(t, op, action, want)
						mu.Lock()
						defer mu.Unlock()
						table[name] = outcome
					})
					return nil
				})
			}
		}
	}
	if err := cells.Wait(); err != nil || t.Failed() {
		return
	}
	page := filepath.Join("..", "..", "..", "docs", "reference", "fault-matrix.md")
	if *update {
		if err := os.WriteFile(page, []byte(render(table)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	published, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(published), render(table)); diff != "" {
		t.Errorf("run the test with -update and review the change (-page +got):\n%s", diff)
	}
}

func cell(op, action, mishap string) string { return op + "/" + action + "/" + mishap }

// strike runs an operation of which one cloud call goes wrong, and tells in a word how it ended.
func (m mishap) strike(t *testing.T, op operation, action string, want []string) string {
	w := newWorld(t)
	at := op.prepare(t, w)
	rule := m.rule
	rule.Action, rule.Times = action, 1
	w.strike(t, rule)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	outcome := "done"
	if m.kill {
		outcome = w.killDuring(ctx, t, op, at)
	} else if err := op.run(ctx, w, at); err != nil {
		reason := rpcerr.ReasonOf(err)
		if m.refusal == "" || reason != m.refusal {
			t.Fatalf("got %v", err)
		}
		outcome = string(reason)
		if err := op.run(ctx, w, at); err != nil {
			t.Fatalf("repeated: %v", err)
		}
	} else if m.refusal != "" {
		t.Errorf("no error, want %s", m.refusal)
	}
	if struck := w.sim.Faults()[0].Struck; struck != 1 {
		t.Fatalf("the fault struck %d times; the test is wrong", struck)
	}
	if diff := cmp.Diff(want, w.picture()); diff != "" {
		t.Errorf("the cloud's state (-undisturbed +got):\n%s", diff)
	}
	return outcome
}

// killDuring ends the gateway while the cloud works on the call that the fault slows down, and goes on with another gateway.
func (w *world) killDuring(ctx context.Context, t *testing.T, op operation, at ids) string {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- op.run(ctx, w, at) }()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for w.sim.Faults()[0].Struck == 0 || w.sim.Faults()[0].When == fault.After && !w.struck() {
		select {
		case <-look.C:
		case err := <-ended:
			t.Fatalf("ended with %v before the cloud was asked", err)
		}
	}
	w.kill()
	err := <-ended
	if status.Code(err) != codes.Unavailable {
		t.Errorf("the caller got %v, want UNAVAILABLE", err)
	}
	w.startGateway(t)
	again, outcome := op.run, "UNAVAILABLE"
	if op.resume != nil {
		again, outcome = op.resume, "UNAVAILABLE, look"
	}
	if err := again(ctx, w, at); err != nil {
		t.Fatalf("with the other gateway: %v", err)
	}
	return outcome
}

// struck tells whether the call that the fault strikes has taken effect.
func (w *world) struck() bool {
	for _, c := range w.calls(false) {
		if c.Fault != "" {
			return true
		}
	}
	return false
}

// TestMatrixIsComplete: every RPC that changes something is struck.
func TestMatrixIsComplete(t *testing.T) {
	missing := map[string]bool{}
	for method, policy := range Policies() {
		if policy.Mutating {
			missing[method[strings.LastIndex(method, "/")+1:]] = true
		}
	}
	for _, op := range operations() {
		name, _, _ := strings.Cut(op.name, ",")
		delete(missing, name)
	}
	if len(missing) > 0 {
		t.Errorf("no operations of %q", slices.Sorted(maps.Keys(missing)))
	}
}

// render makes the page of the matrix.
func render(table map[string]string) string {
	var b strings.Builder
	b.WriteString(`# Fault matrix

<!-- Made by TestFaultMatrix of cloudgateway/internal/server with -update; do not edit. -->

What a caller of the gateway gets when one of the cloud calls that its RPC consists of goes wrong. In every case the test then
compares what the cloud holds with an undisturbed run: the effect is there exactly once.

- **done**: the RPC succeeds; the gateway repeats the call, or looks what became of it.
- **THROTTLED**: refused with the time to wait. What was done before stays done, and repeating the RPC does the rest.
- **UNAVAILABLE**: the caller can't know. It repeats the RPC, and the active gateway does what is missing.
- **UNAVAILABLE, look**: the cloud has no token that would make the call safe to repeat, and the gateway that remembered it is gone.
  The caller looks for what it wanted to create before it goes on.

"Before" is a call that had no effect, "after" one that had. A timeout is an answer that does not come in time; killed is the
gateway's process while the cloud works on the call.

`)
	b.WriteString("| RPC | cloud call |")
	for _, m := range mishaps() {
		fmt.Fprintf(&b, " %s |", m.name)
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---|", len(mishaps())) + "\n")
	for _, op := range operations() {
		for _, action := range op.actions {
			fmt.Fprintf(&b, "| %s | %s |", op.name, action)
			for _, m := range mishaps() {
				fmt.Fprintf(&b, " %s |", table[cell(op.name, action, m.name)])
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// picture describes what the cloud holds, without what differs from run to run.
func (w *world) picture() []string {
	var lines []string
	w.sim.View(func(c *state.Cloud) {
		groups := map[string]string{}
		for _, g := range c.ServerGroups {
			groups[g.ID] = g.Name
			var servers []string
			for _, s := range g.Servers {
				servers = append(servers, fmt.Sprintf("%s %s:%d*%d %s", s.Type, s.ServerID, s.Port, s.Weight, s.Description))
			}
			slices.Sort(servers)
			lines = append(lines, fmt.Sprintf("group %s %q", g.Name, servers))
		}
		for _, lb := range c.LoadBalancers {
			tags := slices.SortedFunc(slices.Values(lb.Tags), func(a, b state.Tag) int { return strings.Compare(a.Key, b.Key) })
			lines = append(lines, fmt.Sprintf("lb %s %s %v %s", lb.Name, lb.Spec, tags, lb.DeleteProtection))
			for _, l := range lb.Listeners {
				attributes := maps.Clone(l.Attributes)
				attributes["VServerGroupId"] = groups[attributes["VServerGroupId"]]
				lines = append(lines, fmt.Sprintf("listener %d/%s %s %v", l.Port, l.Protocol, l.Status, attributes))
			}
		}
		for _, table := range c.RouteTables {
			for _, e := range table.Entries {
				lines = append(lines, fmt.Sprintf("route %s %s %s %s", e.Cidr, e.NextHopID, e.Status, e.Description))
			}
		}
		for _, n := range c.Interfaces {
			if !n.SourceDestCheck {
				lines = append(lines, "forwarding "+n.InstanceID)
			}
		}
	})
	slices.Sort(lines)
	return lines
}
