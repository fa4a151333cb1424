package server

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"alicloud-controllers.dev/proto/method"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/rampolicy"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/cloudgateway/writetest"

	"alicloud-controllers.dev/cloudgateway/internal/config"
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
	if testing.Short() {
		t.Skip("it takes minutes of processor time: make test runs it, make quick and -short do not")
	}
	var (
		cells errgroup.Group
		mu    sync.Mutex
		table = map[string]string{}
	)
	cells.SetLimit(runtime.GOMAXPROCS(0))
	for _, op := range writetest.Operations() {
		var want []string
		synctest.Test(t, func(t *testing.T) {
			undisturbed := newWorld(t, emptySeed)
			at := undisturbed.site(t, op)
			if err := op.Run(t.Context(), undisturbed.Client, at); err != nil {
				t.Fatalf("%s undisturbed: %v", op.Name, err)
			}
			want = undisturbed.picture()
		})
		for _, action := range op.Actions {
			for _, m := range mishaps() {
				cells.Go(func() error {
					name := cell(op.Name, action, m.name)
					t.Run(name, func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							outcome := m.strike(t, op, action, want)
							mu.Lock()
							defer mu.Unlock()
							table[name] = outcome
						})
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

// strike runs an operation of which one cloud call goes wrong, and returns in a word how it ended.
func (m mishap) strike(t *testing.T, op writetest.Operation, action string, want []string) string {
	w := newWorld(t, emptySeed)
	at := w.site(t, op)
	rule := m.rule
	rule.Action, rule.Times = action, 1
	w.strike(t, rule)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	outcome := "done"
	if m.kill {
		outcome = w.killDuring(ctx, t, op, at)
	} else if err := op.Run(ctx, w.Client, at); err != nil {
		reason := rpcerr.ReasonOf(err)
		if m.refusal == "" || reason != m.refusal {
			t.Fatalf("got %v", err)
		}
		outcome = string(reason)
		if err := op.Run(ctx, w.Client, at); err != nil {
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
func (w *world) killDuring(ctx context.Context, t *testing.T, op writetest.Operation, at *writetest.Site) string {
	t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- op.Run(ctx, w.Client, at) }()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	deadline := time.After(2 * time.Minute)
	for w.sim.Faults()[0].Struck == 0 || w.sim.Faults()[0].When == fault.After && !w.struck() {
		select {
		case <-look.C:
		case err := <-ended:
			t.Fatalf("ended with %v before the cloud was asked", err)
		case <-deadline:
			t.Fatal("waited 2 minutes in vain until the cloud was asked")
		}
	}
	w.kill()
	err := <-ended
	if status.Code(err) != codes.Unavailable {
		t.Errorf("the caller got %v, want UNAVAILABLE", err)
	}
	w.startGateway(t)
	again, outcome := op.Run, "UNAVAILABLE"
	if op.Resume != nil {
		again, outcome = op.Resume, "UNAVAILABLE, look"
	}
	if err := again(ctx, w.Client, at); err != nil {
		t.Fatalf("with the other gateway: %v", err)
	}
	return outcome
}

// struck reports whether the call that the fault strikes has taken effect.
func (w *world) struck() bool {
	for _, c := range w.calls(false) {
		if c.Fault != "" {
			return true
		}
	}
	return false
}

// TestMatrixIsComplete: every RPC that changes something is struck, and so is every write to the cloud.
func TestMatrixIsComplete(t *testing.T) {
	missing := map[string]bool{}
	for method, row := range Policies(config.API{Enable: method.ToolServices()}) {
		if row.Mutating {
			name := method[strings.LastIndex(method, "/")+1:]
			if strings.HasPrefix(method, "/cloudgateway.nlb.") {
				name = "NLB " + name
			}
			missing[name] = true
		}
	}
	for _, row := range rampolicy.Rows() {
		if !strings.HasPrefix(row.Action, "Describe") && !strings.HasPrefix(row.Action, "List") && !strings.HasPrefix(row.Action, "Get") {
			missing[row.Action] = true
		}
	}
	for _, op := range writetest.Operations() {
		name, _, _ := strings.Cut(op.Name, ",")
		delete(missing, name)
		for _, action := range op.Actions {
			delete(missing, action)
		}
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

"Before" is a call that had no effect, "after" one that had. A timeout is an answer that does not come in time. Killed means that the
gateway's server ends while the cloud works on the call, and that one which knows nothing takes its place, all in the test's process;
[killed-gateway.md](killed-gateway.md) is the same with processes that are really killed.

`)
	b.WriteString("| RPC | cloud call |")
	for _, m := range mishaps() {
		fmt.Fprintf(&b, " %s |", m.name)
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---|", len(mishaps())) + "\n")
	for _, op := range writetest.Operations() {
		for _, action := range op.Actions {
			fmt.Fprintf(&b, "| %s | %s |", op.Name, action)
			for _, m := range mishaps() {
				fmt.Fprintf(&b, " %s |", table[cell(op.Name, action, m.name)])
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// site makes what the operation needs.
func (w *world) site(t *testing.T, op writetest.Operation) *writetest.Site {
	t.Helper()
	at := &writetest.Site{Name: "web"}
	err := w.sim.Seed(at.Seed(1))
	if err == nil {
		err = op.Prepare(t.Context(), w.Client, at)
	}
	if err != nil {
		t.Fatalf("prepare %s: %v", op.Name, err)
	}
	return at
}

// picture describes what the cloud holds.
func (w *world) picture() (lines []string) {
	w.sim.View(func(c *state.Cloud) { lines = writetest.Picture(c) })
	return lines
}
