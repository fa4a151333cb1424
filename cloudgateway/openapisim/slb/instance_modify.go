package slb

import (
	"cmp"
	"slices"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// instanceModifyActions are the changes of a load balancer that change what it costs.
func instanceModifyActions() []api.Action {
	return []api.Action{
		api.Write("ModifyLoadBalancerInstanceSpec", api.On(loadBalancer, modifySpec),
			api.Words("IllegalParam.SpecType InvalidLoadBalancerId.NotFound Operation.NotAllowed OperationDenied.PayByCLCU"), region(),
			api.Required("LoadBalancerId"), api.Required("LoadBalancerSpec"), api.Flag("AutoPay")),
		api.Write("ModifyLoadBalancerInternetSpec", api.On(loadBalancer, modifyInternetSpec),
			api.Words(`InvalidLoadBalancerId.NotFound InvalidParameter InvalidParameter.Bandwidth MissingParameter
				Operation.NotAllowed OperationDenied.PayByCLCU`), region(), api.Required("LoadBalancerId"), api.Number("Bandwidth", 0, 0),
			api.OneOf("InternetChargeType", payByTraffic, payByBandwidth), api.Flag("AutoPay")),
		api.Write("ModifyLoadBalancerInstanceChargeType", api.On(loadBalancer, modifyInstanceChargeType),
			api.Words(`Forbidden.LcuToSpec IllegalParam.InstanceChargeType IllegalParam.InternetChargeType
				InvalidLoadBalancerId.NotFound Operation.NotAllowed OperationDenied.PayByCLCU OperationDenied.PayBySpec`), region(),
			api.Required("LoadBalancerId"), api.Required("InstanceChargeType"), api.Optional("InternetChargeType")),
	}
}

func modifySpec(c *api.Context, lb *state.LoadBalancer) (any, *api.Error) {
	spec := c.Get("LoadBalancerSpec")
	switch {
	case lb.InstanceChargeType == payByCLCU:
		return nil, paidByCLCU()
	case !slices.Contains(specs(), spec):
		return nil, api.BadRequest("IllegalParam.SpecType", "The specified LoadBalancerSpec %s is not valid.", spec)
	}
	if err := unfinished(lb); err != nil {
		return nil, err
	}
	order, paid := ordered(c, lb)
	if paid {
		lb.Spec = spec
	}
	return api.Object{"OrderId", order}, nil
}

// modifyInternetSpec changes the bandwidth at once, and the charge type at the next midnight of the cloud.
func modifyInternetSpec(c *api.Context, lb *state.LoadBalancer) (any, *api.Error) {
	charge := cmp.Or(c.Get("InternetChargeType"), lb.InternetChargeType)
	bandwidth := c.Int("Bandwidth", lb.Bandwidth)
	switch {
	case !c.Has("InternetChargeType") && !c.Has("Bandwidth"):
		return nil, api.Missing("Bandwidth")
	case lb.AddressType != internet:
		return nil, api.BadRequest("InvalidParameter", "The load balancer is not an internet load balancer.")
	case lb.InstanceChargeType == payByCLCU && charge == payByBandwidth:
		return nil, paidByCLCU()
	case bandwidth < 1 || bandwidth > greatestTraffic:
		return nil, invalidBandwidth()
	case charge == payByBandwidth && listenerBandwidth(lb, nil) > bandwidth:
		return nil, invalidBandwidth()
	}
	if err := unfinished(lb); err != nil {
		return nil, err
	}
	order, paid := ordered(c, lb)
	if !paid {
		return api.Object{"OrderId", order}, nil
	}
	c.Keep("", &lb.Spelling)
	if c.Settings.ChargeTypeAtMidnight && charge != lb.InternetChargeType {
		lb.Reserved = &state.InternetSpec{ChargeType: charge, Bandwidth: bandwidth, ActiveAt: nextMidnight(c.Now)}
		return api.Object{"OrderId", order}, nil
	}
	lb.InternetChargeType, lb.Bandwidth, lb.Reserved = charge, bandwidth, nil
	return api.Object{"OrderId", order}, nil
}

// nextMidnight is the end of the day in Beijing.
func nextMidnight(now time.Time) time.Time {
	day := now.In(time.FixedZone("CST", 8*60*60))
	return time.Date(day.Year(), day.Month(), day.Day()+1, 0, 0, 0, 0, day.Location()).UTC()
}

func modifyInstanceChargeType(c *api.Context, lb *state.LoadBalancer) (any, *api.Error) {
	switch wanted := c.Get("InstanceChargeType"); {
	case wanted != payByCLCU && wanted != payBySpec:
		return nil, api.BadRequest("IllegalParam.InstanceChargeType", "The specified InstanceChargeType is not valid.")
	case lb.InstanceChargeType == payByCLCU && wanted == payBySpec:
		return nil, api.BadRequest("Forbidden.LcuToSpec", "A load balancer cannot be changed from PayByCLCU to PayBySpec.")
	case lb.InstanceChargeType == payByCLCU:
		return nil, paidByCLCU()
	case wanted == payBySpec:
		return nil, api.BadRequest("OperationDenied.PayBySpec", "The load balancer is paid by specification already.")
	case c.Has("InternetChargeType") && c.Get("InternetChargeType") != payByTraffic:
		return nil, api.BadRequest("IllegalParam.InternetChargeType", "PayByCLCU supports InternetChargeType paybytraffic only.")
	}
	if err := unfinished(lb); err != nil {
		return nil, err
	}
	c.Keep("", &lb.Spelling)
	toCLCU(lb)
	return nil, nil
}

func toCLCU(lb *state.LoadBalancer) {
	lb.InstanceChargeType, lb.Spec, lb.Reserved = payByCLCU, "", nil
	if lb.InternetChargeType == payByBandwidth {
		lb.InternetChargeType, lb.Bandwidth = payByTraffic, greatestTraffic
	}
}

func paidByCLCU() *api.Error {
	return api.BadRequest("OperationDenied.PayByCLCU", "The operation is not allowed for a load balancer that is paid by CLCU.")
}
