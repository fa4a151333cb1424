package contract

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aliyun/alibaba-cloud-sdk-go/sdk"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/auth/credentials"
	sdkerrors "github.com/aliyun/alibaba-cloud-sdk-go/sdk/errors"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/requests"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
)

// config says where a cloud is and what it holds before the first scenario.
type config struct {
	scheme, region    string
	keyID, secret     string
	endpoints         map[string]string // product -> host[:port]
	vpcID, vswitchID  string
	otherVSwitchID    string   // in another zone; "": there is none
	instances         []string // two running ones in the vSwitch
	zones             []string // of the vSwitches, where the run made them
	patience, between time.Duration
	budget            *budget   // nil: there is no bound
	record            *recorder // nil: nothing is recorded
	filters           *prober   // nil: reads are not looked at
}

// fromEnvironment reads where the cloud is. It skips the test when the environment doesn't name one.
func fromEnvironment(t *testing.T) config {
	t.Helper()
	region := os.Getenv("CONTRACT_REGION")
	if region == "" {
		t.Skip("set CONTRACT_REGION to run the scenarios against a cloud; docs/openapisim.md says how")
	}
	cfg := config{
		scheme: cmp.Or(os.Getenv("CONTRACT_SCHEME"), "HTTPS"), region: region, keyID: os.Getenv("ACCESS_KEY_ID"),
		secret: os.Getenv("ACCESS_KEY_SECRET"),
		vpcID:  os.Getenv("CONTRACT_VPC"), vswitchID: os.Getenv("CONTRACT_VSWITCH"),
		otherVSwitchID: os.Getenv("CONTRACT_OTHER_VSWITCH"),
		instances:      strings.Split(os.Getenv("CONTRACT_INSTANCES"), ","),
		endpoints:      map[string]string{}, patience: 2 * time.Minute, between: 2 * time.Second,
	}
	for product := range versions() {
		host := product + "." + region + ".aliyuncs.com"
		switch product { // one for all regions
		case "location":
			host = "location-readonly.aliyuncs.com"
		case "resourcemanager":
			host = "resourcemanager.aliyuncs.com"
		case "cas":
			host = "cas.aliyuncs.com"
		case "quotas":
			host = "quotas.aliyuncs.com"
		case "ram":
			host = "ram.aliyuncs.com"
		}
		cfg.endpoints[product] = cmp.Or(os.Getenv(strings.ToUpper(product)+"_ENDPOINT"), host)
	}
	if cfg.keyID == "" || cfg.secret == "" || cfg.vpcID != "" && (cfg.vswitchID == "" || len(cfg.instances) != 2) {
		t.Fatal("CONTRACT_REGION is set, so ACCESS_KEY_ID and ACCESS_KEY_SECRET must be, too; with CONTRACT_VPC, also " +
			"CONTRACT_VSWITCH and CONTRACT_INSTANCES=i-a,i-b")
	}
	return cfg
}

func versions() map[string]string {
	versions := map[string]string{}
	for _, p := range openapisim.Products() {
		versions[p.Name] = p.Version
	}
	return versions
}

// cloud calls a cloud for one scenario.
type cloud struct {
	config

	t      *testing.T
	client *sdk.Client
}

func newCloud(t *testing.T, cfg config) *cloud {
	t.Helper()
	return &cloud{config: cfg, t: t, client: newClient(t, cfg)}
}

func newClient(t *testing.T, cfg config) *sdk.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	client, err := sdk.NewClientWithOptions(cfg.region, sdk.NewConfig().WithScheme(cfg.scheme).WithHttpTransport(transport),
		credentials.NewAccessKeyCredential(cfg.keyID, cfg.secret))
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// request makes a request with parameters as name, value, ….
func (c *cloud) request(product, action string, params ...string) *requests.CommonRequest {
	r := requests.NewCommonRequest()
	r.Method, r.Scheme, r.Domain = http.MethodPost, c.scheme, c.endpoints[product]
	r.Version, r.ApiName = versions()[product], action
	r.QueryParams["RegionId"] = c.region
	for i := 0; i < len(params); i += 2 {
		r.QueryParams[params[i]] = params[i+1]
	}
	if product != "cs" { // the only product with actions in ROA style
		return r
	}
	for _, p := range openapisim.Products() {
		for _, a := range p.Actions {
			if p.Name == product && a.Name == action && a.Path != "" {
				inROAStyle(r, a)
			}
		}
	}
	return r
}

// inROAStyle takes what belongs into the path out of the query.
func inROAStyle(r *requests.CommonRequest, a api.Action) {
	r.Method, r.PathPattern = a.Method, a.Path
	r.Port = map[string]string{"HTTP": "80", "HTTPS": "443"}[r.Scheme]
	if host, port, err := net.SplitHostPort(r.Domain); err == nil { // the SDK writes a port behind the domain, even none
		r.Domain, r.Port = host, port
	}
	for name, value := range r.QueryParams {
		if in := "{" + name + "}"; strings.Contains(a.Path, in) {
			r.PathPattern = strings.ReplaceAll(r.PathPattern, in, value)
			delete(r.QueryParams, name)
		}
	}
}

// once makes a call and returns the answer or the code of the error.
func (c *cloud) once(product, action string, params ...string) (answer, string) {
	c.t.Helper()
	if why := c.budget.take(product, action, time.Now()); why != "" {
		c.t.Fatalf("%s %s: %s", product, action, why)
	}
	done := deed{Product: product, Action: action, Params: map[string]string{}}
	for i := 0; i < len(params); i += 2 {
		done.Params[params[i]] = params[i+1]
	}
	response, err := c.client.ProcessCommonRequest(c.request(product, action, params...))
	if failure, ok := errors.AsType[sdkerrors.Error](err); ok {
		done.Code, done.Status = cmp.Or(failure.ErrorCode(), codeOf(failure.Message())), failure.HttpStatus()
		c.keep(done)
		return answer{}, done.Code
	}
	if err != nil {
		c.t.Fatalf("%s %s: %v", product, action, err)
	}
	text := response.GetHttpContentString()
	if product == "cs" && text[0] == '[' { // what is in ROA style can be a list or plain text
		text = `{"":` + text + "}"
	} else if product == "cs" && text[0] != '{' {
		text = `{"":` + strconv.Quote(text) + "}"
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var tree map[string]any
	if err := decoder.Decode(&tree); err != nil {
		c.t.Fatalf("%s %s: %v in %s", product, action, err, response.GetHttpContentString())
	}
	if id, _ := tree["RequestId"].(string); id == "" && product != "cs" {
		c.t.Errorf("%s %s: no RequestId in %s", product, action, response.GetHttpContentString())
	}
	done.Answer = tree
	c.keep(done)
	c.filters.look(product+" "+action, done.Params, func(with map[string]string) string { return c.again(product, action, with) })
	return answer{tree}, ""
}

// codeOf is the code in an error of an action in ROA style, which the SDK does not look for.
func codeOf(message string) string {
	var body struct {
		Code string `json:"code"`
	}
	_ = json.Unmarshal([]byte(message), &body) // "" if there is none
	return body.Code
}

// keep records a call.
func (c *cloud) keep(d deed) {
	if c.record != nil {
		_, scenario, _ := strings.Cut(c.t.Name(), "/")
		c.record.add(scenario[strings.LastIndex(scenario, "/")+1:], d)
	}
}

// call is once, made again for as long as the cloud says that it is busy.
func (c *cloud) call(product, action string, params ...string) (got answer, code string) {
	c.t.Helper()
	c.wait(action+" is let through", func() bool {
		got, code = c.once(product, action, params...)
		return !transient(code)
	})
	return got, code
}

// must is call for what has to succeed.
func (c *cloud) must(product, action string, params ...string) answer {
	c.t.Helper()
	got, code := c.call(product, action, params...)
	if code != "" {
		c.t.Fatalf("%s %s: %s", product, action, code)
	}
	return got
}

// refused is call for what has to fail with a code.
func (c *cloud) refused(want, product, action string, params ...string) {
	c.t.Helper()
	var code string
	c.wait(action+" is refused", func() bool {
		_, code = c.once(product, action, params...)
		return code == want || !transient(code)
	})
	if code != want {
		c.t.Errorf("%s %s %v: code %q, want %q", product, action, params, code, want)
	}
}

// wait returns when something holds, and fails the test when it doesn't for too long.
func (c *cloud) wait(what string, holds func() bool) {
	c.t.Helper()
	deadline := time.Now().Add(c.patience)
	for !holds() {
		if time.Now().After(deadline) {
			c.t.Fatalf("waited %v in vain until %s", c.patience, what)
		}
		<-time.After(c.between)
	}
}

// transient reports whether a code says that the same call succeeds later.
func transient(code string) bool {
	return strings.HasPrefix(code, "IncorrectStatus.") || strings.HasPrefix(code, "ResourceIn") &&
		!strings.HasPrefix(code, "ResourceInUse.") || slices.Contains([]string{
		"Throttling", "Throttling.User", "SystemBusy", "OperationBusy", "ServiceIsConfiguring", "ServiceIsStopping", "Operation.Deny",
		"OperationFailed.ListenerStatusNotSupport", "VServerGroupProcessing", "OperationFailed.ServiceGroupProcessing",
		"BackendServer.configuring", "DomainExtensionProcessing", "AclEntryProcessing", "ListenerProcessing", "RspoolVipExist",
		"OperationFailed.TokenIsProcessing", "TaskConflict", "IncorrectRouteEntryStatus", "IncorrectEipStatus",
		"Conflict.Lock", "IncorrectVpcStatus", "IncorrectVSwitchStatus", "IncorrectRouteTableStatus",
	}, code)
}

// answer is what the cloud answered.
type answer struct{ tree map[string]any }

// get returns a value by its path, for example "Vpcs.Vpc.0.VpcId", as text; "" stands for nothing.
func (a answer) get(path string) string {
	if value := a.at(path); value != nil {
		return fmt.Sprint(value)
	}
	return ""
}

func (a answer) at(path string) any {
	var at any = a.tree
	for step := range strings.SplitSeq(path, ".") {
		switch node := at.(type) {
		case map[string]any:
			at = node[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i >= len(node) {
				return nil
			}
			at = node[i]
		default:
			return nil
		}
	}
	return at
}

// len returns how many items a list has.
func (a answer) len(path string) int {
	list, _ := a.at(path).([]any)
	return len(list)
}

// texts returns a member of all items of a list.
func (a answer) texts(list, member string) []string {
	out := make([]string, 0, a.len(list))
	for i := range a.len(list) {
		out = append(out, a.get(list+"."+strconv.Itoa(i)+"."+member))
	}
	slices.Sort(out)
	return out
}

// want compares values by path, value, ….
func (c *cloud) want(a answer, pathsAndValues ...string) {
	c.t.Helper()
	for i := 0; i < len(pathsAndValues); i += 2 {
		if got := a.get(pathsAndValues[i]); got != pathsAndValues[i+1] {
			c.t.Errorf("%s is %q, want %q", pathsAndValues[i], got, pathsAndValues[i+1])
		}
	}
}

// cleanUp makes a call when the scenario has ended. What is gone already is fine.
func (c *cloud) cleanUp(product, action string, params ...string) {
	free := *c
	free.budget, free.record = nil, nil
	c.t.Cleanup(func() {
		if _, code := free.call(product, action, params...); code != "" && !strings.Contains(code, "NotFound") && code != "AclNotExist" {
			c.t.Logf("clean up: %s %s: %s", product, action, code)
		}
	})
}

// name is a name for something of a scenario, by which a person finds what a broken run left behind.
func (c *cloud) name() string { return "contract-" + strconv.FormatInt(time.Now().UnixNano(), 36) }
