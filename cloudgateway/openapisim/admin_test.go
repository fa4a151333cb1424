package openapisim_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
)

func TestAdminRequests(t *testing.T) {
	t.Parallel()
	sim := newCloud(t, openapisim.Config{})
	c := newClient(t, sim)
	c.must("ecs", "DescribeInstances")
	c.call("slb", "DeleteLoadBalancer", "LoadBalancerId", "lb-none")
	tests := []struct { // in this order
		method, path, body string
		status             int
		want               string
	}{
		{"GET", "/admin/healthz", "", 200, `"ok"`},
		{"GET", "/admin/nothing", "", 404, ""},
		{"POST", "/admin/state", "{}", 405, ""},

		{"GET", "/admin/calls?since=0", "", 200, `"seq":1,"time":"`},
		{"GET", "/admin/calls?since=0", "", 200, `"next":2}`},
		{"GET", "/admin/calls?since=1", "", 200, `{"calls":[{"seq":2,`},
		{"GET", "/admin/calls", "", 200, `"status":404,"code":"InvalidLoadBalancerId.NotFound","mutating":true,"latency_ms":`},
		{"GET", "/admin/calls?since=2", "", 200, `{"calls":[],"next":2}`},
		{"GET", "/admin/calls?since=x", "", 400, `since: "x" is no number`},
		{"DELETE", "/admin/calls", "", 204, ""},
		{"GET", "/admin/calls", "", 200, `{"calls":[],"next":2}`},

		{"PUT", "/admin/faults", `{"faults":[{"action":"A","drop":true}]}`, 200, `"id":"fault-1"`},
		{"POST", "/admin/faults", `{"faults":[{"id":"b","latency":"1s"}]}`, 200, `"id":"b"`},
		{"GET", "/admin/faults", "", 200, `"id":"fault-1","action":"A"`},
		{"PUT", "/admin/faults", `{"faults":[{"action":"A"}]}`, 400, "faults[0]"},
		{"PUT", "/admin/faults", `{"fault":[]}`, 400, `unknown field "fault"`},
		{"GET", "/admin/faults", "", 200, `"latency":"1s"`},
		{"DELETE", "/admin/faults", "", 204, ""},
		{"GET", "/admin/faults", "", 200, `{"faults":[]}`},

		{"GET", "/admin/limits", "", 200, `"slb/CreateVServerGroup":{"calls":90,"window":"1m0s"}`},
		{"PUT", "/admin/limits", `{"enabled":false,"settings":{"serversPerCall":40,"quotas":{"eips":3}}}`, 200, `{"enabled":false,`},
		{"GET", "/admin/limits", "", 200, `"serversPerCall":40`},
		{"GET", "/admin/limits", "", 200, `"eips":3`},
		{"GET", "/admin/limits", "", 200, `"loadBalancers":60`},
		{"PUT", "/admin/limits", `{"actions":{"slb/SetRule":{"calls":1}}}`, 400, "limit of slb/SetRule: window"},
		{"PUT", "/admin/limits", `{"actions":{"slb/SetRuler":{"calls":1,"window":"5s"}}}`, 400, "limit of slb/SetRuler: there is no such action"},
		{"PUT", "/admin/limits", `{"actions":{"SetRule":{"calls":1,"window":"5s"}}}`, 400, "limit of SetRule: there is no such action"},
		{"PUT", "/admin/limits", `{"settings":{"speed":1}}`, 400, `unknown setting "speed"`},
		{"PUT", "/admin/limits", `{"settings":{"serversPerCall":7,"quotas":{"eips":-1}}}`, 400, "eips: -1"},
		{"GET", "/admin/limits", "", 200, `"serversPerCall":40`},
		{"PUT", "/admin/limits", `{"actions":{"slb/SetRule":{"calls":1,"window":"5s"}}}`, 200, `"slb/SetRule":{"calls":1,"window":"5s"}`},
		{"PUT", "/admin/limits", `{"actions":{"sts/AssumeRole":{"calls":1,"window":"5s"}}}`, 200, `"sts/AssumeRole":{"calls":1,"window":"5s"}`},

		{"PUT", "/admin/clock", `{"set":"2026-01-01T00:00:00Z"}`, 200, `{"now":"2026-01-01T00:00:00Z","frozen":true}`},
		{"PUT", "/admin/clock", `{"advance":"90s"}`, 200, `{"now":"2026-01-01T00:01:30Z","frozen":true}`},
		{"GET", "/admin/clock", "", 200, `"2026-01-01T00:01:30Z"`},
		{"PUT", "/admin/clock", `{"set":"0001-01-01T00:00:00Z"}`, 200, `{"now":"0001-01-01T00:00:00Z","frozen":true}`},
		{"PUT", "/admin/clock", `{}`, 400, "exactly one of"},
		{"PUT", "/admin/clock", `{"real":true,"advance":"1s"}`, 400, "exactly one of"},
		{"PUT", "/admin/clock", `{"advance":"soon"}`, 400, "soon"},
		{"PUT", "/admin/clock", `{"real":true}`, 200, `"frozen":false`},

		{"PUT", "/admin/seed", `{"eips":{"eip-1":{"address":"1.2.3.4"}}}`, 204, ""},
		{"GET", "/admin/state", "", 200, `"eip-1":{"id":"eip-1","address":"1.2.3.4","bandwidth":"5","status":"Available"}`},
		{"PUT", "/admin/seed", `{"eips":{"a":{"id":"b"}}}`, 400, `eips["a"]`},
		{"PUT", "/admin/seed", `[]`, 400, "array"},
		{"PUT", "/admin/state", `{"region":"cn-mars"}`, 400, "cn-mars"},
		{"PUT", "/admin/state", `{}`, 204, ""},
		{"GET", "/admin/state", "", 200, `"eips":{}`},
	}
	for _, tt := range tests {
		status, body := admin(t, sim, tt.method, tt.path, tt.body)
		if status != tt.status || !strings.Contains(body, tt.want) {
			t.Errorf("%s %s %s: %d %s, want %d %s", tt.method, tt.path, tt.body, status, body, tt.status, tt.want)
		}
	}
}

// Who changes one setting does not undo what others change at the same time.
func TestSettingsChangeAtTheSameTime(t *testing.T) {
	t.Parallel()
	sim := newCloud(t, openapisim.Config{})
	var wg sync.WaitGroup
	for quota := range reflect.TypeFor[api.Quotas]().Fields() {
		wg.Go(func() {
			document := `{"settings":{"quotas":{"` + quota.Tag.Get("json") + `":7}}}`
			if status, body := admin(t, sim, http.MethodPut, "/admin/limits", document); status != 200 {
				t.Error(body)
			}
		})
	}
	wg.Wait()
	for quota, value := range reflect.ValueOf(sim.Settings().Quotas).Fields() {
		if value.Int() != 7 {
			t.Errorf("%s is %d, want 7", quota.Name, value.Int())
		}
	}
}

// What GET answers, PUT accepts.
func TestAdminDocumentsCanBeWrittenBack(t *testing.T) {
	t.Parallel()
	sim := newCloud(t, openapisim.Config{})
	if status, body := admin(t, sim, http.MethodPut, "/admin/faults", `{"faults":[{"action":"A","nth":2,"drop":true}]}`); status != 200 {
		t.Fatal(body)
	}
	for _, path := range []string{"/admin/faults", "/admin/limits", "/admin/state"} {
		_, before := admin(t, sim, http.MethodGet, path, "")
		if status, body := admin(t, sim, http.MethodPut, path, before); status/100 != 2 {
			t.Errorf("PUT %s: %d %s", path, status, body)
		}
		if _, after := admin(t, sim, http.MethodGet, path, ""); after != before {
			t.Errorf("%s changed from %s to %s", path, before, after)
		}
		if !json.Valid([]byte(before)) {
			t.Errorf("%s is no JSON", path)
		}
	}
}
