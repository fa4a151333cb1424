package app

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"alicloud-controllers.dev/services/rpc"
	"alicloud-controllers.dev/services/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/config"
)

// TestCallersTerms: a tool that is given a tenth of the budget gets no more, and others go on.
func TestCallersTerms(t *testing.T) {
	const tool, controller = "system:serviceaccount:tools:backup", "system:serviceaccount:kube-system:lbcontroller"
	cfg := config.Default().Budget
	cfg.Callers = map[string]config.Terms{tool: {Share: 0.1}}
	budget, err := newBudget(cfg, prometheus.NewRegistry(), nil)
	if err != nil {
		t.Fatal(err)
	}
	gate := &turn{budget: budget}
	gate.active.Store(true)
	acquire := func(name string) error {
		ctx, cancel := context.WithTimeout(rpc.WithCaller(t.Context(), rpc.Caller{Name: name}), 100*time.Millisecond)
		defer cancel()
		return gate.Acquire(ctx, "slb", "CreateVServerGroup")
	}
	went := 0
	for acquire(tool) == nil {
		went++
	}
	if went > 6 {
		t.Errorf("the tool made %d calls at once, want at most a tenth of 63", went)
	}
	if err := acquire(controller); err != nil {
		t.Errorf("another caller: %v", err)
	}
}

func TestStandbyDoesNotCall(t *testing.T) {
	budget, err := newBudget(config.Default().Budget, prometheus.NewRegistry(), nil)
	if err != nil {
		t.Fatal(err)
	}
	gate := &turn{budget: budget}
	if got := rpcerr.ReasonOf(gate.Acquire(t.Context(), "slb", "DescribeLoadBalancers")); got != rpcerr.CloudUnavailable {
		t.Errorf("before its turn: reason %q", got)
	}
	gate.begin()
	if err := gate.Acquire(t.Context(), "slb", "DescribeLoadBalancers"); err != nil {
		t.Errorf("in its turn: %v", err)
	}
	gate.end()
	if got := rpcerr.ReasonOf(gate.Acquire(t.Context(), "slb", "DescribeLoadBalancers")); got != rpcerr.CloudUnavailable {
		t.Errorf("after its turn: reason %q", got)
	}
}
