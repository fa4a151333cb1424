package cloud

import (
	"testing"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
)

// TestWords: the cloud knows these words only. Who renames a value finds it here.
func TestWords(t *testing.T) {
	t.Run("charge types", testWords(map[commonv1.ChargeType]string{1: "PostPaid", 2: "PrePaid"}))
	t.Run("EIPs", testWords(map[vpcv1.InternetChargeType]string{1: "PayByTraffic", 2: "PayByBandwidth"}))
	t.Run("stopped instances", testWords(map[ecsv1.StoppedMode]string{1: "KeepCharging", 2: "StopCharging"}))
	t.Run("address types", testWords(map[slbv1.AddressType]string{1: "Internet", 2: "Intranet"}))
	t.Run("families", testWords(map[slbv1.IpVersion]string{1: "Ipv4", 2: "Ipv6"}))
	t.Run("traffic of load balancers", testWords(map[slbv1.InternetChargeType]string{1: "PayByTraffic", 2: "PayByBandwidth"}))
	t.Run("load balancers", testWords(map[slbv1.InstanceChargeType]string{1: "PayBySpec", 2: "PayByClcu"}))
	t.Run("protocols", testWords(map[slbv1.Protocol]string{1: "Tcp", 2: "Udp", 3: "Http", 4: "Https"}))
	t.Run("servers", testWords(map[slbv1.ServerType]string{1: "Ecs", 2: "Eni", 3: "Eci"}))
	t.Run("security groups", testWords(map[ecsv1.SecurityGroupType]string{1: "Normal", 2: "Enterprise"}))
	t.Run("rules", testWords(map[ecsv1.RulePolicy]string{1: "Accept", 2: "Drop"}))
	t.Run("directions", testWords(map[ecsv1.Direction]string{1: "Ingress", 2: "Egress"}))
	if got := Named[commonv1.ChargeType]("postpaid"); got != commonv1.ChargeType_CHARGE_TYPE_POST_PAID {
		t.Errorf("small letters: got %s", got)
	}
}

func testWords[E Enum](words map[E]string) func(*testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		var none E
		if all := none.Descriptor().Values().Len(); len(words) != all-1 {
			t.Errorf("%d words for %d values", len(words), all)
		}
		for value, word := range words {
			if got := Word(value); got != word {
				t.Errorf("%d: got %q, want %q", value, got, word)
			}
			if got := Named[E](word); got != value {
				t.Errorf("%s: got %d, want %d", word, got, value)
			}
		}
		for _, unknown := range []E{0, 99, -1} {
			if got := Word(unknown); got != "" {
				t.Errorf("%d: got %q", unknown, got)
			}
		}
		for _, word := range []string{"", "Unspecified", "Future"} {
			if got := Named[E](word); got != 0 {
				t.Errorf("%q: got %d", word, got)
			}
		}
	}
}
