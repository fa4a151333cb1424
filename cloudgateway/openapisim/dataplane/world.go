package dataplane

import (
	"net/http"
	"net/netip"
	"time"
	"unique"
)

// world is what the data plane should do, derived from one look at the state of the cloud.
type world struct {
	reach      Ranges
	listeners  map[socket]*listener
	byKey      map[listenerKey]*listener
	probes     map[probe]bool // the health checks to make
	generation uint64         // of the state it was derived from, or of one before
	due        time.Time      // when the state will change by itself; zero: never
}

// socket is what a listener occupies. Listeners differ in their settings, sockets in their identity: a changed socket is a
// new one.
type socket struct {
	addr     netip.AddrPort
	protocol string
	idle     time.Duration // of kept-alive HTTP connections, which a server can't change while it runs
}

// listener is where one socket forwards, and how.
type listener struct {
	loadBalancerID string
	port           int
	protocol       string

	access access
	pool   pool

	routes   []route  // HTTP: forwarding rules; the first that matches has the request
	redirect redirect // HTTP: the answer to every request

	tls           terms // of listeners that end TLS
	headers       headers
	proxyProtocol bool   // servers get a header of the PROXY protocol, version 2, before what the client sends, of UDP before each datagram
	proxyVpc      string // is told in that header; "": is not
	ownAddress    bool   // servers see an address of the load balancer in place of the client's

	limits      []limit       // of new connections
	established time.Duration // how long a TCP connection may be idle
	request     time.Duration // how long an HTTP server may take to begin its answer
	drain       time.Duration // how long connections survive the loss of their server

	problem string // why it can't be carried; "": it can
}

// pool is a group of servers with a way to choose among them.
type pool struct {
	scheduler   string
	persistence time.Duration // TCP, UDP: how long a client keeps its server after its last new connection; 0: it doesn't
	sticky      sticky        // HTTP: one session stays at one server
	targets     []target
}

// route is a forwarding rule: the requests of a domain and path have servers of their own.
type route struct {
	domain string // "": any; *.example.com: those one level below
	path   string // what the path of the request begins with; "": any
	pool   pool
}

// redirect is where an HTTP listener sends its clients. Without a port it sends them nowhere.
type redirect struct {
	port int // of HTTPS
	code int // of the answer
}

// terms are those of TLS handshakes.
type terms struct {
	certificates []string // with their keys, as PEM; the first one is for clients that ask for no name that another has
	alpn         []string // in the order of preference; nil: none is agreed upon
	oldest       uint16   // version
}

// target is a server.
type target struct {
	id      targetID
	key     serverKey
	weight  int
	standby bool // has traffic only while the others have none
	probe   probe
	down    string // why it can't be reached at all; "": it can
}

// targetID identifies a server; the same instance may serve on several ports. Without a port the server has that of the listener, of
// which there are as many then as ports in a range.
type targetID struct {
	server string
	addr   netip.AddrPort
}

// probe is a health check of one address. Equal probes are made once, however many listeners ask. The zero value is none.
type probe struct {
	addr netip.AddrPort
	how  unique.Handle[checkup] // many probes share it, and a handle compares fast
}

// checkup is how a health check is made.
type checkup struct {
	kind     string // tcp, http, udp, or "" for not at all
	port     int    // 0: that of the server
	interval time.Duration
	timeout  time.Duration
	rise     int // successes until a server is good
	fall     int // failures until it is bad

	method, host, uri, codes string // http; host "" is the address of the server, codes are as in http_2xx,http_3xx
	send, expect             string // udp
}

// listenerKey and serverKey name listeners and their servers as DescribeHealthStatus does.
type listenerKey struct {
	loadBalancerID string
	port           int
	protocol       string
}

type serverKey struct {
	kind     string
	serverID string
	serverIP string
	port     int
}

// headers are those that the servers of an HTTP listener get beside the client's.
type headers struct {
	forwardedFor, forwardedProto bool
}

// sticky is how an HTTP session finds its server again: by a cookie that the load balancer inserts.
type sticky struct {
	on   bool
	idle time.Duration // the session ends when it was idle for so long; zero: with the browser
}

const (
	protoTCP   = "tcp"
	protoUDP   = "udp"
	protoHTTP  = "http"
	protoHTTPS = "https"
	protoTLS   = "tcpssl"
)

// Health as DescribeHealthStatus names it.
const (
	normal      = "normal"
	abnormal    = "abnormal"
	unavailable = "unavailable"
)

const (
	insertCookie  = "SERVERID" // what the cloud calls the cookie it inserts
	defaultMethod = http.MethodHead
)
