package openapisim_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/auth/credentials"

	"alicloud-controllers.dev/cloudgateway/openapisim"
)

// TestUnsigned sends calls without a signature, in the form of either version: the exchange of a token is taken, and its keys
// work; everything else is refused.
func TestUnsigned(t *testing.T) {
	sim := newCloud(t, openapisim.Config{})
	claims := fmt.Sprintf(`{"iss":"https://x","sub":"pod","aud":["sts.aliyuncs.com"],"exp":%d}`, time.Now().Add(time.Hour).Unix())
	exchange := url.Values{
		"RoleArn": {"acs:ram::1000000000000001:role/pod"}, "RoleSessionName": {"pod"},
		"OIDCProviderArn": {"acs:ram::1000000000000001:oidc-provider/x"},
		"OIDCToken":       {"e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"},
	}
	send := func(t *testing.T, product, action string, form url.Values, inHeaders bool) map[string]any {
		t.Helper()
		body := url.Values{}
		maps.Copy(body, form)
		header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
		if inHeaders {
			header["X-Acs-Action"], header["X-Acs-Version"] = []string{action}, []string{versions()[product]}
		} else {
			body.Set("Action", action)
			body.Set("Version", versions()[product])
		}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+sim.Endpoint(product)+"/",
			strings.NewReader(body.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		request.Header = header
		response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		var answer map[string]any
		if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
			t.Fatal(err)
		}
		return answer
	}
	for name, inHeaders := range map[string]bool{"version 1": false, "version 3": true} {
		t.Run(name, func(t *testing.T) {
			key, ok := send(t, "sts", "AssumeRoleWithOIDC", exchange, inHeaders)["Credentials"].(map[string]any)
			if !ok {
				t.Fatal("no credentials")
			}
			word := func(name string) string { return key[name].(string) }
			c := newClientWith(t, sim, credentials.NewStsTokenCredential(word("AccessKeyId"), word("AccessKeySecret"), word("SecurityToken")))
			c.must("ecs", "DescribeInstances")
			for _, refused := range []struct{ product, action string }{
				{"sts", "GetCallerIdentity"}, {"sts", "AssumeRole"}, {"slb", "DescribeLoadBalancers"},
			} {
				if got := send(t, refused.product, refused.action, nil, inHeaders)["Code"]; got != "MissingParameter" {
					t.Errorf("%s without a signature: %v", refused.action, got)
				}
			}
		})
	}
	for _, call := range sim.Calls(0) {
		if strings.Contains(fmt.Sprint(call.Params), "e30.") {
			t.Errorf("the journal of %s holds the token", call.Action)
		}
	}
}
