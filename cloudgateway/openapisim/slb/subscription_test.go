package slb

import (
	"testing"
	"time"
)

// bySpec makes a load balancer that is paid by its specification and by use, and returns its id.
func (c *cloud) bySpec(more ...string) string {
	c.testing.Helper()
	p := params{"InstanceChargeType": payBySpec, "LoadBalancerSpec": "slb.s1.small"}
	return c.call("CreateLoadBalancer", p.with(more...)).text("LoadBalancerId")
}

func TestSubscriptionCodes(t *testing.T) {
	t.Parallel()
	month := params{"PayType": prePay, "PricingCycle": "month", "Duration": "1", "AutoPay": "true"}
	tests := []codeTest{
		{"a month", month, ""},
		{"nine months", month.with("Duration", "9"), ""},
		{"three years", month.with("PricingCycle", "YEAR", "Duration", "3"), ""},
		{"no cycle", month.with("PricingCycle", ""), "MissingParameter"},
		{"no duration", month.with("Duration", ""), "MissingParameter"},
		{"cycle", month.with("PricingCycle", "week"), "InvalidParameter"},
		{"0 months", month.with("Duration", "0"), "InvalidParameter"},
		{"ten months", month.with("Duration", "10"), "InvalidParameter"},
		{"four years", month.with("PricingCycle", "year", "Duration", "4"), "InvalidParameter"},
		{"AutoPay", month.with("AutoPay", "perhaps"), "InvalidParameter"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newCloud(t)
			create := tt.params.with("InstanceChargeType", payBySpec, "LoadBalancerSpec", "slb.s1.small")
			if got := c.code("CreateLoadBalancer", create); got != tt.want {
				t.Errorf("creation: %q, want %q", got, tt.want)
			}
			if got := c.code("ModifyLoadBalancerPayType", tt.params.with("LoadBalancerId", c.bySpec())); got != tt.want {
				t.Errorf("change: %q, want %q", got, tt.want)
			}
		})
	}
	testCodes(t, "ModifyLoadBalancerPayType", []codeTest{
		{"unknown", month.with("LoadBalancerId", "lb-x"), "InvalidLoadBalancerId.NotFound"},
		{"no pay type", month.with("LoadBalancerId", "lb-vpc", "PayType", ""), "MissingParameter"},
		{"to what it is", month.with("LoadBalancerId", "lb-vpc", "PayType", payOnDemand), "InvalidParameter"},
		{"a subscription", month.with("LoadBalancerId", "lb-prepaid"), "InvalidParameter"},
		{"the way back", month.with("LoadBalancerId", "lb-prepaid", "PayType", payOnDemand), "InvalidParameter"},
		{"by CLCU", month.with("LoadBalancerId", "lb-1"), "OperationDenied.PayByCLCU"},
	})
	t.Run("protected", func(t *testing.T) {
		t.Parallel()
		c := newCloud(t)
		id := c.bySpec("DeleteProtection", on)
		if got := c.code("ModifyLoadBalancerPayType", month.with("LoadBalancerId", id)); got != protectedSubscription().Code {
			t.Errorf("got %q", got)
		}
	})
	t.Run("not sold any more", func(t *testing.T) {
		t.Parallel()
		c := newCloud(t)
		c.settings.SubscriptionsNotSold = true
		if got := c.code("ModifyLoadBalancerPayType", month.with("LoadBalancerId", "lb-vpc")); got != "InvalidParameter" {
			t.Errorf("got %q", got)
		}
	})
}

// A subscription shows when it ends, for a new load balancer and for one that becomes one, and stays until then.
func TestSubscription(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	created := c.bySpec("PayType", prePay, "PricingCycle", "month", "Duration", "2")
	changed := c.bySpec()
	shown := func(id string) answer { return c.call("DescribeLoadBalancerAttribute", params{"LoadBalancerId": id}) }
	if got := shown(changed).text("EndTime"); got != "2999-09-08T16:00:00Z" {
		t.Errorf("what is paid by use ends at %s", got)
	}
	c.settings.SpecificationsNotSold = true // which is about new ones
	order := c.call("ModifyLoadBalancerPayType", params{"LoadBalancerId": changed, "PayType": prePay, "PricingCycle": "year", "Duration": "1",
		"AutoPay": "true"})
	if id, _ := order["OrderId"].(float64); id == 0 {
		t.Errorf("the order is %v", order["OrderId"])
	}
	for id, end := range map[string]time.Time{created: c.now.AddDate(0, 2, 0), changed: c.now.AddDate(1, 0, 0)} {
		lb := shown(id)
		if lb["PayType"] != prePay || lb.text("EndTime") != stamp(end) || lb["EndTimeStamp"] != float64(end.UnixMilli()) {
			t.Errorf("%s is %v until %v (%v), want until %v", id, lb["PayType"], lb["EndTime"], lb["EndTimeStamp"], end)
		}
		if got := c.code("DeleteLoadBalancer", params{"LoadBalancerId": id}); got != "InvalidChargeType" {
			t.Errorf("deletion: %q", got)
		}
	}
}

// What changes the price of a subscription is an order, too: without AutoPay it stays unpaid.
func TestSubscriptionIsChangedByOrders(t *testing.T) {
	t.Parallel()
	for action, more := range map[string][]string{
		"ModifyLoadBalancerInstanceSpec": {"LoadBalancerSpec", "slb.s2.small"}, "ModifyLoadBalancerInternetSpec": {"Bandwidth", "5"},
	} {
		for _, paid := range []string{"true", "false", ""} {
			c := newCloud(t)
			before := *c.state.LoadBalancers["lb-prepaid"]
			order := c.call(action, params{"LoadBalancerId": "lb-prepaid", "AutoPay": paid}.with(more...))
			if id, _ := order["OrderId"].(float64); id == 0 {
				t.Errorf("%s: the order is %v", action, order["OrderId"])
			}
			lb := c.state.LoadBalancers["lb-prepaid"]
			if changed := lb.Spec != before.Spec || lb.Bandwidth != before.Bandwidth; changed != (paid == "true") {
				t.Errorf("%s with AutoPay %q: %s, %d Mbit/s", action, paid, lb.Spec, lb.Bandwidth)
			}
			if unpaid := lb.UnpaidOrder != 0; unpaid == (paid == "true") {
				t.Errorf("%s with AutoPay %q: the unpaid order is %d", action, paid, lb.UnpaidOrder)
			}
		}
	}
}

// An order that is not paid changes nothing, and keeps what the load balancer costs from being changed.
func TestUnpaidOrder(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	id := c.bySpec()
	key := params{"LoadBalancerId": id}
	year := key.with("PayType", prePay, "PricingCycle", "year", "Duration", "1")
	c.call("ModifyLoadBalancerPayType", year)
	if got := c.call("DescribeLoadBalancerAttribute", key)["PayType"]; got != payOnDemand {
		t.Errorf("the load balancer is %v", got)
	}
	for name, p := range map[string]params{
		"ModifyLoadBalancerPayType":            year.with("AutoPay", "true"),
		"ModifyLoadBalancerInstanceSpec":       key.with("LoadBalancerSpec", "slb.s2.small"),
		"ModifyLoadBalancerInternetSpec":       key.with("Bandwidth", "5"),
		"ModifyLoadBalancerInstanceChargeType": key.with("InstanceChargeType", payByCLCU),
	} {
		if got := c.code(name, p); got != "Operation.NotAllowed" {
			t.Errorf("%s: %q, want Operation.NotAllowed", name, got)
		}
	}
	c.call("DeleteLoadBalancer", key)
}
