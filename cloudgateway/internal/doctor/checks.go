package doctor

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/rampolicy"
)

// How far the clocks may be apart: the cloud refuses requests beyond the greater one.
const (
	tolerableSkew = time.Minute
	refusedSkew   = 15 * time.Minute
)

// endpoints tries to reach the products, and reads the cloud's clock on the way.
func (x *examination) endpoints(ctx context.Context) {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, DialContext: x.OpenAPI.Dial, DisableKeepAlives: true}
	client := &http.Client{
		Timeout: endpointTimeout, Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	var clock *time.Duration
	products := []openapi.Product{openapi.SLB, openapi.NLB, openapi.VPC, openapi.ECS}
	for _, product := range []openapi.Product{openapi.CAS, openapi.Quotas} {
		if x.calls(product) {
			products = append(products, product)
		}
	}
	for _, product := range products {
		url := x.client.URL(product)
		check := "endpoint " + string(product)
		begin := x.Now()
		date, err := visit(ctx, client, url)
		end := x.Now()
		if err != nil {
			x.unreachable[product] = true
			result := Failed
			if product == openapi.NLB || product == openapi.CAS { // There are clusters without such Services, and regions without NLB.
				result = Warning
			}
			x.report.add(check, result, x.wayTo(err), "%s: %s", url, text(err))
			continue
		}
		x.report.add(check, OK, "", "%s answers in %s", url, end.Sub(begin).Round(time.Millisecond))
		if !date.IsZero() {
			skew := begin.Add(end.Sub(begin) / 2).Sub(date).Round(time.Second)
			clock = &skew
		}
	}
	x.clock(clock)
}

// calls reports whether a feature whose permissions are tried calls a product.
func (x *examination) calls(product openapi.Product) bool {
	return slices.ContainsFunc(rampolicy.Rows(), func(row rampolicy.Row) bool {
		feature, _ := x.feature(row)
		return row.Product == product && feature != ""
	})
}

// visit sends a request that any answer will do for, and returns the server's time.
func visit(ctx context.Context, client *http.Client, url string) (time.Time, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return time.Time{}, err
	}
	answer, err := client.Do(request)
	if err != nil {
		return time.Time{}, err
	}
	if err := answer.Body.Close(); err != nil {
		return time.Time{}, err
	}
	date, err := http.ParseTime(answer.Header.Get("Date"))
	if err != nil {
		date = time.Time{} // a server without a clock is a server all the same
	}
	return date, nil
}

// wayTo says what to do about an endpoint that can't be reached.
func (x *examination) wayTo(err error) string {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "Trust the endpoint's certificate, or stop what intercepts TLS on the way."
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return "Check DNS, region and endpoints: the host name is not known. Endpoints with -vpc are known inside a VPC " +
			"only; elsewhere set network to public."
	}
	return "Open the way to the endpoint: routes, security groups, HTTPS_PROXY. Endpoints with -vpc can be reached " +
		"from inside a VPC only; elsewhere set network to public."
}

// clock judges the difference between this machine's clock and the cloud's; nil: it is not known.
func (x *examination) clock(skew *time.Duration) {
	const check, todo = "clock", "Set the clock of this machine, e.g. with NTP."
	switch {
	case skew == nil:
		x.report.add(check, Skipped, "", "no endpoint returned the time")
	case skew.Abs() > refusedSkew:
		x.report.add(check, Failed, todo, "%s, so the cloud refuses every request; %s are tolerated", ahead(*skew), refusedSkew)
	case skew.Abs() > tolerableSkew:
		x.report.add(check, Warning, todo, "%s; from %s on the cloud refuses requests", ahead(*skew), refusedSkew)
	default:
		x.report.add(check, OK, "", "differs from the cloud's by less than %s", tolerableSkew)
	}
}

func ahead(skew time.Duration) string {
	if skew < 0 {
		return (-skew).String() + " behind the cloud"
	}
	return skew.String() + " ahead of the cloud"
}

// rateLimits says whether the products tell in their answers what is left of a limit. The gateway does without it (ADR 8).
func (x *examination) rateLimits() {
	const check = "rate limit header"
	var said []string
	for _, product := range []openapi.Product{openapi.SLB, openapi.VPC, openapi.ECS} {
		if text := x.client.RateLimit(product); text != "" {
			said = append(said, string(product)+" says "+text)
		}
	}
	if len(said) == 0 {
		x.report.add(check, OK, "", "no product tells what is left of a rate limit; the gateway does without")
		return
	}
	x.report.add(check, OK, "", "%s", strings.Join(said, "; "))
}

// permissions tries every action of the features.
func (x *examination) permissions(ctx context.Context) {
	missing := map[rampolicy.Feature][]string{}
	for _, row := range rampolicy.Rows() {
		feature, refused := x.feature(row)
		if feature == "" {
			continue
		}
		check := "permission " + row.Name()
		if x.refused || x.unreachable[row.Product] {
			x.report.add(check, Skipped, "", "needs credentials and the endpoint")
			continue
		}
		if x.permitted(ctx, check, row, refused) {
			continue
		}
		missing[feature] = append(missing[feature], row.Name())
	}
	for _, f := range rampolicy.Features() {
		if actions := missing[f]; len(actions) > 0 {
			x.advise(f, actions)
		}
	}
}

// feature is the first one that needs an action, and what it means if the action is refused; "" if none of those that are asked about does.
func (x *examination) feature(row rampolicy.Row) (of rampolicy.Feature, refused Result) {
	needs := func(f rampolicy.Feature) bool { return slices.Contains(row.Features, f) }
	if i := slices.IndexFunc(x.Features, needs); i >= 0 {
		return x.Features[i], Failed
	}
	if i := slices.IndexFunc(x.Optional, needs); i >= 0 {
		return x.Optional[i], Warning
	}
	return "", ""
}

// advise puts one advice on all refused actions of a feature.
func (x *examination) advise(f rampolicy.Feature, actions []string) {
	todo := fmt.Sprintf("Attach the policy deploy/ram-policies/%s.json to %s: it lacks %s.", f, x.who, strings.Join(actions, ", "))
	if !slices.Contains(x.Features, f) {
		todo += " Without it all works but this: " + f.About()
	}
	for i := range x.report.Findings {
		finding := &x.report.Findings[i]
		if action, ok := strings.CutPrefix(finding.Check, "permission "); ok && slices.Contains(actions, action) {
			finding.Todo = todo
		}
	}
}

// permitted tries an action. It is true unless the cloud said that it is not permitted, which is reported as refused.
func (x *examination) permitted(ctx context.Context, check string, row rampolicy.Row, refused Result) bool {
	if row.Action == "DescribeInstances" && x.instanceID != "" {
		return x.seesItself(ctx, check)
	}
	if len(row.Harmless) == 0 {
		x.report.add(check, Skipped, "", "can't be tried without buying something")
		return true
	}
	call := cloud.Write(row.Product, row.Action, row.Harmless)
	if strings.HasPrefix(row.Action, "Describe") {
		call = cloud.Read(row.Product, row.Action, row.Harmless)
	}
	_, err := x.caller.Do(ctx, call, nil)
	if distrusted(err) {
		x.refuse(check, err)
		return true
	}
	switch rpcerr.ReasonOf(err) {
	case rpcerr.CloudForbidden:
		x.report.add(check, refused, "", "%s", text(err))
		return false
	case rpcerr.Throttled, rpcerr.CloudUnavailable, rpcerr.OutcomeUnknown, rpcerr.Internal:
		x.report.add(check, Warning, "Run the doctor again: not every permission could be tried.", "%s", text(err))
	default:
		// Success, or an error about what was asked for and not about the identity that asked.
		x.report.add(check, OK, "", "%s", row.For)
	}
	return true
}

// seesItself reads the instance that this runs on: where RAM restricts what is visible, ECS answers with an empty list and not
// with an error.
func (x *examination) seesItself(ctx context.Context, check string) bool {
	total := 0
	params := cloud.Params{}.JSONList("InstanceIds", []string{x.instanceID})
	_, err := x.caller.Do(ctx, cloud.Read(openapi.ECS, "DescribeInstances", params), &cloud.Fields{"TotalCount": &total})
	switch {
	case rpcerr.ReasonOf(err) == rpcerr.CloudForbidden:
		x.report.add(check, Failed, "", "%s", text(err))
		return false
	case err != nil:
		x.report.add(check, Warning, "Run the doctor again: not every permission could be tried.", "%s", text(err))
	case total == 0:
		x.report.add(check, Failed, "", "%s, on which this runs, is not visible", x.instanceID)
		return false
	default:
		x.report.add(check, OK, "", "%s, on which this runs, is visible", x.instanceID)
	}
	return true
}
