package desired_test

import (
	"maps"
	"testing"

	"alicloud-controllers.dev/lbcontroller/internal/annotation"
)

// TestHashOfWhatIsBound: an upgrade must not change the hash of a Service with an EIP, or all of these would be written.
// These are the hashes before what is bound was a value of the kind.
func TestHashOfWhatIsBound(t *testing.T) {
	t.Parallel()
	intranet := map[string]string{annotation.AddressType: "intranet", annotation.VSwitchID: "vsw-a"}
	for name, test := range map[string]struct {
		said map[string]string
		want string
	}{
		"published only": {
			map[string]string{annotation.ExternalIPType: "eip"},
			"v1.605e671db29860b6a8e5a52be000288e8496c8d3e54f6a8bb0e9d3c1",
		},
		"the user's": {
			map[string]string{annotation.EIPID: "eip-1"},
			"v1.c4a6cf1c57abc2116ed56143471ec4e674e2250c89488f1cdf28098b",
		},
		"one of its own": {
			map[string]string{annotation.EIPAllocate: "on"},
			"v1.09fea48e85a39bf32a9b0971d6117415621c59b5568674e03f500561",
		},
		"none": {
			map[string]string{annotation.EIPAllocate: "off"},
			"v1.ac38c250e45bda81747606286bcb236e20a6f78cd6cac143601cbaf4",
		},
	} {
		said := maps.Clone(intranet)
		maps.Copy(said, test.said)
		hash, err := mustBuild(t, testConfig(), service(said), nil).Hash()
		if err != nil || hash != test.want {
			t.Errorf("%s: hash %s, %v; want %s", name, hash, err, test.want)
		}
	}
}
