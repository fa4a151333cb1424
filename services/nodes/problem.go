package nodes

import (
	"fmt"
	"strings"
)

// ProviderIDProblem says why a provider id names no ECS instance, and which form is right, in the region of the cluster. The
// kubelet sets spec.providerID once, when it makes the Node, so that a wrong one takes a new Node.
func ProviderIDProblem(providerID, region string) string {
	right := region + ".<instance id>"
	if instance := instanceIn(providerID); instance != "" {
		right = ID{Region: region, InstanceID: instance}.String()
	}
	return fmt.Sprintf(
		"spec.providerID %q is not of the form <region>.<instance id>; start the kubelet with --provider-id=%s and delete the Node, "+
			"which the kubelet then makes anew; if it is no ECS instance of this account, label it %s", providerID, right, LabelExclude)
}

// instanceIn finds what looks like the id of an instance, "i-…", in a provider id of another form.
func instanceIn(providerID string) string {
	split := func(c rune) bool { return c == '/' || c == '.' || c == ':' }
	for part := range strings.FieldsFuncSeq(providerID, split) {
		if strings.HasPrefix(part, "i-") && plain(part) {
			return part
		}
	}
	return ""
}
