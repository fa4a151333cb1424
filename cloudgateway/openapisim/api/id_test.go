package api_test

import (
	"strings"
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// Ids differ, and none looks like a word.
func TestIDs(t *testing.T) {
	t.Parallel()
	c := &api.Context{Account: "1", State: state.New("cn-hangzhou", "1")}
	seen := map[string]bool{}
	for range 5000 {
		id := c.NewID("rte-")
		if seen[id] || !strings.ContainsAny(id, "0123456789") {
			t.Fatalf("%s is there already, or has no digit", id)
		}
		seen[id] = true
	}
}
