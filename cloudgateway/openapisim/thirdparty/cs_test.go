package thirdparty

import (
	"errors"
	"net"
	"strings"
	"testing"

	openapi "github.com/alibabacloud-go/darabonba-openapi/v2/client"
	"github.com/alibabacloud-go/tea/dara"
	"github.com/aliyun/alibaba-cloud-sdk-go/services/cs"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/openapisimtest"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func cluster(t *testing.T) *openapisim.Simulator {
	t.Helper()
	return openapisimtest.New(t, openapisim.Config{Seed: &state.Cloud{
		Clusters: map[string]*state.Cluster{"c-1": {APIServer: "10.0.0.100:6443"}},
	}})
}

// TestROA calls CS through the runtime of the V2 SDKs as cs-20151215 does, whose module can't be had where the tests run: with version 3
// of the signature and with the older one, with parameters in the path, the query and a body of JSON, and answers that are an object, a
// list and plain text.
func TestROA(t *testing.T) {
	t.Parallel()
	for _, algorithm := range []string{"", "v2"} {
		t.Run("signature "+algorithm, func(t *testing.T) {
			t.Parallel()
			sim := cluster(t)
			client, err := openapi.NewClient(&openapi.Config{
				AccessKeyId: new(openapisim.DefaultAccessKeyID), AccessKeySecret: new(openapisim.DefaultAccessKeySecret),
				Endpoint: new(sim.Endpoint("cs")), Protocol: new("HTTP"), RegionId: new(region), SignatureAlgorithm: new(algorithm),
			})
			check(t, err)
			call := func(method, path, action, answer string, request *openapi.OpenApiRequest) (any, error) {
				got, err := client.CallApi(&openapi.Params{
					Action: new(action), Version: new("2015-12-15"), Protocol: new("HTTP"), Pathname: new(path), Method: new(method),
					AuthType: new("AK"), Style: new("ROA"), ReqBodyType: new("json"), BodyType: new(answer),
				}, request, &dara.RuntimeOptions{})
				return got["body"], err
			}
			none := &openapi.OpenApiRequest{}
			detail, err := call("GET", "/clusters/c-1", "DescribeClusterDetail", "json", none)
			check(t, err)
			if object, _ := detail.(map[string]any); object["cluster_id"] != "c-1" {
				t.Errorf("the cluster is %v", detail)
			}
			versions, err := call("GET", "/api/v1/metadata/versions", "DescribeKubernetesVersionMetadata", "array", &openapi.OpenApiRequest{
				Query: map[string]*string{"Region": new(region), "ClusterType": new("ManagedKubernetes"), "Profile": new("a b*~ü")},
			})
			check(t, err)
			if list, _ := versions.([]any); len(list) != 2 {
				t.Errorf("versions %v", versions)
			}
			script, err := call("POST", "/clusters/c-1/attachscript", "DescribeClusterAttachScripts", "string",
				&openapi.OpenApiRequest{Body: map[string]any{"keep_instance_name": true, "expired": 1825228800}})
			check(t, err)
			if text, _ := script.(string); !strings.HasPrefix(text, "curl ") || !strings.HasSuffix(text, " --keep-instance-name") {
				t.Errorf("the script is %v", script)
			}
			for path, want := range map[string]string{
				"/clusters/c%2F2": "ErrorClusterNotFound", "/clusters": "InvalidAction.NotFound", "/clusters/c-1/logs": "InvalidAction.NotFound",
			} {
				if _, err := call("GET", path, "X", "json", none); teaCode(err) != want {
					t.Errorf("%s: %v, want %s", path, err, want)
				}
			}
			wrong, err := openapi.NewClient(&openapi.Config{
				AccessKeyId: new(openapisim.DefaultAccessKeyID), AccessKeySecret: new("wrong"), Endpoint: new(sim.Endpoint("cs")),
				Protocol: new("HTTP"), SignatureAlgorithm: new(algorithm),
			})
			check(t, err)
			client = wrong
			if _, err := call("GET", "/clusters/c-1", "X", "json", none); teaCode(err) != "SignatureDoesNotMatch" {
				t.Errorf("a wrong secret: %v", err)
			}
		})
	}
}

// TestSDKCluster calls CS with version 1 of the SDK, by the port that serves everything.
func TestSDKCluster(t *testing.T) {
	sim := cluster(t)
	client, err := cs.NewClientWithOptions(options(t))
	check(t, err)
	var port string // the SDK writes one behind the domain, even none
	client.Domain, port, err = net.SplitHostPort(sim.Endpoint("all"))
	check(t, err)
	detail := cs.CreateDescribeClusterDetailRequest()
	detail.ClusterId, detail.Port = "c-1", port
	answer, err := client.DescribeClusterDetail(detail)
	check(t, err)
	if text := answer.GetHttpContentString(); !strings.HasPrefix(text, `{"cluster_id":"c-1",`) {
		t.Error(text)
	}
	scripts := cs.CreateDescribeClusterAttachScriptsRequest()
	scripts.ClusterId, scripts.Port = "c-1", port
	script, _ := client.DescribeClusterAttachScripts(scripts) // This SDK wants an object, and has the text all the same.
	if text := script.GetHttpContentString(); !strings.HasPrefix(text, "curl ") {
		t.Error(text)
	}
	detail.ClusterId = "c-2"
	var failure interface{ HttpStatus() int }
	if _, err := client.DescribeClusterDetail(detail); !errors.As(err, &failure) || failure.HttpStatus() != 404 ||
		!strings.Contains(err.Error(), "ErrorClusterNotFound") {
		t.Errorf("no cluster: %v", err)
	}
}
