package openapisim_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aliyun/alibaba-cloud-sdk-go/sdk"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/auth/credentials"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/requests"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/openapisimtest"
)

// callAsInReadme is the first Go block of the README, with another address.
func callAsInReadme(address string) error {
	client, err := sdk.NewClientWithOptions("cn-hangzhou", sdk.NewConfig().WithScheme("HTTP"),
		credentials.NewAccessKeyCredential("LTAI5tSimulatedCloud0000", "simulated-cloud-access-key-secret"))
	if err != nil {
		return err
	}
	request := requests.NewCommonRequest()
	request.Method, request.Scheme, request.Domain = "POST", "HTTP", address
	request.Version, request.ApiName = "2014-05-26", "DescribeInstances"
	request.QueryParams["RegionId"] = "cn-hangzhou"
	response, err := client.ProcessCommonRequest(request)
	if err == nil && !strings.Contains(response.GetHttpContentString(), `"TotalCount":2`) {
		panic(response.GetHttpContentString())
	}
	return err
}

// The Go code of the README is in this file, so it compiles, and it does what it says.
func TestReadmeGoCode(t *testing.T) {
	t.Parallel()
	var client sdk.Client
	seed := seed()
	sim := openapisimtest.New(t, openapisim.Config{Seed: seed}) // stops when the test ends
	client.Domain = sim.Endpoint("slb")                         // each product has a port of its own, too
	sim.Advance(time.Minute)                                    // the cloud's clock, not the machine's
	if err := callAsInReadme(sim.Endpoint("all")); err != nil {
		t.Fatal(err)
	}
	calls := sim.Calls(0) // what was called, in the order of the effects
	if len(calls) != 1 || calls[0].Action != "DescribeInstances" {
		t.Errorf("calls %+v", calls)
	}

	own, err := os.ReadFile("readme_test.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(page), "```go\n")[1:]
	if len(blocks) != 2 {
		t.Errorf("%d blocks of Go code, want 2", len(blocks))
	}
	plain := func(line string) string { return strings.Join(strings.Fields(line), " ") }
	lines := map[string]bool{}
	for line := range strings.Lines(string(own)) {
		lines[plain(line)] = true
	}
	for _, block := range blocks {
		code, _, _ := strings.Cut(block, "```")
		for line := range strings.Lines(strings.ReplaceAll(code, `"127.0.0.1:9108"`, "address")) {
			if !lines[plain(line)] {
				t.Errorf("the README has a line that this test has not: %s", line)
			}
		}
	}
}
