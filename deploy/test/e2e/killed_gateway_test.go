package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	"alicloud-controllers.dev/services/gateway"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/cloudgateway/writetest"
	"alicloud-controllers.dev/deploy/tools/local/binaries"
	"alicloud-controllers.dev/deploy/tools/local/world"
)

var update = flag.Bool("update", false, "write docs/reference/killed-gateway.md")

// active and standby are the gateways' processes.
const active, standby = "cloudgateway", "cloudgateway-2"

// death is one way in which the gateway dies.
type death struct {
	name string
	when fault.When // on which side of the effect the cloud is at the calls
	heir string     // the process that goes on
}

func deaths() []death {
	return []death{
		{name: "before, restarted", when: fault.Before, heir: active},
		{name: "after, restarted", when: fault.After, heir: active},
		{name: "before, standby", when: fault.Before, heir: standby},
		{name: "after, standby", when: fault.After, heir: standby},
	}
}

// victim is a write RPC that the gateway's death strikes while the cloud is at one of its calls.
type victim struct {
	writetest.Operation

	action string
	site   *writetest.Site
}

// TestKilledGateway kills the gateway with SIGKILL while the cloud holds one call of every write RPC, every cloud call of which has
// its turn, and lets the callers go on with the next gateway. The cloud must then hold exactly what it holds after an
// undisturbed run. What came out is docs/reference/killed-gateway.md.
func TestKilledGateway(t *testing.T) {
	t.Parallel()
	victims, overrides := victims()
	w := bootWith(t, world.Config{
		Gateways: 2, Fast: true, BinDir: racing(t),
		// The limits are not what this is about.
		Gateway: map[string]any{"budget": map[string]any{"share": 1, "overrides": overrides}},
	})
	err := w.Cloud().Limits(t.Context(), func(doc *openapisim.LimitsDocument) {
		doc.Enabled = new(false)
		doc.Settings.SpecificationsNotSold = false // One of the changes is that of a specification.
		doc.Settings.Quotas.SecurityGroups = 1_000
	})
	if err != nil {
		t.Fatal(err)
	}
	client := w.tool(t)
	w.served(t, client)
	w.prepare(t, client, victims)
	prepared := w.state(t)

	w.startOver(t, client, prepared, active)
	var undisturbed errgroup.Group
	for _, v := range victims {
		undisturbed.Go(func() error { return v.Run(t.Context(), client, v.site) })
	}
	if err := undisturbed.Wait(); err != nil {
		t.Fatalf("undisturbed: %v", err)
	}
	want := writetest.Picture(w.state(t))

	outcomes := map[string][]string{}
	for _, d := range deaths() {
		ok := t.Run(d.name, func(t *testing.T) {
			for n := 0; outcomes[d.name] == nil; n++ {
				if n == attempts {
					t.Fatalf("this machine was too slow %d times", attempts)
				}
				w.startOver(t, client, prepared, d.heir)
				outcomes[d.name] = w.killDuring(t, client, d, victims)
			}
			if diff := cmp.Diff(want, writetest.Picture(w.state(t))); diff != "" {
				t.Errorf("the cloud's state (-undisturbed +got):\n%s", diff)
			}
		})
		if !ok {
			return
		}
	}
	checkPage(t, render(victims, outcomes))
}

// onlyInTheMatrix are writes that no controller makes. Those of NLB, which have tokens, are not killed either.
var onlyInTheMatrix = []string{
	"CreateNetworkInterface", "AttachNetworkInterface", "DetachNetworkInterface", "DeleteNetworkInterface",
	"AssignAddresses", "UnassignAddresses",
	"UploadCertificate", "DeleteCertificate",
}

// victims makes one for every cloud call of every write RPC, and limits for all these calls that are never reached.
func victims() ([]victim, map[string]any) {
	var list []victim
	limits := map[string]any{}
	for _, op := range writetest.Operations() {
		if strings.HasPrefix(op.Name, "NLB ") || slices.Contains(onlyInTheMatrix, op.Name) {
			continue // docs/reference/fault-matrix.md has what becomes of these.
		}
		for _, action := range op.Actions {
			v := victim{Operation: op, action: action, site: &writetest.Site{Name: fmt.Sprintf("v%02d-%s", len(list)+1, action)}}
			list = append(list, v)
			for _, product := range productsOf(action) {
				limits[product+"/"+action] = map[string]any{"calls": 60_000, "window": "60s"}
			}
		}
	}
	return list, limits
}

// productsOf are the products that have an action of the name.
func productsOf(action string) []string {
	about := func(things ...string) bool {
		return slices.ContainsFunc(things, func(thing string) bool { return strings.Contains(action, thing) })
	}
	switch {
	case action == "TagResources":
		return []string{"slb", "vpc", "ecs"}
	case action == "UntagResources":
		return []string{"slb", "ecs"}
	case about("Eip", "Route", "VSwitch", "UnTag"):
		return []string{"vpc"}
	case about("NetworkInterface", "InstanceAttribute", "SecurityGroup"), strings.HasSuffix(action, "Instance"):
		return []string{"ecs"}
	}
	return []string{"slb"}
}

// prepare makes what the victims need.
func (w testWorld) prepare(t *testing.T, c *gateway.Client, victims []victim) {
	t.Helper()
	var group errgroup.Group
	group.SetLimit(8)
	for i, v := range victims {
		group.Go(func() error {
			if err := w.Cloud().Seed(t.Context(), v.site.Seed(16+i)); err != nil {
				return err
			}
			if err := v.Prepare(t.Context(), c, v.site); err != nil {
				return fmt.Errorf("prepare %s: %w", v.site.Name, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// startOver gives the cloud a state, and starts gateways that know nothing: the active one, and the standby if it is the heir.
func (w testWorld) startOver(t *testing.T, c *gateway.Client, s *state.Cloud, heir string) {
	t.Helper()
	for _, name := range []string{standby, active} {
		if err := w.Process(name).Stop(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Cloud().ClearFaults(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.Cloud().SetState(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	w.restart(t, active)
	w.served(t, c)
	if heir == standby {
		w.restart(t, standby)
	}
}

func (w testWorld) restart(t *testing.T, name string) {
	t.Helper()
	if err := w.Restart(t.Context(), name); err != nil {
		t.Fatalf("restart: %v", err)
	}
}

// heldFor is less than the gateway waits for the answer to a call.
const heldFor = 18 * time.Second

// killDuring kills the active gateway while the cloud holds a call of every victim, lets them all go on with the heir, and returns
// what each had to do. It returns nothing where the machine took so long that the gateway may have given the first calls up.
func (w testWorld) killDuring(t *testing.T, c *gateway.Client, d death, victims []victim) []string {
	t.Helper()
	var rules []fault.Rule
	for _, v := range victims {
		// A call that is held before its effect never has it: its connection breaks.
		rules = append(rules, fault.Rule{
			ID: v.site.Name, Action: v.action, Params: v.site.Params(v.action), Times: 1,
			When: d.when, Drop: d.when == fault.Before, Latency: api.Duration(time.Hour),
		})
	}
	if err := w.Cloud().SetFaults(t.Context(), rules...); err != nil {
		t.Fatal(err)
	}
	_, since, err := w.Cloud().Calls(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	begun := time.Now()
	var calls errgroup.Group
	broken, outcomes := make([]error, len(victims)), make([]string, len(victims))
	for i, v := range victims {
		calls.Go(func() error {
			if broken[i] = v.Run(ctx, c, v.site); ctx.Err() == nil && status.Code(broken[i]) != codes.Unavailable {
				return fmt.Errorf("%s: got %w, want UNAVAILABLE", v.site.Name, broken[i])
			}
			again := v.Run
			if outcomes[i] = "UNAVAILABLE"; v.Resume != nil {
				again, outcomes[i] = v.Resume, "UNAVAILABLE, look"
			}
			if err := goOn(ctx, c, again, v.site); ctx.Err() == nil && err != nil {
				return fmt.Errorf("%s, with the next gateway: %w", v.site.Name, err)
			}
			return nil
		})
	}
	// The journal has hundreds of calls: to read it more often would keep the cloud from answering.
	eventuallyEvery(t, 5*pollInterval, "the cloud holds a call of each", func(ctx context.Context) error {
		return w.held(ctx, d.when, since, victims)
	})
	if took := time.Since(begun); took > heldFor {
		cancel()
		_ = calls.Wait() // They were broken off.
		t.Logf("again, since it took %s until the cloud held a call of each", took.Round(time.Millisecond))
		return nil
	}
	killed := time.Now()
	if err := w.Kill(active); err != nil {
		t.Fatal(err)
	}
	if d.heir == active {
		w.restart(t, active)
	}
	w.served(t, c)
	t.Logf("the next gateway served %s after the death of the last", time.Since(killed).Round(time.Millisecond))
	if err := calls.Wait(); err != nil {
		t.Error(err)
	}
	for i, v := range victims {
		w.seen.saw(v.site.Name, broken[i])
	}
	return outcomes
}

// goOn repeats a step until there is a gateway to answer it.
func goOn(ctx context.Context, c *gateway.Client, step writetest.Step, at *writetest.Site) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		_, err := c.Capabilities.GetCapabilities(ctx, &commonv1.GetCapabilitiesRequest{}, grpc.WaitForReady(true))
		if err == nil {
			err = step(ctx, c, at)
		}
		if status.Code(err) != codes.Unavailable {
			return err
		}
	}
}

// held gives nil if the cloud holds a call of each victim, before its effect or after it.
func (w testWorld) held(ctx context.Context, when fault.When, since int64, victims []victim) error {
	rules, err := w.Cloud().Faults(ctx)
	if err != nil {
		return err
	}
	calls, _, err := w.Cloud().Calls(ctx, since)
	if err != nil {
		return err
	}
	there := map[string]bool{}
	for _, r := range rules {
		there[r.ID] = when == fault.Before && r.Struck == 1
	}
	for _, call := range calls {
		if call.Fault != "" && when == fault.After {
			there[call.Fault] = call.Effect
		}
	}
	missing := slices.DeleteFunc(slices.Clone(victims), func(v victim) bool { return there[v.site.Name] })
	if len(missing) > 0 {
		return fmt.Errorf("%d are missing, first %s", len(missing), missing[0].site.Name)
	}
	return nil
}

// checkPage compares the published page with what came out.
func checkPage(t *testing.T, got string) {
	t.Helper()
	root, err := binaries.Root()
	if err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(root, "docs", "reference", "killed-gateway.md")
	if *update {
		if err := os.WriteFile(page, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	published, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(published), got); diff != "" {
		t.Errorf("run the test with -update and review the change (-page +got):\n%s", diff)
	}
}

// render makes the page.
func render(victims []victim, outcomes map[string][]string) string {
	var b strings.Builder
	b.WriteString(`# The gateway killed in the middle of writes

<!-- Made by TestKilledGateway of deploy/test/e2e with -update; do not edit. -->

The test runs real processes: an API server, the simulated cloud, and the gateway with leader election. A Go client sends one RPC
for each row, all at the same time. The simulated cloud holds the named call of each, and when it holds all of them, the gateway's
process is killed with SIGKILL. In the end the test compares all that the cloud holds with an undisturbed run: every
effect is there exactly once, and nothing else is.

- **Before** is a call held before its effect, which it then never has; **after** is one that has had its effect and of which only
  the answer is outstanding.
- **Restarted**: the gateway's process is started again; **standby**: a second one, which has waited, takes over. Either begins when the
  lease of the killed one has ended (in the test a lease of 12 s).
- **UNAVAILABLE**: the caller can't know. It repeats the RPC with the same ` + "`request_id`" + `,
  and the next gateway does what is missing.
- **UNAVAILABLE, look**: the caller looks for what it wanted to create before it goes on, since only the killed gateway remembered.

What else can go wrong with a call is in [fault-matrix.md](fault-matrix.md).

`)
	b.WriteString("| RPC | cloud call |")
	for _, d := range deaths() {
		fmt.Fprintf(&b, " %s |", d.name)
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---|", len(deaths())) + "\n")
	for i, v := range victims {
		fmt.Fprintf(&b, "| %s | %s |", v.Name, v.action)
		for _, d := range deaths() {
			fmt.Fprintf(&b, " %s |", outcomes[d.name][i])
		}
		b.WriteString("\n")
	}
	return b.String()
}
