package console_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/aliyun/alibaba-cloud-sdk-go/sdk"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/auth/credentials"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/requests"

	"alicloud-controllers.dev/cloudgateway/openapisim"
)

// client calls the SLB of a simulated cloud with the real SDK.
type client struct {
	t   *testing.T
	sim *openapisim.Simulator
	sdk *sdk.Client
}

func newClient(t *testing.T, sim *openapisim.Simulator) *client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	key := credentials.NewAccessKeyCredential(openapisim.DefaultAccessKeyID, openapisim.DefaultAccessKeySecret)
	c, err := sdk.NewClientWithOptions("cn-hangzhou", sdk.NewConfig().WithScheme("HTTP").WithHttpTransport(transport), key)
	if err != nil {
		t.Fatal(err)
	}
	return &client{t: t, sim: sim, sdk: c}
}

// must makes a call that has to succeed, with parameters as name, value, …, and returns a member of the answer.
func (c *client) must(member, action string, params ...string) string {
	c.t.Helper()
	r := requests.NewCommonRequest()
	r.Method, r.Scheme, r.Domain = http.MethodPost, "HTTP", c.sim.Endpoint("slb")
	r.Version, r.ApiName = "2014-05-15", action
	r.QueryParams["RegionId"] = "cn-hangzhou"
	for i := 0; i < len(params); i += 2 {
		r.QueryParams[params[i]] = params[i+1]
	}
	answer, err := c.sdk.ProcessCommonRequest(r)
	if err != nil {
		c.t.Fatalf("%s: %v", action, err)
	}
	var out map[string]any
	if err := json.Unmarshal(answer.GetHttpContentBytes(), &out); err != nil {
		c.t.Fatalf("%s: answer %s: %v", action, answer.GetHttpContentString(), err)
	}
	value, _ := out[member].(string)
	return value
}
