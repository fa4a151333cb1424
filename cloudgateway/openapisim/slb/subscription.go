package slb

import (
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// subscriptionParams say for how long a load balancer is paid in advance, and whether the order is paid at once.
func subscriptionParams() []api.Param {
	return []api.Param{api.Number("Duration", 0, 0), api.OneOf("PricingCycle", "month", "year"), api.Flag("AutoPay")}
}

func subscriptionActions() []api.Action {
	return []api.Action{
		api.Write("ModifyLoadBalancerPayType", api.On(loadBalancer, modifyPayType),
			api.Words(`InvalidLoadBalancerId.NotFound InvalidParameter MissingParameter Operation.NotAllowed OperationDenied.PayByCLCU
				OperationUnsupported.DeleteProtectionForPrePayInstance`),
			append(subscriptionParams(), region(), api.Required("LoadBalancerId"), must(api.OneOf("PayType", payOnDemand, prePay)))...),
	}
}

// checkSubscription checks what a load balancer that is paid in advance needs: 1 to 9 months, or 1 to 3 years.
func checkSubscription(c *api.Context, lb *state.LoadBalancer) *api.Error {
	most := map[string]int{"month": 9, "year": 3}[c.Get("PricingCycle")]
	switch duration := c.Int("Duration", 0); {
	case !c.Has("PricingCycle"):
		return api.Missing("PricingCycle")
	case !c.Has("Duration"):
		return api.Missing("Duration")
	case duration < 1 || duration > most:
		return api.Invalid("Duration")
	case lb.DeleteProtection == on:
		return api.Invalid("DeleteProtection")
	}
	return nil
}

// paidUntil is the end of a subscription that begins now.
func paidUntil(c *api.Context) time.Time {
	if c.Get("PricingCycle") == "year" {
		return c.Now.AddDate(c.Int("Duration", 0), 0, 0)
	}
	return c.Now.AddDate(0, c.Int("Duration", 0), 0)
}

// modifyPayType makes a subscription of a load balancer that is paid by use. An order that is not paid at once changes nothing: nobody
// can pay it here, and Operation.NotAllowed answers whoever changes what the load balancer costs from then on. This is the one code that
// is published for the action; the others are those of creation and of neighbouring actions.
func modifyPayType(c *api.Context, lb *state.LoadBalancer) (any, *api.Error) {
	switch {
	case c.Get("PayType") != prePay || lb.PayType == prePay: // there is no way back
		return nil, api.Invalid("PayType")
	case c.Settings.SubscriptionsNotSold:
		return nil, api.Invalid("PayType")
	case lb.InstanceChargeType == payByCLCU:
		return nil, paidByCLCU()
	case lb.DeleteProtection == on:
		return nil, protectedSubscription()
	}
	if err := checkSubscription(c, lb); err != nil {
		return nil, err
	}
	if err := unfinished(lb); err != nil {
		return nil, err
	}
	order, paid := newOrder(c, lb)
	if paid {
		c.Keep("", &lb.Spelling)
		lb.PayType, lb.PaidUntil = prePay, paidUntil(c)
	}
	return api.Object{"OrderId", order}, nil
}

// newOrder makes an order for a load balancer, and says whether it is paid at once.
func newOrder(c *api.Context, lb *state.LoadBalancer) (order int64, paid bool) {
	c.State.Sequence++
	order = 200_000_000_000_000 + c.State.Sequence
	if !c.True("AutoPay") {
		lb.UnpaidOrder = order
	}
	return order, c.True("AutoPay")
}

// ordered is newOrder for a change of what a load balancer costs. One that is paid by use needs no order: its number is 0.
func ordered(c *api.Context, lb *state.LoadBalancer) (order int64, paid bool) {
	if lb.PayType != prePay {
		return 0, true
	}
	return newOrder(c, lb)
}

// unfinished refuses a change of what a load balancer costs while an order waits to be paid.
func unfinished(lb *state.LoadBalancer) *api.Error {
	if lb.UnpaidOrder != 0 {
		return api.BadRequest("Operation.NotAllowed", "Operation Denied. Unfinished purchase exists.")
	}
	return nil
}

func protectedSubscription() *api.Error {
	return api.BadRequest("OperationUnsupported.DeleteProtectionForPrePayInstance",
		"A subscription load balancer does not support delete protection.")
}
