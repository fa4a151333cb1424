package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"
	"google.golang.org/grpc/status"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	kubetesting "k8s.io/client-go/testing"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	"alicloud-controllers.dev/proto/tlstest"
)

// slice is an EndpointSlice of Service cloudgateway with ready and unready replicas in turn.
func slice(name string, port int32, addresses ...string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "kube-system",
			Labels: map[string]string{discoveryv1.LabelServiceName: "cloudgateway"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: new("admin"), Port: new(int32(1))}, {Name: new("grpc"), Port: &port}},
	}
	for i, address := range addresses {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{address, "10.0.0.99"}, Conditions: discoveryv1.EndpointConditions{Ready: new(i%2 == 0)},
		})
	}
	return s
}

// channel stands for gRPC. It keeps the last addresses and the last error that were reported to it.
type channel struct {
	resolver.ClientConn

	mu        sync.Mutex
	addresses string
	err       error
	changes   int
}

func (c *channel) UpdateState(s resolver.State) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []string
	for _, e := range s.Endpoints {
		all = append(all, e.Addresses[0].Addr)
	}
	c.addresses, c.err = strings.Join(all, " "), nil
	return errors.New("gRPC's balancer wants other addresses")
}

func (c *channel) ReportError(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
}

func (*channel) ParseServiceConfig(string) *serviceconfig.ParseResult { return nil }

func (c *channel) changed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++
}

// expect compares what gRPC knows; err is a part of the error.
func (c *channel) expect(t *testing.T, when, addresses, err string) {
	t.Helper()
	<-time.After(time.Second) // client-go looks ten times a second whether it has read all.
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.addresses != addresses || (c.err == nil) != (err == "") || err != "" && !strings.Contains(c.err.Error(), err) {
		t.Errorf("%s: addresses %q, error %v; want %q, %q", when, c.addresses, c.err, addresses, err)
	}
}

func watch(t *testing.T, client *fake.Clientset, address string) (*channel, resolver.Resolver) {
	t.Helper()
	target, err := parseTarget(address)
	if err != nil {
		t.Fatal(err)
	}
	c := &channel{}
	r, err := endpoints{client: client, log: slog.New(slog.DiscardHandler), changed: c.changed}.Build(target, c, resolver.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return c, r
}

func TestReplicasAreThoseOfTheEndpointSlices(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		other := slice("other", 7443, "10.0.0.7")
		other.Labels[discoveryv1.LabelServiceName] = "other"
		elsewhere := slice("elsewhere", 7443, "10.0.0.8")
		elsewhere.Namespace = "default"
		named := slice("named", 7443, "gateway.example.com")
		named.AddressType = discoveryv1.AddressTypeFQDN
		client := fake.NewClientset(other, elsewhere, named, slice("a", 7443, "10.0.0.1", "10.0.0.2"))
		byName, first := watch(t, client, "kubernetes:///cloudgateway.kube-system:grpc")
		byNumber, second := watch(t, client, "kubernetes:///cloudgateway.kube-system:7000")
		defer first.Close()
		defer second.Close()
		byName.expect(t, "at first", "10.0.0.1:7443 10.0.0.2:7443", "")
		byNumber.expect(t, "at first", "10.0.0.1:7000 10.0.0.2:7000", "")

		// What is there at first may come in one change or in several.
		before := byName.changes
		slices := client.DiscoveryV1().EndpointSlices("kube-system")
		if _, err := slices.Create(t.Context(), slice("b", 8443, "10.0.0.3", "10.0.0.2"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		byName.expect(t, "with a second slice", "10.0.0.1:7443 10.0.0.2:7443 10.0.0.2:8443 10.0.0.3:8443", "")
		byNumber.expect(t, "with a second slice", "10.0.0.1:7000 10.0.0.2:7000 10.0.0.3:7000", "")
		if _, err := slices.Update(t.Context(), slice("b", 8443, "10.0.0.4"), metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		byName.expect(t, "with a replaced pod", "10.0.0.1:7443 10.0.0.2:7443 10.0.0.4:8443", "")
		if changes := byName.changes - before; changes != 2 {
			t.Errorf("%d changes were reported, want 2", changes)
		}
		// When the last one goes, its address stays: it is better than none.
		for _, name := range [][2]string{{"a", ""}, {"b", "service kube-system/cloudgateway has no endpoint with port 7000"}} {
			if err := slices.Delete(t.Context(), name[0], metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			byNumber.expect(t, "without slice "+name[0], "10.0.0.4:7000", name[1])
		}
	})
}

// TestNoReplicas: gRPC gets the reason why no replica is known, and the addresses as soon as there is one.
func TestNoReplicas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset()
		var allowed atomic.Bool
		client.PrependReactor("list", "endpointslices", func(kubetesting.Action) (bool, runtime.Object, error) {
			if !allowed.Load() {
				return true, nil, apierrors.NewForbidden(discoveryv1.Resource("endpointslices"), "", errors.New("no rule"))
			}
			return false, nil, nil
		})
		c, r := watch(t, client, "kubernetes:///cloudgateway.kube-system:grpc")
		defer r.Close()
		c.expect(t, "without permission", "", "read the EndpointSlices of Service kube-system/cloudgateway")
		allowed.Store(true)
		<-time.After(time.Minute) // client-go asks again after half a minute at most, give or take.
		c.expect(t, "without replicas", "", "has no endpoint with port grpc")
		if _, err := client.DiscoveryV1().EndpointSlices("kube-system").Create(t.Context(), slice("a", 7443, "10.0.0.1"),
			metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		c.expect(t, "with a replica", "10.0.0.1:7443", "")
	})
}

func setUp(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	tlstest.Issue(t, dir, "ca")
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte("token"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// active starts an active replica.
func active(t *testing.T, dir string) (address string) {
	t.Helper()
	identity, err := credentials.NewServerTLSFromFile(filepath.Join(dir, "ca.crt"), filepath.Join(dir, "ca.key"))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.Creds(identity))
	commonv1.RegisterCapabilitiesServiceServer(server, answering{})
	healthv1.RegisterHealthServer(server, health.NewServer())
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-ended; err != nil {
			t.Errorf("Serve = %v", err)
		}
	})
	return listener.Addr().String()
}

type answering struct {
	commonv1.UnimplementedCapabilitiesServiceServer
}

func (answering) GetCapabilities(context.Context, *commonv1.GetCapabilitiesRequest) (*commonv1.GetCapabilitiesResponse, error) {
	return &commonv1.GetCapabilitiesResponse{}, nil
}

// TestFoundThroughTheAPIServer calls a gateway that is known by its EndpointSlice only, with the certificate of its Service.
func TestFoundThroughTheAPIServer(t *testing.T) {
	t.Parallel()
	dir := setUp(t)
	host, text, err := net.SplitHostPort(active(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{
		Address: "kubernetes:///cloudgateway.kube-system:grpc", CAFile: filepath.Join(dir, "ca.crt"), TokenFile: filepath.Join(dir, "token"),
		ServerName: tlstest.ServerName, Kubernetes: fake.NewClientset(slice("a", int32(port), host)),
	}
	conn, err := Dial(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Client().Capabilities.GetCapabilities(t.Context(), &commonv1.GetCapabilitiesRequest{},
		grpc.WaitForReady(true)); err != nil {
		t.Error(err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}

	// Without a name of its own the certificate has to be the Service's.
	cfg.ServerName = ""
	if conn, err = Dial(cfg); err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if _, err := conn.Client().Capabilities.GetCapabilities(ctx,
		&commonv1.GetCapabilitiesRequest{}); status.Code(err) != codes.Unavailable ||
		!strings.Contains(err.Error(), "not cloudgateway.kube-system.svc") {
		t.Errorf("with another's certificate: %v", err)
	}
}

// TestLostReplicaIsTriedAtOnce: where a replica that comes back has its old address, news of it end the wait for the next attempt.
func TestLostReplicaIsTriedAtOnce(t *testing.T) {
	t.Parallel()
	dir := setUp(t)
	synctest.Test(t, func(t *testing.T) {
		client := fake.NewClientset(slice("a", 7443, "10.0.0.1"))
		var mu sync.Mutex
		var last time.Time
		conn, err := Dial(Config{
			Address: "kubernetes:///cloudgateway.kube-system:grpc", CAFile: filepath.Join(dir, "ca.crt"), TokenFile: filepath.Join(dir, "token"),
			Kubernetes: client,
			Dialer: func(context.Context, string) (net.Conn, error) {
				mu.Lock()
				defer mu.Unlock()
				last = time.Now()
				return nil, errors.New("nobody listens")
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		conn.GRPC().Connect()
		<-time.After(time.Minute)
		for range 20 {
			mu.Lock()
			before := last
			mu.Unlock()
			ready := slice("a", 7443, "10.0.0.1")
			ready.Generation = time.Now().UnixNano()
			if _, err := client.DiscoveryV1().EndpointSlices("kube-system").Update(t.Context(), ready, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			mu.Lock()
			if last != time.Now() {
				t.Errorf("tried %s ago, before that %s ago", time.Since(last), time.Since(before))
			}
			mu.Unlock()
			<-time.After(700 * time.Millisecond)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestAddressesOfServices(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"kubernetes:///cloudgateway.kube-system:7443":             "",
		"kubernetes:///cloudgateway.kube-system:grpc":             "",
		"kubernetes:///cloudgateway.kube-system":                  "missing port",
		"kubernetes:///cloudgateway:7443":                         "is not service.namespace:port",
		"kubernetes:///cloudgateway.kube-system.svc:7443":         "is not service.namespace:port",
		"kubernetes:///cloudgateway.kube-system.svc.cluster:7443": "is not service.namespace:port",
	} {
		target, err := parseTarget(address)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parseService(target.Endpoint()); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", address, err, want)
		}
	}
	dir := setUp(t)
	cfg := Config{Address: "kubernetes:///cloudgateway.kube-system:7443", CAFile: filepath.Join(dir, "ca.crt"),
		TokenFile: filepath.Join(dir, "token")}
	if _, err := Dial(cfg); err == nil || !strings.Contains(err.Error(), "access to the API server") {
		t.Errorf("a tool's Dial = %v", err)
	}
}

func parseTarget(address string) (resolver.Target, error) {
	u, err := url.Parse(address)
	if err != nil {
		return resolver.Target{}, err
	}
	return resolver.Target{URL: *u}, nil
}
