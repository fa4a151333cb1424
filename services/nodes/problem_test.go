package nodes_test

import (
	"strings"
	"testing"

	"alicloud-controllers.dev/services/nodes"
)

func TestProviderIDProblemNamesTheRightForm(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"i-0":                           "--provider-id=cn-hangzhou.i-0 ",
		"alicloud://cn-hangzhou/i-0":    "--provider-id=cn-hangzhou.i-0 ",
		"cn-hangzhou/i-0":               "--provider-id=cn-hangzhou.i-0 ",
		"alibabacloud://cn-beijing.i-0": "--provider-id=cn-hangzhou.i-0 ",
		"alicloud:///cn-hangzhou-b/i-0": "--provider-id=cn-hangzhou.i-0 ",
		"node-1":                        "--provider-id=cn-hangzhou.<instance id> ",
		"aws:///us-east-1a/i-0;drop":    "--provider-id=cn-hangzhou.<instance id> ",
	} {
		if _, ok := nodes.ParseProviderID(id); ok {
			t.Errorf("%q is a provider id after all", id)
		}
		got := nodes.ProviderIDProblem(id, "cn-hangzhou")
		if !strings.Contains(got, want) || !strings.Contains(got, id) {
			t.Errorf("%q: %s\nwant %q in it", id, got, want)
		}
	}
}
