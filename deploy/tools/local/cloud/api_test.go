package cloud

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/openapisim/openapisimtest"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// TestInsist: an operator's act comes through every kind of fault, and only the end of its context gives it up.
func TestInsist(t *testing.T) {
	t.Parallel()
	const instance, gone = "i-1", "InvalidInstanceId.NotFound"
	tests := map[string]struct {
		faults  []fault.Rule
		forever bool
	}{
		"no fault": {},
		"an error": {faults: []fault.Rule{{Error: &fault.Error{Status: http.StatusServiceUnavailable,
			Code: "ServiceUnavailable"}, Times: 2}}},
		"throttling":    {faults: []fault.Rule{{Error: &fault.Error{Code: "Throttling.User"}, Times: 1}}},
		"a lost call":   {faults: []fault.Rule{{Drop: true, Times: 3}}},
		"a lost answer": {faults: []fault.Rule{{Drop: true, When: fault.After, Times: 1}}},
		"a wrong answer": {faults: []fault.Rule{{Error: &fault.Error{Status: http.StatusInternalServerError,
			Code: "InternalError"}, When: fault.After, Times: 1}}},
		"faults for ever":  {faults: []fault.Rule{{Error: &fault.Error{Code: "OperationBusy"}}}, forever: true},
		"silence for ever": {faults: []fault.Rule{{Drop: true}}, forever: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings := api.FastSettings()
			sim := openapisimtest.New(t, openapisim.Config{Settings: &settings, Seed: &state.Cloud{
				Vpcs:      map[string]*state.Vpc{"vpc-1": {CidrBlock: "192.168.0.0/16"}},
				VSwitches: map[string]*state.VSwitch{"vsw-1": {VpcID: "vpc-1", ZoneID: "cn-hangzhou-h", CidrBlock: "192.168.0.0/24"}},
				Instances: map[string]*state.Instance{instance: {VSwitchID: "vsw-1", PrivateIPs: []string{"192.168.0.11"}}},
			}})
			if err := sim.SetFaults(tt.faults...); err != nil {
				t.Fatal(err)
			}
			operator := API{URL: "http://" + sim.Endpoint("ecs"), Version: "2014-05-26",
				AccessKeyID: openapisim.DefaultAccessKeyID, AccessKeySecret: openapisim.DefaultAccessKeySecret}
			ctx := t.Context()
			if tt.forever {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 2*again)
				defer cancel()
			}
			err := operator.Insist(ctx, "DeleteInstance", gone, map[string]string{"RegionId": "cn-hangzhou",
				"InstanceId": instance, "Force": "true"})
			left := false
			sim.View(func(c *state.Cloud) { left = c.Instances[instance] != nil })
			if left != tt.forever || (err != nil) != tt.forever {
				t.Errorf("got %v, and the instance is there: %t", err, left)
			}
		})
	}
}

func TestRefusal(t *testing.T) {
	t.Parallel()
	sim := openapisimtest.New(t, openapisim.Config{})
	operator := API{URL: "http://" + sim.Endpoint("ecs"), Version: "2014-05-26",
		AccessKeyID: openapisim.DefaultAccessKeyID, AccessKeySecret: openapisim.DefaultAccessKeySecret}
	err := operator.Call(t.Context(), "DeleteInstance", map[string]string{"RegionId": "cn-hangzhou", "InstanceId": "i-none"})
	if refusal, ok := errors.AsType[*Refusal](err); !ok || refusal.Code != "InvalidInstanceId.NotFound" ||
		refusal.Status != http.StatusNotFound {
		t.Errorf("got %#v", err)
	}
}
