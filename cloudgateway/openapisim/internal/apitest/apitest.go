// Package apitest calls the actions of a product in tests, without HTTP: parameters are checked by the table, and results
// are seen as JSON.
package apitest

import (
	"encoding/json"
	"testing"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/wire"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// Caller calls a product.
type Caller struct {
	Cloud    *state.Cloud
	Settings api.Settings
	Now      time.Time
	Job      *api.JobFault // what becomes of the jobs of calls
	ByChance bool          // the calls are drawn at random: what they get is not recorded for [Main]

	t       testing.TB
	product api.Product
	actions map[string]api.Action
}

// Region and Account are those of the caller.
const (
	Region  = "cn-hangzhou"
	Account = "1000000000000001"
)

// New returns a caller of a product with fast settings.
func New(t testing.TB, product api.Product, cloud *state.Cloud) *Caller {
	t.Helper()
	c := &Caller{
		Cloud: cloud, Settings: api.FastSettings(), Now: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC),
		t: t, product: product, actions: map[string]api.Action{},
	}
	for _, a := range product.Actions {
		c.actions[a.Name] = a
	}
	return c
}

// Pass moves the clock.
func (c *Caller) Pass(d time.Duration) { c.Now = c.Now.Add(d) }

// Call calls an action with parameters as name, value, …; the region is added. It returns the result or the error code.
// A failed write and a read must leave the state as it was.
func (c *Caller) Call(action string, params ...string) (map[string]any, string) {
	c.t.Helper()
	result, code := c.call(action, params...)
	if !c.ByChance {
		Saw(action, code)
	}
	return result, code
}

func (c *Caller) call(action string, params ...string) (map[string]any, string) {
	c.t.Helper()
	a, ok := c.actions[action]
	if !ok {
		c.t.Fatalf("no action %s", action)
	}
	values := map[string]string{"RegionId": Region, "Action": action}
	for i := 0; i < len(params); i += 2 {
		values[params[i]] = params[i+1]
	}
	p := api.NewParams(wire.Structured(a.Params, values))
	if err := wire.CheckParams(c.product.Malformed, a.Params, &p, &c.Settings); err != nil {
		return nil, err.Code
	}
	ctx := &api.Context{
		Params: p, State: c.Cloud, Now: c.Now, Account: Account, Region: Region, Regions: []string{Region}, RequestID: "r",
		AccessKeyID: "k", Settings: &c.Settings,
		Job: c.Job,
	}
	if c.product.Settle != nil {
		c.product.Settle(ctx)
	}
	judged, before := c.Settings == api.FastSettings(), ""
	if judged {
		before = c.state()
	}
	result, err := a.Handle(ctx)
	if judged && (err != nil || !a.Mutating) && c.state() != before {
		c.t.Errorf("%s %v changed the state (%v)", action, params, err)
	}
	if err != nil {
		if err.Message == "" || err.Status < 400 {
			c.t.Errorf("%s: incomplete error %+v", action, err)
		}
		return nil, err.Code
	}
	return c.decode(result), ""
}

// Must is Call for what has to succeed.
func (c *Caller) Must(action string, params ...string) map[string]any {
	c.t.Helper()
	result, code := c.Call(action, params...)
	if code != "" {
		c.t.Fatalf("%s %v: %s", action, params, code)
	}
	return result
}

func (c *Caller) state() string {
	text, err := json.Marshal(c.Cloud)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(text)
}

func (c *Caller) decode(result any) map[string]any {
	if result == nil {
		return map[string]any{}
	}
	text, err := json.Marshal(result)
	if err != nil {
		c.t.Fatal(err)
	}
	var out map[string]any
	if text[0] != '{' { // in ROA style
		text = append(append([]byte(`{"":`), text...), '}')
	}
	if err := json.Unmarshal(text, &out); err != nil {
		c.t.Fatalf("result %s: %v", text, err)
	}
	return out
}

// List returns the members called name of the objects in a wrapped list, such as (answer, "InstanceId", "Instances", "Instance").
func List(answer map[string]any, name string, path ...string) []string {
	var at any = answer
	for _, step := range path {
		object, _ := at.(map[string]any)
		at = object[step]
	}
	items, _ := at.([]any)
	out := []string{}
	for _, item := range items {
		object, _ := item.(map[string]any)
		value, _ := object[name].(string)
		out = append(out, value)
	}
	return out
}
