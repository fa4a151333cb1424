package openapi

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/aliyun/alibaba-cloud-sdk-go/sdk"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/auth"
	sdkcredentials "github.com/aliyun/alibaba-cloud-sdk-go/sdk/auth/credentials"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/requests"
	"github.com/aliyun/alibaba-cloud-sdk-go/sdk/utils"

	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/openapi/catalogue"
	"alicloud-controllers.dev/cloudgateway/internal/openapi/credentials"
)

// Call is one action of the cloud with its parameters, encoded as the OpenAPI wants them ("Tag.1.Key").
type Call struct {
	Product Product
	Action  string
	// Params leave out RegionId, which is the client's, and everything that belongs to the signature. Empty values are sent.
	Params map[string]string
	// Form are further parameters. They travel in the body: what is long or secret has no place in a URL, which servers cut and
	// proxies log.
	Form map[string]string
	// Unsigned calls have the proof of the caller's identity in Form.
	Unsigned bool
	// Mutating makes a lost answer an unknown outcome.
	Mutating bool
	// As is the action under which the metrics of calls count it; empty: Action.
	As string
	// Format of the answer, "JSON" or "XML"; empty: JSON.
	Format string
	// Version of the API; empty: the first of the product.
	Version string
	// Method, Path, Body and ContentType are those of a call of a product with paths. Its parameters are the query, and Form is
	// empty. A path has nothing that one would have to encode.
	Method, Path, ContentType string
	Body                      []byte
	// Idempotent calls may be repeated after an unclear outcome: they carry a ClientToken, or doing them twice is the same as once.
	// Calls that are not Mutating always are.
	Idempotent bool
}

// InForm moves the parameters of a call of NLB, which may name 200 servers in five parameters each, into its body, and those of
// Quota Center, which documents them there.
func (c Call) InForm() Call {
	if c.Product == NLB || c.Product == Quotas {
		c.Params, c.Form = nil, c.Params
	}
	return c
}

// api names the action in errors and metrics.
func (c Call) api() string { return string(c.Product) + "/" + c.Action }

// method is that of its requests.
func (c Call) method() string { return cmp.Or(c.Method, http.MethodPost) }

// counted is the action under which it counts.
func (c Call) counted() string { return cmp.Or(c.As, c.Action) }

// repeatable reports whether the call may be sent again although an earlier attempt may have been executed.
func (c Call) repeatable() bool { return !c.Mutating || c.Idempotent }

// Result is what every answer carries.
type Result struct {
	// RequestID is what Alibaba's support asks for.
	RequestID string
	// Sent is when the last attempt was sent, which is after its wait for the budget; zero if none was.
	Sent time.Time
}

// ItemError makes the error of one item of a batch, which the cloud reports inside a successful answer.
func ItemError(product Product, action, code, message, requestID string) *rpcerr.Error {
	return catalogue.Error(catalogue.Answer{
		Product: string(product), Action: action, Code: code, Message: message, RequestID: requestID,
	})
}

const (
	maxAnswer     = 16 << 20        // far above a full page of instances
	maxRetryAfter = 5 * time.Minute // a longer wait that the cloud names is not believed

	requestIDHeader = "X-Acs-Request-Id"
)

// answer is what came back from one attempt.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// readAnswer takes the whole response, so that a connection lost half-way counts as a lost answer and not as a bad one.
// Of a success, it keeps the text only where that is needed: the answer to a change of a vServer group names all its
// servers, 150 KiB of 1 000.
func readAnswer(res *http.Response, needed bool, hold func(int) error) (*answer, error) {
	a := &answer{status: res.StatusCode, header: res.Header}
	body := io.LimitReader(res.Body, maxAnswer)
	if hold != nil {
		body = &held{Reader: res.Body, hold: hold}
	}
	var err error
	if needed || !a.ok() || a.header.Get(requestIDHeader) == "" {
		a.body, err = io.ReadAll(body)
	} else {
		_, err = io.Copy(io.Discard, body)
	}
	if closeErr := res.Body.Close(); err == nil {
		err = closeErr
	}
	res.Body = http.NoBody
	if err != nil {
		return nil, err
	}
	return a, nil
}

// ok reports whether it is a success. An answer of NLB with the status of one may say that it is none.
func (a *answer) ok() bool {
	if a.status < 200 || a.status >= 300 {
		return false
	}
	if !bytes.Contains(a.body, []byte(`"Success"`)) { // Most answers are long and don't have it.
		return true
	}
	var said struct{ Success *bool }
	return json.Unmarshal(a.body, &said) != nil || said.Success == nil || *said.Success
}

// failure reads an error answer. What is not the cloud's JSON document, e.g. the page of a proxy, has no Code.
func (a *answer) failure(call Call) catalogue.Answer {
	out := catalogue.Answer{
		Product: string(call.Product), Action: call.Action, Mutating: call.Mutating,
		Status: a.status, RetryAfter: retryAfter(a.header),
	}
	if e, err := a.envelope(); err == nil {
		out.RequestID, out.Code, out.Message = e.RequestID, e.Code, e.Message
	} else {
		out.Message = string(a.body)
	}
	return out
}

// envelope is what every answer has, and what those have that are errors.
type envelope struct {
	RequestID     string `json:"RequestId" xml:"RequestId"`
	Code, Message string
}

// envelope gives what can be read, also with an error. Other programs may ask for XML.
func (a *answer) envelope() (e envelope, err error) {
	defer func() { e.RequestID, e.Code = catalogue.Short(e.RequestID), catalogue.Short(e.Code) }()
	if bytes.HasPrefix(bytes.TrimSpace(a.body), []byte("<")) {
		err = xml.Unmarshal(a.body, &e)
		if e.RequestID == "" {
			err = errors.New("no document of the cloud")
		}
		return e, err
	}
	err = json.Unmarshal(a.body, &e)
	return e, err
}

// requestID is the cloud's id of the request. It stands in every answer, and usually in a header as well. The header spares the reading of
// the answer for it: those to changes of a vServer group name all its servers.
func (a *answer) requestID() string {
	if id := a.header.Get(requestIDHeader); id != "" {
		return catalogue.Short(id)
	}
	e, _ := a.envelope() // The id counts, whatever else the answer has.
	return e.RequestID
}

// retryAfter reads how long the next call should wait: x-acs-retry-after in milliseconds, TimeLeft of the X-RateLimit
// headers in milliseconds, or Retry-After in seconds.
func retryAfter(h http.Header) time.Duration {
	if d := parseAmount(h.Get("X-Acs-Retry-After"), time.Millisecond); d > 0 {
		return d
	}
	for _, name := range []string{"X-Ratelimit-User-Api", "X-Ratelimit-User"} {
		for field := range strings.SplitSeq(h.Get(name), ",") {
			key, value, _ := strings.Cut(strings.TrimSpace(field), ":")
			if !strings.EqualFold(key, "TimeLeft") {
				continue
			}
			if d := parseAmount(value, time.Millisecond); d > 0 {
				return d
			}
		}
	}
	return parseAmount(h.Get("Retry-After"), time.Second)
}

func parseAmount(text string, unit time.Duration) time.Duration {
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || n <= 0 {
		return 0
	}
	if n > int64(maxRetryAfter/unit) {
		return maxRetryAfter
	}
	return time.Duration(n) * unit
}

// signed is one attempt: its URL, its headers and its body, which all attempts of a call have in common. Its nonce
// makes it good for one use.
type signed struct {
	url    *url.URL
	header http.Header
	body   []byte
}

// sign lets the SDK sign an attempt. The SDK's request is made for this attempt alone, because it may not be shared between goroutines.
// The SDK's client is left out: it would build a request of net/http besides, and escape everything once more for it.
func (c *Client) sign(call Call, with credentials.Credentials) (signed, error) {
	r := call.Product.row()
	version := cmp.Or(call.Version, r.version())
	if call.Unsigned {
		return c.unsigned(call, version), nil
	}
	target := &url.URL{Scheme: c.cfg.Scheme, Host: c.hosts[call.Product], Path: "/"}
	var req requests.AcsRequest
	if r.paths {
		req, target.Path = c.byPath(call, r, version), call.Path
	} else {
		rpc := &requests.RpcRequest{}
		rpc.InitWithApiInfo(r.code, version, call.Action, "", "")
		rpc.AcceptFormat = cmp.Or(call.Format, rpc.AcceptFormat)
		maps.Copy(rpc.FormParams, call.Form)
		req = rpc
	}
	maps.Copy(req.GetQueryParams(), call.Params)
	if err := auth.Sign(req, nil, c.cfg.Region, fixed{with}); err != nil {
		return signed{}, fmt.Errorf("sign: %w", err)
	}
	header := make(http.Header, len(req.GetHeaders())+2) //nolint:mnd // Those that follow.
	for name, value := range req.GetHeaders() {
		header.Set(name, value)
	}
	header.Set("X-Sdk-Core-Version", sdk.Version)
	header.Set("User-Agent", c.cfg.UserAgent)
	target.RawQuery = utils.GetUrlFormedMap(req.GetQueryParams())
	return signed{url: target, header: header, body: req.GetContent()}, nil
}

// byPath makes a request whose action the cloud finds by its path. The SDK signs it in its headers (version 1, "acs"), as the cloud's page
// "Request syntax and signature method V2 for ROA-style APIs" says (alibabacloud.com/help/en/sdk/product-overview/roa-mechanism, May
// 2025), and leaves out the nonce.
func (c *Client) byPath(call Call, r row, version string) requests.AcsRequest {
	req := &requests.RoaRequest{}
	req.InitWithApiInfo(r.code, version, call.Action, call.Path, "", "")
	req.Method = call.method()
	req.AcceptFormat = "JSON"
	req.Headers["x-acs-signature-nonce"] = rand.Text()
	if len(call.Body) > 0 {
		req.Content = call.Body
		req.Headers["Content-Type"] = cmp.Or(call.ContentType, "application/json")
	}
	return req
}

// unsigned leaves to the body what is secret, so that no log of URLs shows it.
func (c *Client) unsigned(call Call, version string) signed {
	query := url.Values{
		"Action": {call.Action}, "Version": {version}, "Format": {"JSON"},
		"Timestamp": {time.Now().UTC().Format("2006-01-02T15:04:05Z")}, "SignatureNonce": {rand.Text()},
	}
	return signed{
		url:    &url.URL{Scheme: c.cfg.Scheme, Host: c.hosts[call.Product], Path: "/", RawQuery: query.Encode()},
		header: http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "User-Agent": {c.cfg.UserAgent}},
		body:   []byte(utils.GetUrlFormedMap(call.Form)),
	}
}

// fixed hands the SDK the credentials of one attempt.
type fixed struct{ credentials.Credentials }

// GetCredentials makes it a CredentialsProvider of the SDK.
func (f fixed) GetCredentials() (*sdkcredentials.Credentials, error) {
	return &sdkcredentials.Credentials{
		AccessKeyId: f.AccessKeyID, AccessKeySecret: f.AccessKeySecret, SecurityToken: f.SecurityToken,
		ProviderName: f.GetProviderName(),
	}, nil
}

// GetProviderName makes it a CredentialsProvider of the SDK.
func (fixed) GetProviderName() string { return "cloudgateway" }
