package fault

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func busy() *Error { return &Error{Code: "SystemBusy"} }

func TestWhichCallsAreStruck(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		rule Rule
		want string // of eight equal calls, x is struck
	}{
		{"always", Rule{Error: busy()}, "xxxxxxxx"},
		{"once", Rule{Error: busy(), Times: 1}, "x......."},
		{"third only", Rule{Error: busy(), Nth: 3, Times: 1}, "..x....."},
		{"from the third", Rule{Error: busy(), Nth: 3}, "..xxxxxx"},
		{"for four seconds", Rule{Error: busy(), For: api.Duration(4 * time.Second)}, "xxxx...."},
		{"another action", Rule{Error: busy(), Action: "Create*"}, "........"},
		{"pattern", Rule{Error: busy(), Action: "Delete*", Product: "[sv]*"}, "xxxxxxxx"},
		{"parameter", Rule{Error: busy(), Params: map[string]string{"LoadBalancerId": "lb-?"}}, "xxxxxxxx"},
		{"parameter with slashes", Rule{Error: busy(), Params: map[string]string{"Entries": "*10.0.1.*"}}, "xxxxxxxx"},
		{"pattern with a slash", Rule{Error: busy(), Params: map[string]string{"Entries": "*/24*[/]24*"}}, "xxxxxxxx"},
		{"another parameter", Rule{Error: busy(), Params: map[string]string{"LoadBalancerId": "lb-2"}}, "........"},
		{"parameter not sent", Rule{Error: busy(), Params: map[string]string{"Name": "x*"}}, "........"},
		{"empty answers are for reads", Rule{Empty: true, Times: 1}, "........"},
		{"stale answers are for reads", Rule{Stale: true, Times: 1}, "........"},
		{"parameter that must not be sent", Rule{Error: busy(), Params: map[string]string{"Name": ""}}, "xxxxxxxx"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			set := NewSet(func() (*state.Cloud, error) { return &state.Cloud{}, nil })
			if err := set.Replace([]Rule{tt.rule}, epoch); err != nil {
				t.Fatal(err)
			}
			call := Call{Product: "slb", Action: "DeleteLoadBalancer", Mutating: true, Params: map[string]string{
				"LoadBalancerId": "lb-1", "Entries": `["10.0.0.0/24","10.0.1.0/24"]`,
			}}
			got := ""
			for i := range 8 {
				if set.Strike(call, epoch.Add(time.Duration(i)*time.Second)) == nil {
					got += "."
				} else {
					got += "x"
				}
			}
			if got != tt.want {
				t.Errorf("struck %s, want %s", got, tt.want)
			}
		})
	}
}

func TestProbability(t *testing.T) {
	t.Parallel()
	set := NewSet(nil)
	if err := set.Replace([]Rule{{Probability: 0.25, Drop: true}}, epoch); err != nil {
		t.Fatal(err)
	}
	for range 4000 {
		set.Strike(Call{Product: "slb", Action: "A"}, epoch)
	}
	if r := set.Rules()[0]; r.Matched != 4000 || r.Struck < 900 || r.Struck > 1100 {
		t.Errorf("struck %d of %d", r.Struck, r.Matched)
	}
}

func TestFirstRuleWins(t *testing.T) {
	t.Parallel()
	set := NewSet(nil)
	if err := set.Replace([]Rule{{ID: "a", Times: 1, Drop: true}, {ID: "b", Drop: true}}, epoch); err != nil {
		t.Fatal(err)
	}
	if err := set.Add([]Rule{{Drop: true}}, epoch); err != nil {
		t.Fatal(err)
	}
	var got []string
	for range 3 {
		got = append(got, set.Strike(Call{Product: "slb", Action: "A"}, epoch).ID)
	}
	if diff := cmp.Diff([]string{"a", "b", "b"}, got); diff != "" {
		t.Errorf("struck by (-want +got):\n%s", diff)
	}
	if rules := set.Rules(); len(rules) != 3 || rules[2].ID != "fault-1" || rules[2].Matched != 0 || rules[1].Struck != 2 {
		t.Errorf("rules %+v", rules)
	}
}

func TestWrongRulesChangeNothing(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, want string
		rule       Rule
	}{
		{"nothing happens", "one of them is required", Rule{Action: "A"}},
		{"two effects", "only one of them", Rule{Drop: true, Error: busy()}},
		{"pattern", `action: "[" is no pattern`, Rule{Action: "[", Drop: true}},
		{"parameter pattern", `params.P: "[" is no pattern`, Rule{Params: map[string]string{"P": "["}, Drop: true}},
		{"times", "times: -1", Rule{Times: -1, Drop: true}},
		{"probability", "probability: 2", Rule{Probability: 2, Drop: true}},
		{"when", `when: "later"`, Rule{When: "later", Drop: true}},
		{"code", "error.code", Rule{Error: &Error{}}},
		{"status", "error.status: 200", Rule{Error: &Error{Code: "C", Status: 200}}},
		{"empty after", "together with empty", Rule{Empty: true, When: After}},
		{"stale after", "together with stale", Rule{Stale: true, When: After}},
		{"stale and empty", "only one of them", Rule{Stale: true, Empty: true}},
		{"item without error", "error: is required together with item", Rule{Item: map[string]string{"NextHop": "i-1"}, Drop: true}},
		{"item after", "together with item", Rule{Item: map[string]string{"NextHop": "i-1"}, Error: busy(), When: After}},
		{"item pattern", `item.P: "[" is no pattern`, Rule{Item: map[string]string{"P": "["}, Error: busy()}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			set := NewSet(func() (*state.Cloud, error) { return &state.Cloud{}, nil })
			if err := set.Replace([]Rule{{ID: "kept", Drop: true}}, epoch); err != nil {
				t.Fatal(err)
			}
			err := set.Replace([]Rule{{Drop: true}, tt.rule}, epoch)
			if err == nil || !strings.Contains(err.Error(), "faults[1]") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
			if rules := set.Rules(); len(rules) != 1 || rules[0].ID != "kept" {
				t.Errorf("rules %+v", rules)
			}
		})
	}
}

// A rule that was read can be written back.
func TestRuleSurvivesJSON(t *testing.T) {
	t.Parallel()
	rule := Rule{
		ID: "x", Product: "slb", Action: "A", Params: map[string]string{"P": "v"}, Nth: 2, Times: 3, Probability: 0.5,
		For: api.Duration(time.Minute), When: After, Latency: api.Duration(1500 * time.Millisecond),
		Error: &Error{Status: 503, Code: "ServiceUnavailable", Message: "m", RetryAfter: api.Duration(time.Second)},
	}
	text, err := json.Marshal(rule)
	if err != nil {
		t.Fatal(err)
	}
	var got Rule
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if got.Latency != rule.Latency || got.For != rule.For || *got.Error != *rule.Error || !strings.Contains(string(text), `"latency":"1.5s"`) {
		t.Errorf("%s became %+v", text, got)
	}
}
