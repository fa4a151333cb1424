package dataplane

import (
	"strconv"
	"strings"
	"time"
)

// attributes are those of a listener, by their canonical names. Seeds may leave any of them out, so every look names what
// the cloud has for one that was never set.
type attributes map[string]string

func (a attributes) text(name, fallback string) string {
	if v := a[name]; v != "" {
		return v
	}
	return fallback
}

func (a attributes) on(name string, fallback bool) bool {
	switch a[name] {
	case "on", "true":
		return true
	case "off", "false":
		return false
	}
	return fallback
}

func (a attributes) number(name string, fallback int) int {
	if n, err := strconv.Atoi(a[name]); err == nil {
		return n
	}
	return fallback
}

func (a attributes) seconds(name string, fallback int) time.Duration {
	return time.Duration(a.number(name, fallback)) * time.Second
}

// port returns a port, or fallback where the cloud stores "the port of the server" as -520.
func (a attributes) port(name string, fallback int) int {
	if n := a.number(name, 0); n > 0 {
		return n
	}
	return fallback
}

// checkup returns how the servers are checked.
func (a attributes) checkup(protocol string) checkup {
	c := checkup{
		kind: protocol, port: a.port("HealthCheckConnectPort", 0), timeout: a.seconds("HealthCheckConnectTimeout", 5),
		interval: max(a.seconds("HealthCheckInterval", 2), time.Second),
		rise:     a.number("HealthyThreshold", 3), fall: a.number("UnhealthyThreshold", 3),
	}
	enabled := a.on("HealthCheckSwitch", true)
	switch protocol {
	case protoTCP:
		c.kind = a.text("HealthCheckType", protoTCP)
	case protoUDP:
		c.send, c.expect = a["HealthCheckReq"], a["HealthCheckExp"]
	default:
		c.kind, c.timeout, enabled = protoHTTP, a.seconds("HealthCheckTimeout", 5), a.on("HealthCheck", true)
	}
	if c.kind == protoHTTP {
		c.uri, c.codes = a.text("HealthCheckURI", "/"), a.text("HealthCheckHttpCode", "http_2xx")
		c.method, c.host = a.text("HealthCheckMethod", defaultMethod), strings.TrimPrefix(a["HealthCheckDomain"], "$_ip")
	}
	if !enabled {
		return checkup{}
	}
	return c
}

// sticky returns the session stickiness of HTTP by a cookie that the load balancer inserts, the only kind there is here.
func (a attributes) sticky() sticky {
	if !a.on("StickySession", false) || a["StickySessionType"] == "server" {
		return sticky{}
	}
	return sticky{on: true, idle: a.seconds("CookieTimeout", 0)}
}

func (a attributes) headers() headers {
	return headers{forwardedFor: a.on("XForwardedFor", true), forwardedProto: a.on("XForwardedFor_proto", false)}
}
