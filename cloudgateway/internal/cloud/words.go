package cloud

import commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"

// Named finds the value of a word. One that is not known has the zero value.
func Named[E comparable](words map[E]string, word string) E {
	for value, w := range words {
		if w == word {
			return value
		}
	}
	var none E
	return none
}

// Word decodes a word into its value.
func Word[E comparable](into *E, words map[E]string) *Decoder {
	return Via(into, func(word string) E { return Named(words, word) })
}

// ChargeTypes are the words of ECS and VPC for when a resource is paid for.
func ChargeTypes() map[commonv1.ChargeType]string {
	return map[commonv1.ChargeType]string{
		commonv1.ChargeType_CHARGE_TYPE_POST_PAID: "PostPaid",
		commonv1.ChargeType_CHARGE_TYPE_PRE_PAID:  "PrePaid",
	}
}
