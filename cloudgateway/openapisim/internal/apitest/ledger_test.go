package apitest

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
)

func TestUnseen(t *testing.T) {
	t.Parallel()
	product := api.Product{Actions: []api.Action{
		{Name: "Read", Codes: []string{"NotFound"}},
		{Name: "Write", Codes: []string{"Conflict", "NotFound"}},
	}}
	seen := map[string]map[string]bool{
		"Read":  {"": true, "NotFound": true, "MissingParameter": true},
		"Write": {"NotFound": true, "Surprise": true},
	}
	want := []string{"Write succeeds", "Write Conflict", "Write Surprise, which its table does not name"}
	if diff := cmp.Diff(want, unseen(product, seen)); diff != "" {
		t.Error(diff)
	}
}
