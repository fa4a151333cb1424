package thirdparty

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	openapi "github.com/alibabacloud-go/darabonba-openapi/v2/client"
	"github.com/alibabacloud-go/tea/dara"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/auth/credentials"
	"github.com/aliyun/alibaba-cloud-sdk-go/services/ecs"
	"github.com/denverdino/aliyungo/slb"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/openapisimtest"
)

func version1(address string) (int, error) {
	client, err := ecs.NewClientWithOptions("cn-hangzhou", sdk.NewConfig().WithScheme("HTTP"),
		credentials.NewAccessKeyCredential("LTAI5tSimulatedCloud0000", "simulated-cloud-access-key-secret"))
	if err != nil {
		return 0, err
	}
	client.Domain = address
	instances, err := client.DescribeInstances(ecs.CreateDescribeInstancesRequest())
	return instances.TotalCount, err
}

func version2(address string) (any, error) {
	client, err := openapi.NewClient(&openapi.Config{
		AccessKeyId: new("LTAI5tSimulatedCloud0000"), AccessKeySecret: new("simulated-cloud-access-key-secret"),
		RegionId: new("cn-hangzhou"), Endpoint: new(address), Protocol: new("HTTP"),
	})
	if err != nil {
		return nil, err
	}
	answer, err := client.CallApi(&openapi.Params{
		Action: new("DescribeInstances"), Version: new("2014-05-26"), Protocol: new("HTTP"), Pathname: new("/"), Method: new("POST"),
		AuthType: new("AK"), Style: new("RPC"), ReqBodyType: new("formData"), BodyType: new("json"),
	}, &openapi.OpenApiRequest{Query: map[string]*string{"RegionId": new("cn-hangzhou")}}, &dara.RuntimeOptions{})
	body, _ := answer["body"].(map[string]any)
	return body["TotalCount"], err
}

func oldest(address string) (int, error) {
	client := slb.NewClientWithEndpoint("http://"+address, "LTAI5tSimulatedCloud0000", "simulated-cloud-access-key-secret")
	balancers, err := client.DescribeLoadBalancers(&slb.DescribeLoadBalancersArgs{RegionId: "cn-hangzhou"})
	return len(balancers), err
}

// blocks are the code blocks of the page about clients that are in a language.
func blocks(t *testing.T, language string) []string {
	t.Helper()
	page, err := os.ReadFile("../docs/clients.md")
	check(t, err)
	var all []string
	for _, match := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllSubmatch(page, -1) {
		all = append(all, string(match[1]))
	}
	return all
}

// The code on the page about clients is in this file, so it compiles, and it finds the three instances of the small world.
func TestPageOfClients(t *testing.T) {
	sim := openapisimtest.New(t, openapisim.Config{SmallWorld: true})
	address := sim.Endpoint("all")
	if n, err := version1(address); n != 3 || err != nil {
		t.Errorf("SDK version 1: %d, %v", n, err)
	}
	if n, err := version2(address); err != nil || n != json.Number("3") {
		t.Errorf("Tea: %v, %v", n, err)
	}
	if n, err := oldest(address); n != 0 || err != nil {
		t.Errorf("aliyungo: %d, %v", n, err)
	}
	own, err := os.ReadFile("clients_test.go")
	check(t, err)
	for _, block := range blocks(t, "go") {
		if !strings.Contains(string(own), block) {
			t.Errorf("this code of the page is not in the test:\n%s", block)
		}
	}
}

// The programs in JavaScript on the page run as they are, but for the address.
func TestPageOfClientsInJavaScript(t *testing.T) {
	t.Parallel()
	node := nodeWithNPM(t)
	packages := installed(t)
	sim := openapisimtest.New(t, openapisim.Config{SmallWorld: true})
	for _, block := range blocks(t, "js") {
		file := filepath.Join(t.TempDir(), "client.js")
		check(t, os.WriteFile(file, []byte(strings.ReplaceAll(block, "127.0.0.1:9108", sim.Endpoint("all"))), 0o600))
		command := exec.CommandContext(t.Context(), node, file)
		command.Env = append(bareEnvironment(), "NODE_PATH="+filepath.Join(packages, "node_modules"))
		if output, err := command.CombinedOutput(); err != nil || strings.TrimSpace(string(output)) != "3" {
			t.Errorf("%v: %s\n%s", err, output, block)
		}
	}
}
