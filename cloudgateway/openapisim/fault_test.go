package openapisim_test

import (
	"testing"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// What a client sees, what the cloud did, and what the journal says, for each way in which a write can go wrong.
func TestFaultsOfWrites(t *testing.T) {
	t.Parallel()
	unavailable := &fault.Error{Status: 503, Code: "ServiceUnavailable", Message: "later"}
	tests := []struct {
		name    string
		rule    fault.Rule
		code    string // what the client gets
		effect  bool
		journal string
		status  int
	}{
		{"error before", fault.Rule{Error: unavailable}, "ServiceUnavailable", false, "ServiceUnavailable", 503},
		{"error after", fault.Rule{Error: unavailable, When: fault.After}, "ServiceUnavailable", true, "ServiceUnavailable", 503},
		{"dropped before", fault.Rule{Drop: true}, "broken", false, "ConnectionDropped", 0},
		{"dropped after", fault.Rule{Drop: true, When: fault.After}, "broken", true, "ConnectionDropped", 0},
		{"slow", fault.Rule{Latency: api.Duration(30 * time.Millisecond)}, "", true, "", 200},
		{"slow answer", fault.Rule{Latency: api.Duration(30 * time.Millisecond), When: fault.After}, "", true, "", 200},
		{"empty does not concern writes", fault.Rule{Empty: true}, "", true, "", 200},
		{"not this action", fault.Rule{Drop: true, Action: "Delete*"}, "", true, "", 200},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			sim := newCloud(t, openapisim.Config{})
			tt.rule.ID = "it"
			if err := sim.SetFaults(tt.rule); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			_, code := newClient(t, sim).call("vpc", "CreateRouteEntry",
				"RouteTableId", tableID, "DestinationCidrBlock", "10.0.0.0/24", "NextHopId", "i-1")
			if code != tt.code {
				t.Errorf("client got %q, want %q", code, tt.code)
			}
			if took := time.Since(start); took < time.Duration(tt.rule.Latency) {
				t.Errorf("answered after %v", took)
			}
			custom := 0
			sim.View(func(c *state.Cloud) {
				for _, e := range c.RouteTables[tableID].Entries {
					if e.Type == "Custom" {
						custom++
					}
				}
			})
			if (custom == 1) != tt.effect {
				t.Errorf("%d entries, effect %v wanted", custom, tt.effect)
			}
			call := sim.Calls(0)[0]
			if call.Code != tt.journal || call.Status != tt.status || call.Effect != tt.effect ||
				call.Latency < float64(time.Duration(tt.rule.Latency).Milliseconds()) {
				t.Errorf("journal %+v", call)
			}
			if struck := sim.Faults()[0].Struck; (struck == 1) != (call.Fault == "it") {
				t.Errorf("struck %d times, journal says %q", struck, call.Fault)
			}
		})
	}
}

// A caller without permission on resources gets empty lists, not errors.
func TestEmptyAnswers(t *testing.T) {
	t.Parallel()
	sim := newCloud(t, openapisim.Config{})
	if err := sim.SetFaults(fault.Rule{Product: "ecs", Empty: true, Times: 1}); err != nil {
		t.Fatal(err)
	}
	c := newClient(t, sim)
	for _, want := range []float64{0, 2} {
		if total := c.must("ecs", "DescribeInstances")["TotalCount"]; total != want {
			t.Errorf("%v instances, want %v", total, want)
		}
	}
}

// A client that repeats a create whose answer was lost, with the same ClientToken, gets the first result.
func TestLostAnswerAndClientToken(t *testing.T) {
	t.Parallel()
	sim := newCloud(t, openapisim.Config{})
	if err := sim.SetFaults(fault.Rule{Action: "CreateRouteEntry", When: fault.After, Drop: true, Times: 1}); err != nil {
		t.Fatal(err)
	}
	c := newClient(t, sim)
	create := []string{"RouteTableId", tableID, "DestinationCidrBlock", "10.0.0.0/24", "NextHopId", "i-1", "ClientToken", "token-1"}
	if _, code := c.call("vpc", "CreateRouteEntry", create...); code != "broken" {
		t.Fatalf("code %q", code)
	}
	first := c.must("vpc", "CreateRouteEntry", create...)["RouteEntryId"]
	listed := c.must("vpc", "DescribeRouteEntryList", "RouteTableId", tableID, "RouteEntryType", "Custom")
	if id := at(t, listed, "RouteEntrys", "RouteEntry", 0, "RouteEntryId"); id != first || first == "" {
		t.Errorf("created %v, listed %v", first, id)
	}
	create[3] = "10.0.1.0/24"
	if _, code := c.call("vpc", "CreateRouteEntry", create...); code != "IdempotentParameterMismatch" {
		t.Errorf("other parameters: %q", code)
	}
}
