package openapisim_test

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// texts are names and the like, as clients send them by mistake or malice.
func texts() []string {
	return []string{"", "a", strings.Repeat("a", 300), "<b>'\"&", "ü\x00", "\xff"}
}

// garbage is what some parameters take and others can't.
func garbage() []string {
	return []string{
		"0", "1", "80", "-1", "65536", "99999999999999999999", "true", "on", "off", ",", ",,,", "a,b", "_", "__", "lb-1_tcp_80", "/", "*", "[",
		"[]", "{}", "null", "[null]", "[{}]", "[[]]", "[1]", `["i-1"]`, `"x"`, `"`, `\`, `[{"ServerId":null}]`, `[{"ServerId":["x"],"Port":{}}]`,
		`[{"ServerId":"i-1","Port":1e99,"Weight":null}]`, "::1", "::/0", "0.0.0.0/0", "10.0.0.0/8", "10.0.0.1/33", "1/65535",
		"-1/-1", "tcp", "udp",
		"http", "instance", "listener", "VPC", "EIP", "SlbInstance", "all", "accept", "2026-01-01T00:00:00Z",
	}
}

// TestGarbage calls actions with whatever comes, so that much is refused and some is done. No call makes the cloud fail, and what
// it then holds survives a snapshot.
func TestGarbage(t *testing.T) {
	t.Parallel()
	products := slices.DeleteFunc(openapisim.Products(), func(p api.Product) bool { return len(p.Actions) == 0 })
	const calls = 3000
	random := rand.New(rand.NewPCG(1, 2))
	sim := newCloud(t, openapisim.Config{LimitsOff: true, Seed: populated()})
	c := newClient(t, sim)
	succeeded := 0
	var values [][]string
	for n := range calls {
		if n%100 == 0 {
			values = [][]string{texts(), garbage(), ids(sim)}
			checkSnapshot(t, sim)
		}
		product := pick(random, products)
		action := pick(random, product.Actions)
		params := garble(random, action, values)
		_, code := c.call(product.Name, action.Name, params...)
		switch code {
		case "":
			succeeded++
		case "InternalError", "broken":
			t.Errorf("%s %q: %s", action.Name, params, code)
		}
	}
	if succeeded < calls/10 {
		t.Errorf("%d calls of %d succeeded; nothing was put to the test", succeeded, calls)
	}
	if status, page := admin(t, sim, http.MethodGet, "/console", ""); status != http.StatusOK {
		t.Errorf("console: %d %s", status, page)
	}
}

// checkSnapshot restores a snapshot and compares it with the next one.
func checkSnapshot(t *testing.T, sim *openapisim.Simulator) {
	t.Helper()
	snapshot, err := sim.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if err := sim.Restore(snapshot); err != nil {
		t.Fatalf("%v in %s", err, snapshot)
	}
	if again, err := sim.Snapshot(); err != nil || !bytes.Equal(again, snapshot) {
		t.Fatalf("the snapshot\n%s\nbecame\n%s, %v", snapshot, again, err)
	}
}

func pick[T any](random *rand.Rand, from []T) T { return from[random.IntN(len(from))] }

// garble gives an action its required parameters and some others, with values of all kinds.
func garble(random *rand.Rand, action api.Action, values [][]string) []string {
	var params []string
	add := func(name string) { params = append(params, name, pick(random, pick(random, values))) }
	for _, p := range action.Params {
		if p.Name == "RegionId" || !p.Required && random.IntN(3) > 0 {
			continue
		}
		switch {
		case p.Kind == api.Strings:
			add(p.Name + ".1")
			add(p.Name + ".2")
		case p.Kind == api.Structs:
			for _, member := range []string{"Key", "Value", "RouteTableId", "DstCidrBlock", "NextHop", "NextHopType", "IpProtocol", "PortRange"} {
				add(p.Name + ".1." + member)
			}
		case len(p.Enum) > 0 && random.IntN(2) == 0:
			params = append(params, p.Name, pick(random, p.Enum))
		default:
			add(p.Name)
		}
	}
	return params
}

// ids are those of most things in the cloud, in order.
func ids(sim *openapisim.Simulator) []string {
	var all []string
	sim.View(func(c *state.Cloud) {
		all = slices.Concat(
			slices.Collect(maps.Keys(c.LoadBalancers)), slices.Collect(maps.Keys(c.ServerGroups)), slices.Collect(maps.Keys(c.Certificates)),
			slices.Collect(maps.Keys(c.Acls)), slices.Collect(maps.Keys(c.Instances)), slices.Collect(maps.Keys(c.Interfaces)),
			slices.Collect(maps.Keys(c.Vpcs)), slices.Collect(maps.Keys(c.VSwitches)), slices.Collect(maps.Keys(c.RouteTables)),
			slices.Collect(maps.Keys(c.Eips)), slices.Collect(maps.Keys(c.SecurityGroups)),
		)
	})
	slices.Sort(all)
	return all
}
