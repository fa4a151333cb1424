package doctor

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"time"

	"alicloud-controllers.dev/cloudgateway/internal/openapi"
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
	for _, product := range []openapi.Product{openapi.SLB, openapi.VPC, openapi.ECS} {
		url := x.client.URL(product)
		check := "endpoint " + string(product)
		begin := x.Now()
		date, err := visit(ctx, client, url)
		end := x.Now()
		if err != nil {
			x.unreachable[product] = true
			x.report.add(check, Failed, x.wayTo(err), "%s: %s", url, text(err))
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
		return "Check DNS, region and endpoints: the host name is not known. Endpoints with -vpc are known inside a VPC only; elsewhere set network to public."
	}
	return "Open the way to the endpoint: routes, security groups, HTTPS_PROXY. Endpoints with -vpc can be reached from inside a VPC only; elsewhere set network to public."
}

// clock judges the difference between this machine's clock and the cloud's; nil: nobody told.
func (x *examination) clock(skew *time.Duration) {
	const check, todo = "clock", "Set the clock of this machine, e.g. with NTP."
	switch {
	case skew == nil:
		x.report.add(check, Skipped, "", "no endpoint told the time")
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
