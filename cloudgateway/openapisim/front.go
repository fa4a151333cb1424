package openapisim

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/internal/certs"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/wire"
)

// The endpoints that serve everything at one port. The second one speaks TLS.
const (
	frontEndpoint = "all"
	tlsEndpoint   = "tls"
)

// metadataAddress is where instances find their metadata in the cloud.
const metadataAddress = "100.100.100.200"

// serveFront sends a request to the endpoint that it is for: by its path, by the host name that the client called as it would
// be in the cloud (slb.cn-hangzhou.aliyuncs.com), or by the version of the API, which no two products share. A request that
// says none of these gets the answer that any product gives to it.
func (s *Simulator) serveFront(w http.ResponseWriter, r *http.Request) {
	s.handlers[s.frontName(r)].ServeHTTP(w, r)
}

func (s *Simulator) frontName(r *http.Request) string {
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	path := r.URL.Path
	switch {
	case strings.HasPrefix(path, "/admin/"), strings.HasPrefix(path, "/at/"), path == "/console", strings.HasPrefix(path, "/console/"):
		return "admin"
	case host == metadataAddress, strings.HasPrefix(path, "/latest/"):
		return "metadata"
	}
	label := host
	if end := strings.IndexAny(host, ".-"); end >= 0 { // slb-vpc.cn-hangzhou, ecs-cn-hangzhou, location-readonly
		label = host[:end]
	}
	if _, ok := s.own[label].(*product); ok {
		return label
	}
	request, _ := wire.Parse(r) // the product says what is wrong with it
	for _, name := range s.names() {
		if p, ok := s.own[name].(*product); ok && p.Version == request.Version {
			return name
		}
	}
	if request.Action == "" && r.Method == http.MethodGet && len(r.URL.RawQuery) == 0 {
		return "admin" // a person
	}
	return "ecs"
}

// serverTLS is the TLS configuration of the endpoint, with a certificate for the names of the cloud's endpoints and of this
// machine.
func (s *Simulator) serverTLS(authority *certs.Authority) (*tls.Config, error) {
	names := []string{
		"localhost", "127.0.0.1", "::1", metadataAddress, "*.aliyuncs.com", "openapisim",
	}
	for _, id := range s.regions {
		names = append(names, "*."+id+".aliyuncs.com")
	}
	for _, p := range s.products {
		names = append(names, p.Name)
	}
	slices.Sort(names)
	certificate, err := authority.Issue(s.realNow(), names...)
	if err != nil {
		return nil, fmt.Errorf("certificate of the endpoint %s: %w", tlsEndpoint, err)
	}
	return &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}, nil
}

// CA is the certificate of the authority, in PEM, that signed the certificate of the TLS endpoint.
func (s *Simulator) CA() []byte { return s.authority.PEM() }
