package limit

import (
	"testing"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/ecs"
	"alicloud-controllers.dev/cloudgateway/openapisim/slb"
	"alicloud-controllers.dev/cloudgateway/openapisim/vpc"
)

var minute = time.Date(2026, 1, 1, 12, 30, 0, 0, time.UTC)

func allowed(l *Limiter, action string, calls int, at time.Time) (n int, wait time.Duration) {
	for range calls {
		w, ok := l.Allow("slb", action, at)
		if ok {
			n++
		} else {
			wait = w
		}
	}
	return n, wait
}

func newLimiter(t *testing.T, enabled bool) *Limiter {
	t.Helper()
	table, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	return New(table, enabled)
}

func TestDefault(t *testing.T) {
	t.Parallel()
	table, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	for action, want := range map[string]Limit{
		"slb/CreateLoadBalancer":    {60, api.Duration(time.Minute)},
		"slb/CreateVServerGroup":    {90, api.Duration(time.Minute)},
		"slb/ListTagResources":      {10, api.Duration(time.Second)},
		"slb/DescribeLoadBalancers": {3000, api.Duration(time.Minute)},
		"vpc/CreateRouteEntries":    {300, api.Duration(time.Minute)},
		"ecs/DescribeInstances":     {600, api.Duration(time.Minute)},
	} {
		if table[action] != want {
			t.Errorf("%s: %v, want %v", action, table[action], want)
		}
	}
}

// An action without a limit is one that was forgotten. STS and Location publish none.
func TestEveryActionHasALimit(t *testing.T) {
	t.Parallel()
	table, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	for _, product := range []api.Product{slb.Product(), vpc.Product(), ecs.Product()} {
		for _, action := range product.Actions {
			if table[product.Name+"/"+action.Name].Calls == 0 {
				t.Errorf("%s/%s has no limit", product.Name, action.Name)
			}
		}
	}
}

// The last of two rows would count, and nobody would know.
func TestNoActionHasTwoLimits(t *testing.T) {
	t.Parallel()
	const row = "vpc,DescribeVpcs,300,60,no\n"
	if table, err := parse("product,action,calls,window_s,published\n" + row); err != nil || len(table) != 1 {
		t.Errorf("one row: %v, %v", table, err)
	}
	if _, err := parse("product,action,calls,window_s,published\n" + row + row); err == nil {
		t.Error("two rows of one action are taken")
	}
}

func TestFixedWindow(t *testing.T) {
	t.Parallel()
	l := newLimiter(t, true)
	at := minute.Add(50 * time.Second)
	if n, wait := allowed(l, "CreateVServerGroup", 200, at); n != 90 || wait != 10*time.Second {
		t.Errorf("%d calls allowed, wait %v", n, wait)
	}
	if n, _ := allowed(l, "DeleteVServerGroup", 10, at); n != 10 {
		t.Error("actions share a budget")
	}
	if n, _ := allowed(l, "CreateVServerGroup", 1, minute.Add(60*time.Second-1)); n != 0 {
		t.Error("allowed before the next minute")
	}
	if n, _ := allowed(l, "CreateVServerGroup", 200, minute.Add(time.Minute)); n != 90 {
		t.Errorf("%d calls allowed in the next minute", n)
	}
}

func TestTokenBucket(t *testing.T) {
	t.Parallel()
	l := newLimiter(t, true)
	if n, wait := allowed(l, "ListTagResources", 25, minute); n != 10 || wait != 100*time.Millisecond {
		t.Errorf("%d calls allowed at once, wait %v", n, wait)
	}
	if n, _ := allowed(l, "ListTagResources", 25, minute.Add(500*time.Millisecond)); n != 5 {
		t.Errorf("%d calls allowed after half a second", n)
	}
	if n, _ := allowed(l, "ListTagResources", 25, minute.Add(time.Hour)); n != 10 {
		t.Errorf("%d calls allowed after an hour", n)
	}
	if n, _ := allowed(l, "ListTagResources", 1, minute); n != 0 {
		t.Error("a clock that goes back fills the bucket")
	}
}

func TestSwitches(t *testing.T) {
	t.Parallel()
	l := newLimiter(t, false)
	if n, _ := allowed(l, "CreateVServerGroup", 200, minute); n != 200 {
		t.Errorf("%d calls allowed without limits", n)
	}
	l.Enable(true)
	l.Set(Table{"slb/CreateVServerGroup": {Calls: 3, Window: api.Duration(time.Minute)}})
	if n, _ := allowed(l, "CreateVServerGroup", 200, minute); n != 3 {
		t.Errorf("%d calls allowed with a limit of 3", n)
	}
	l.Set(Table{"slb/CreateVServerGroup": {}})
	if n, _ := allowed(l, "CreateVServerGroup", 200, minute); n != 200 {
		t.Errorf("%d calls allowed after the limit was removed", n)
	}
	if n, _ := allowed(l, "NoSuchAction", 200, minute); n != 200 {
		t.Errorf("%d calls allowed of an action without limit", n)
	}
	if on, table := l.Get(); !on || table["slb/CreateVServerGroup"].Calls != 0 {
		t.Error("Get does not return what was set")
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	for limit, ok := range map[Limit]bool{
		{}: true, {Calls: 1, Window: 1}: true, {Calls: -1, Window: 1}: false, {Calls: 1}: false,
	} {
		if err := limit.Validate(); (err == nil) != ok {
			t.Errorf("%v: %v", limit, err)
		}
	}
}
