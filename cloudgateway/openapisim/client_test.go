package openapisim_test

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/aliyun/alibaba-cloud-sdk-go/sdk"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/auth"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/auth/credentials"
	sdkerrors "github.com/aliyun/alibaba-cloud-sdk-go/sdk/errors"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/requests"
	"go.uber.org/goleak"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/console"
	"alicloud-controllers.dev/cloudgateway/openapisim/openapisimtest"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newCloud is a cloud with a VPC and an instance in which every change is complete at once.
func newCloud(t testing.TB, cfg openapisim.Config) *openapisim.Simulator {
	t.Helper()
	if cfg.Settings == nil {
		fast := api.FastSettings()
		cfg.Settings = &fast
	}
	if cfg.Seed == nil {
		cfg.Seed = seed()
	}
	cfg.Console = withConsole
	return openapisimtest.New(t, cfg)
}

// withConsole gives a cloud the console that the command has.
func withConsole(cloud openapisim.Shown, products []string) (http.Handler, error) {
	return console.New(console.Config{Source: cloud, Products: products})
}

func seed() *state.Cloud {
	return &state.Cloud{
		Vpcs:      map[string]*state.Vpc{"vpc-1": {CidrBlock: "192.168.0.0/16"}},
		VSwitches: map[string]*state.VSwitch{"vsw-1": {VpcID: "vpc-1", ZoneID: "cn-hangzhou-h", CidrBlock: "192.168.0.0/24"}},
		Instances: map[string]*state.Instance{
			"i-1": {VSwitchID: "vsw-1", PrivateIPs: []string{"192.168.0.11"}},
			"i-2": {VSwitchID: "vsw-1", PrivateIPs: []string{"192.168.0.12"}},
		},
	}
}

const tableID = "vtb-1" // the system route table of vpc-1

// client calls a simulated cloud with the real SDK.
type client struct {
	t   testing.TB
	sim *openapisim.Simulator
	sdk *sdk.Client

	versions map[string]string // of the products
}

func newClient(t testing.TB, sim *openapisim.Simulator) *client {
	t.Helper()
	return newClientWith(t, sim, credentials.NewAccessKeyCredential(openapisim.DefaultAccessKeyID, openapisim.DefaultAccessKeySecret))
}

func newClientWith(t testing.TB, sim *openapisim.Simulator, credential auth.Credential) *client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	c, err := sdk.NewClientWithOptions("cn-hangzhou", sdk.NewConfig().WithScheme("HTTP").WithHttpTransport(transport), credential)
	if err != nil {
		t.Fatal(err)
	}
	return &client{t: t, sim: sim, sdk: c, versions: versions()}
}

func versions() map[string]string {
	versions := map[string]string{}
	for _, p := range openapisim.Products() {
		versions[p.Name] = p.Version
	}
	return versions
}

// request makes a request with parameters as name, value, ….
func (c *client) request(product, action string, params ...string) *requests.CommonRequest {
	r := requests.NewCommonRequest()
	r.Method, r.Scheme, r.Domain = http.MethodPost, "HTTP", c.sim.Endpoint(product)
	r.Version, r.ApiName = c.versions[product], action
	r.QueryParams["RegionId"] = "cn-hangzhou"
	for i := 0; i < len(params); i += 2 {
		r.QueryParams[params[i]] = params[i+1]
	}
	if method, path := roa(product, action, r.QueryParams); path != "" {
		r.Method, r.PathPattern = method, path
		r.Domain, r.Port, _ = net.SplitHostPort(r.Domain) // this SDK writes the port behind the domain, even none
	}
	return r
}

// roa is how an action in ROA style is called; path is "" for others. It takes what the path holds out of the parameters.
func roa(product, action string, params map[string]string) (method, path string) {
	if product != "cs" { // the only product with such actions; the tables are made anew by each look
		return "", ""
	}
	for _, p := range openapisim.Products() {
		for _, a := range p.Actions {
			if p.Name != product || a.Name != action || a.Path == "" {
				continue
			}
			path = regexp.MustCompile(`\{\w+\}`).ReplaceAllStringFunc(a.Path, func(name string) string {
				defer delete(params, name[1:len(name)-1])
				return url.PathEscape(params[name[1:len(name)-1]])
			})
			return a.Method, path
		}
	}
	return "", ""
}

// call returns the answer, or the error code; a broken connection counts as the code "broken".
func (c *client) call(product, action string, params ...string) (map[string]any, string) {
	c.t.Helper()
	return c.do(c.request(product, action, params...))
}

func (c *client) do(r *requests.CommonRequest) (map[string]any, string) {
	c.t.Helper()
	answer, err := c.sdk.ProcessCommonRequest(r)
	var failure sdkerrors.Error
	switch {
	case errors.As(err, &failure) && failure.ErrorCode() == "":
		var body struct{ Code string } // "code", which this SDK does not look for
		if err := json.Unmarshal([]byte(failure.Message()), &body); err != nil {
			c.t.Fatalf("answer %s: %v", failure.Message(), err)
		}
		return nil, body.Code
	case errors.As(err, &failure):
		return nil, failure.ErrorCode()
	case err != nil:
		return nil, "broken"
	}
	var out map[string]any
	if text := answer.GetHttpContentString(); r.PathPattern != "" && text[0] != '{' {
		return map[string]any{"": text}, ""
	}
	if err := json.Unmarshal(answer.GetHttpContentBytes(), &out); err != nil {
		c.t.Fatalf("answer %s: %v", answer.GetHttpContentString(), err)
	}
	return out, ""
}

// must is call for what has to succeed.
func (c *client) must(product, action string, params ...string) map[string]any {
	c.t.Helper()
	answer, code := c.call(product, action, params...)
	if code != "" {
		c.t.Fatalf("%s: %s", action, code)
	}
	return answer
}

// at follows names and positions into an answer.
func at(t testing.TB, answer any, path ...any) any {
	t.Helper()
	for _, step := range path {
		switch step := step.(type) {
		case string:
			object, _ := answer.(map[string]any)
			answer = object[step]
		case int:
			list, _ := answer.([]any)
			if step >= len(list) {
				t.Fatalf("no item %d in %v", step, list)
			}
			answer = list[step]
		}
	}
	return answer
}

// admin calls the admin API and returns status and body.
func admin(t testing.TB, sim *openapisim.Simulator, method, path, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, sim.Admin()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Close = true
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}
