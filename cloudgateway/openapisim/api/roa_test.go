package api_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
)

// A path is of an action if its parts are, and its parameters are there and decoded.
func TestMatch(t *testing.T) {
	t.Parallel()
	pool := api.At("GET", "/clusters/{ClusterId}/nodepools/{NodepoolId}", api.Action{})
	for _, tt := range []struct {
		method, path string
		want         map[string]string
	}{
		{"GET", "/clusters/c-1/nodepools/np-1", map[string]string{"ClusterId": "c-1", "NodepoolId": "np-1"}},
		{"GET", "/clusters/a%2Fb/nodepools/%20", map[string]string{"ClusterId": "a/b", "NodepoolId": " "}},
		{"POST", "/clusters/c-1/nodepools/np-1", nil},
		{"GET", "/clusters/c-1/nodepools", nil},
		{"GET", "/clusters/c-1/nodepools/np-1/", nil},
		{"GET", "/clusters//nodepools/np-1", nil},
		{"GET", "/clusters/%zz/nodepools/np-1", nil},
	} {
		got, ok := pool.Match(tt.method, tt.path)
		if diff := cmp.Diff(tt.want, got); diff != "" || ok != (tt.want != nil) {
			t.Errorf("%s %s: %v\n%s", tt.method, tt.path, ok, diff)
		}
	}
	rpc := api.Action{Name: "DescribeVpcs"}
	if _, ok := rpc.Match("", ""); ok {
		t.Error("an action in RPC style has a path")
	}
}
