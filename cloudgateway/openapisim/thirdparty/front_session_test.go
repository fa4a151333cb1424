package thirdparty

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	openapi "github.com/alibabacloud-go/darabonba-openapi/v2/client"
	"github.com/alibabacloud-go/tea/dara"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/auth/credentials"
	"github.com/aliyun/alibaba-cloud-sdk-go/services/cs"
	v2 "github.com/aliyun/credentials-go/credentials"
)

// TestFrontSession: the runtime of the V2 SDKs with the credentials of RRSA, as Alibaba's Karpenter provider makes its clients, calls ECS,
// RAM and CS through the front with nothing but the token of its pod.
func TestFrontSession(t *testing.T) {
	f := startFront(t, cluster(t))
	token := filepath.Join(t.TempDir(), "token")
	check(t, os.WriteFile(token, []byte("the-token-of-a-pod"), 0o600))
	made, err := v2.NewCredential(&v2.Config{
		Type: new("oidc_role_arn"), OIDCProviderArn: new("acs:ram::1:oidc-provider/any"), OIDCTokenFilePath: &token,
		RoleArn: new("acs:ram::1:role/any"), RoleSessionName: new("karpenter-controller"), RoleSessionExpiration: new(3600),
		STSEndpoint: &f.address,
	})
	check(t, err)
	for _, call := range []struct {
		version, action, style, method, path, answer string
		query                                        map[string]*string
		body                                         any
		want                                         string
	}{
		{"2014-05-26", "DescribeInstances", "RPC", "POST", "/", "json", map[string]*string{"RegionId": new(region)}, nil, "TotalCount"},
		{"2015-05-01", "GetRole", "RPC", "POST", "/", "json", map[string]*string{"RoleName": new("node")}, nil, ":role/node"},
		{"2015-12-15", "GetClusterAddonInstance", "ROA", "GET", "/clusters/c-1/addon_instances/terway-eniip", "json", nil, nil, "config"},
		{"2015-12-15", "DescribeClusterDetail", "ROA", "GET", "/clusters/c-1", "json", nil, nil, "c-1"},
		{"2015-12-15", "DescribeClusterAttachScripts", "ROA", "POST", "/clusters/c-1/attachscript", "string", nil,
			map[string]any{"keep_instance_name": true}, "--keep-instance-name"},
	} {
		client, err := openapi.NewClient(&openapi.Config{Credential: made, Endpoint: &f.address, Protocol: new("HTTPS"), RegionId: new(region)})
		check(t, err)
		kind := "formData"
		if call.style == "ROA" {
			kind = "json"
		}
		got, err := client.CallApi(&openapi.Params{
			Action: &call.action, Version: &call.version, Protocol: new("HTTPS"), Pathname: &call.path, Method: &call.method, AuthType: new("AK"),
			Style: &call.style, ReqBodyType: &kind, BodyType: &call.answer,
		}, &openapi.OpenApiRequest{Query: call.query, Body: call.body}, &dara.RuntimeOptions{})
		if err != nil || !strings.Contains(fmt.Sprint(got["body"]), call.want) {
			t.Errorf("%s: %v, %v", call.action, got["body"], err)
		}
	}
}

// TestFrontPaths: CS answers the same through the front as without it, to version 1 of the SDK, which signs in headers and sends no nonce,
// and to the runtime of the V2 SDKs with both of its signatures; but that of version 1 does not cover a body, so the front refuses one.
func TestFrontPaths(t *testing.T) {
	sim := cluster(t)
	f := startFront(t, sim)
	client, err := cs.NewClientWithOptions(region, sdk.NewConfig().WithScheme("HTTPS"),
		credentials.NewAccessKeyCredential(frontKey, frontSecret))
	check(t, err)
	var port string // the SDK writes one behind the domain, even none
	client.Domain, port, err = net.SplitHostPort(f.address)
	check(t, err)
	detail := cs.CreateDescribeClusterDetailRequest()
	detail.ClusterId, detail.Port = "c-1", port
	answer, err := client.DescribeClusterDetail(detail)
	check(t, err)
	if text := answer.GetHttpContentString(); !strings.HasPrefix(text, `{"cluster_id":"c-1",`) {
		t.Error(text)
	}
	for _, algorithm := range []string{"", "v2"} {
		client, err := openapi.NewClient(&openapi.Config{AccessKeyId: new(frontKey), AccessKeySecret: new(frontSecret), Endpoint: &f.address,
			Protocol: new("HTTPS"), RegionId: new(region), SignatureAlgorithm: &algorithm})
		check(t, err)
		call := func(method, path, action, answer string, body any, query map[string]*string) (any, error) {
			got, err := client.CallApi(&openapi.Params{
				Action: &action, Version: new("2015-12-15"), Protocol: new("HTTPS"), Pathname: &path, Method: &method, AuthType: new("AK"),
				Style: new("ROA"), ReqBodyType: new("json"), BodyType: &answer,
			}, &openapi.OpenApiRequest{Query: query, Body: body}, &dara.RuntimeOptions{})
			return got["body"], err
		}
		versions, err := call("GET", "/api/v1/metadata/versions", "DescribeKubernetesVersionMetadata", "array", nil, map[string]*string{
			"Region": new(region), "ClusterType": new("ManagedKubernetes"), "Profile": new("a b*~ü")})
		if list, _ := versions.([]any); err != nil || len(list) != 2 {
			t.Errorf("signature %q: versions %v, %v", algorithm, versions, err)
		}
		script, err := call("POST", "/clusters/c-1/attachscript", "DescribeClusterAttachScripts", "string", map[string]any{"arch": "arm64"}, nil)
		text, _ := script.(string)
		if algorithm == "" && !strings.HasPrefix(text, "curl ") || algorithm == "v2" && teaCode(err) != "SignatureDoesNotMatch" {
			t.Errorf("signature %q: the script is %v, %v", algorithm, script, err)
		}
		if _, err := call("GET", "/clusters/c-2", "DescribeClusterDetail", "json", nil, nil); teaCode(err) != "ErrorClusterNotFound" {
			t.Errorf("signature %q: no cluster: %v", algorithm, err)
		}
	}
}
