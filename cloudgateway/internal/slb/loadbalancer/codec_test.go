package loadbalancer

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/timestamppb"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
)

func TestBalancerDecode(t *testing.T) {
	none := &slbv1.ModificationProtection{}
	tests := []struct {
		name, answer string
		want         *slbv1.LoadBalancer // nil: an error
	}{
		{name: "the least", answer: `{"LoadBalancerId":"lb-1"}`, want: &slbv1.LoadBalancer{LoadBalancerId: "lb-1", ModificationProtection: none}},
		{
			name: "the charge type as a number, others as text",
			answer: `{"LoadBalancerId":"lb-1","InternetChargeType":"3","Bandwidth":"5","InstanceChargeType":"PayByCLCU",
				"CreateTimeStamp":"1700000000000","PayType":"PayOnDemand","ServiceManagedMode":"Unmanaged"}`,
			want: &slbv1.LoadBalancer{
				LoadBalancerId: "lb-1", ModificationProtection: none, BandwidthMbps: 5,
				InternetChargeType: slbv1.InternetChargeType_INTERNET_CHARGE_TYPE_PAY_BY_BANDWIDTH,
				InstanceChargeType: slbv1.InstanceChargeType_INSTANCE_CHARGE_TYPE_PAY_BY_CLCU,
				CreationTime:       timestamppb.New(time.Unix(1_700_000_000, 0)),
			},
		},
		{
			name: "of another service, by subscription, protected and tagged",
			answer: `{"LoadBalancerId":"lb-1","PayType":"PrePay","ServiceManagedMode":"Managed","CreateTimeStamp":1700000000123,
				"InternetChargeType":"4","InternetChargeTypeAlias":"paybytraffic","DeleteProtection":"on",
				"ModificationProtectionStatus":"ConsoleProtection","ModificationProtectionReason":"mine",
				"Tags":{"Tag":[{"TagKey":"team","TagValue":"web"}]}}`,
			want: &slbv1.LoadBalancer{
				LoadBalancerId: "lb-1", Subscription: true, ServiceManaged: true, DeleteProtection: true,
				InternetChargeType:     slbv1.InternetChargeType_INTERNET_CHARGE_TYPE_PAY_BY_TRAFFIC,
				ModificationProtection: &slbv1.ModificationProtection{Enabled: true, Reason: "mine"},
				Tags:                   []*commonv1.Tag{{Key: "team", Value: "web"}},
				CreationTime:           timestamppb.New(time.UnixMilli(1_700_000_000_123)),
			},
		},
		{
			name: "a time that is none", answer: `{"LoadBalancerId":"lb-1","CreateTimeStamp":0}`,
			want: &slbv1.LoadBalancer{LoadBalancerId: "lb-1", ModificationProtection: none},
		},
		{name: "a bandwidth that is none", answer: `{"LoadBalancerId":"lb-1","Bandwidth":"much"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := decode([]byte(tt.answer))
			if (err != nil) != (tt.want == nil) {
				t.Fatalf("got %v", err)
			}
			if diff := cmp.Diff(tt.want, got, protocmp.Transform()); diff != "" {
				t.Errorf("load balancer (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCreationWithoutAnID: an answer that does not name the new load balancer is not believed.
func TestCreationWithoutAnID(t *testing.T) {
	for answer, good := range map[string]bool{`{"RequestId":"R","LoadBalancerId":"lb-1"}`: true, `{"RequestId":"R"}`: false, `null`: false} {
		lb, fields := created(&slbv1.CreateLoadBalancerRequest{Name: "web"})
		if err := json.Unmarshal([]byte(answer), fields); (err == nil) != good || lb.GetName() != "web" {
			t.Errorf("%s: got %v and %v", answer, lb, err)
		}
	}
}
