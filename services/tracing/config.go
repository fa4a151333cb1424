package tracing

import (
	"cmp"
	"net/url"
	"strings"

	"alicloud-controllers.dev/services/config"
)

// defaultSampleRatio keeps the cost of tracing below what one can measure.
const defaultSampleRatio = 0.01

// Config describes where traces go.
type Config struct {
	// Endpoint is an OTLP collector that speaks gRPC, "host:port" or a URL such as https://collector:4317. Without one there are no
	// traces.
	Endpoint string `json:"endpoint"`
	// Insecure speaks to the collector without TLS, and so does an endpoint with http://.
	Insecure bool `json:"insecure"`
	// CAFile holds the certificates that sign the collector's, if those of the system don't. It is read at the start.
	CAFile string `json:"caFile"`
	// SampleRatio is the part of the traces that is recorded, 0 to 1. What belongs to a caller's trace is recorded if the caller records
	// it. Default: 0.01.
	SampleRatio *float64 `json:"sampleRatio"`
}

// Validate notes what is wrong, under key.
func (c Config) Validate(p *config.Problems, key string) {
	if ratio := c.sampleRatio(); ratio < 0 || ratio > 1 {
		p.Addf(key+".sampleRatio", "%g is not in 0 to 1", ratio)
	}
	if c.Endpoint == "" {
		return
	}
	scheme, address, ok := c.split()
	if !ok {
		p.Addf(key+".endpoint", `%q is not of the form "host:port", "http://host:port" or "https://host:port"`, c.Endpoint)
		return
	}
	p.HostPort(key+".endpoint", address)
	if c.Insecure && scheme == "https" {
		p.Addf(key+".insecure", "contradicts %s.endpoint, which asks for TLS; drop one of them", key)
	}
	if c.plain() && c.CAFile != "" {
		p.Addf(key+".caFile", "has no use without TLS; drop it, or %s.insecure and http://", key)
	}
}

func (c Config) sampleRatio() float64 { return *cmp.Or(c.SampleRatio, new(defaultSampleRatio)) }

// plain reports whether the collector is spoken to without TLS.
func (c Config) plain() bool {
	scheme, _, _ := c.split()
	return c.Insecure || scheme == "http"
}

// split takes the endpoint apart. A URL may have nothing but a scheme and an address.
func (c Config) split() (scheme, address string, ok bool) {
	if !strings.Contains(c.Endpoint, "://") {
		return "", c.Endpoint, true
	}
	u, err := url.Parse(c.Endpoint)
	if err != nil {
		return "", "", false
	}
	bare := url.URL{Scheme: u.Scheme, Host: u.Host}
	return u.Scheme, u.Host, (u.Scheme == "http" || u.Scheme == "https") && strings.TrimSuffix(c.Endpoint, "/") == bare.String()
}
