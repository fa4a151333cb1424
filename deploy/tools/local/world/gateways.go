package world

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"

	"golang.org/x/net/dns/dnsmessage"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"alicloud-controllers.dev/deploy/chart"
	"alicloud-controllers.dev/deploy/tools/local/proc"
	"alicloud-controllers.dev/proto/method"
)

// gatewayNames are the names of the gateways' processes.
func (w *World) gatewayNames() []string {
	names := []string{"cloudgateway"}
	for i := 2; i <= w.cfg.Gateways; i++ {
		names = append(names, "cloudgateway-"+strconv.Itoa(i))
	}
	return names
}

// loopback is the address on which the i-th of a few gateways listens. All have the same port, like the pods of a Service.
func loopback(i int) net.IP { return net.IPv4(127, 0, 0, byte(1+i)) }

func (w *World) placeStandbys() {
	for i, name := range w.gatewayNames()[1:] {
		for _, suffix := range []string{"", "-admin"} {
			w.addresses[name+suffix] = net.JoinHostPort(loopback(1+i).String(), port(w.addresses["cloudgateway"+suffix]))
		}
	}
}

// startGateways starts the one that is to be active before the others.
func (w *World) startGateways(ctx context.Context) error {
	var specs []proc.Spec
	for _, name := range w.gatewayNames() {
		spec, err := w.gateway(name)
		if err != nil {
			return err
		}
		specs = append(specs, spec)
	}
	if err := w.run(ctx, specs[0]); err != nil {
		return err
	}
	if w.cfg.Discovery {
		return w.publishGateway(ctx)
	}
	return w.runAll(ctx, specs[1:])
}

func (w *World) gatewaySection(name string) section {
	endpoints := section{
		"slb": w.addresses["slb"], "nlb": w.addresses["nlb"], "vpc": w.addresses["vpc"], "ecs": w.addresses["ecs"], "sts": w.addresses["sts"],
	}
	if w.cfg.Front {
		for _, product := range []string{"cas", "ram", "cs"} {
			endpoints[product] = w.addresses[product]
		}
	}
	return section{
		"region": Region,
		"vpcID":  VpcID,
		"listen": w.addresses[name],
		"tls":    section{"certFile": w.gatewayTLS.CertFile, "keyFile": w.gatewayTLS.KeyFile},
		"kubernetes": section{
			"kubeconfig": w.componentKubeconfig("cloudgateway"),
		},
		"authentication": section{"audience": Audience},
		"reflection":     true, // for those who look around with grpcurl
		"api":            section{"enable": method.ToolServices()},
		"credentials":    section{"accessKey": section{"idFile": w.accessKey.idFile, "secretFile": w.accessKey.secretFile}},
		"endpoints":      endpoints,
		"scheme":         "HTTP",
		"clusterID":      ClusterID, "scopeControllers": true, // as the chart has it
		"leaderElection": lease("cloudgateway", len(w.gatewayNames())),
	}
}

func (w *World) gateway(name string) (proc.Spec, error) {
	cfg := w.gatewaySection(name)
	if w.cfg.Front {
		cfg["front"] = w.frontSection()
	}
	maps.Copy(cfg, w.cfg.Gateway)
	spec, err := w.ours(name, "cloudgateway", cfg)
	if w.cfg.Front {
		spec.Ready = allOf(spec.Ready, w.frontListens)
	}
	return spec, err
}

// GatewayAddress and CAFile are what a client of the gateway needs besides a token. Several gateways have a DNS name, as behind a
// headless Service, and the address says whom to ask for it.
func (w *World) GatewayAddress() string {
	if w.names == "" {
		return w.addresses["cloudgateway"]
	}
	return "dns://" + w.names + "/cloudgateway.world.:" + port(w.addresses["cloudgateway"])
}

// controllersGateway is the address for the controllers.
func (w *World) controllersGateway() string {
	if w.cfg.Discovery {
		return "kubernetes:///cloudgateway." + chart.Namespace + ":" + grpcPort
	}
	return w.GatewayAddress()
}

// grpcPort is the name of the gateway's port.
const grpcPort = "grpc"

// publishGateway does what the control plane does for the pods of a headless Service.
func (w *World) publishGateway(ctx context.Context) error {
	host, text, err := net.SplitHostPort(w.addresses["cloudgateway"])
	if err != nil {
		return fmt.Errorf("publish the gateway: %w", err)
	}
	number, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		return fmt.Errorf("publish the gateway: %w", err)
	}
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Name: "cloudgateway", Namespace: chart.Namespace,
			Labels: map[string]string{discoveryv1.LabelServiceName: "cloudgateway"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: new(grpcPort), Port: new(int32(number))}},
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{host}}},
	}
	if _, err := w.client.DiscoveryV1().EndpointSlices(chart.Namespace).Create(ctx, slice, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("publish the gateway: %w", err)
	}
	return nil
}

// ownAddress is an IPv4 address of this machine that EndpointSlices may have.
func ownAddress() (net.IP, error) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("find an address of this machine: %w", err)
	}
	for _, a := range addresses {
		if prefix, ok := a.(*net.IPNet); ok && prefix.IP.To4() != nil && prefix.IP.IsGlobalUnicast() {
			return prefix.IP, nil
		}
	}
	return nil, errors.New("this machine has no IPv4 address but loopback ones")
}

// nameGateways starts the name server, if there is more than one gateway.
func (w *World) nameGateways(ctx context.Context) error {
	gateways := len(w.gatewayNames())
	if gateways == 1 {
		return nil
	}
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("start the name server of the gateways: %w", err)
	}
	w.names = conn.LocalAddr().String()
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	w.background.Go(func() { serveNames(conn, gateways) })
	return nil
}

// serveNames answers all queries, whatever the name, with the addresses of the gateways, until conn is closed.
func serveNames(conn net.PacketConn, gateways int) {
	query := make([]byte, 512) // What DNS allows without further agreement.
	for {
		n, from, err := conn.ReadFrom(query)
		if err != nil {
			return
		}
		if answer, err := resolve(query[:n], gateways); err == nil {
			_, _ = conn.WriteTo(answer, from) // A client that does not get it asks again.
		}
	}
}

func resolve(query []byte, gateways int) ([]byte, error) {
	var m dnsmessage.Message
	if err := m.Unpack(query); err != nil {
		return nil, fmt.Errorf("read query: %w", err)
	}
	m.Response, m.Authoritative, m.Additionals = true, true, nil
	for _, q := range m.Questions {
		if q.Type != dnsmessage.TypeA {
			continue
		}
		for i := range gateways {
			m.Answers = append(m.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: q.Name, Class: q.Class},
				Body:   &dnsmessage.AResource{A: [4]byte(loopback(i).To4())},
			})
		}
	}
	return m.Pack()
}

// Ours are the names of the processes that are not Kubernetes'.
func (w *World) Ours() []string {
	if w.cfg.Beside != nil {
		return slices.Concat(w.gatewayNames(), w.cfg.Controllers)
	}
	return slices.Concat([]string{"openapisim"}, w.gatewayNames(), w.cfg.Controllers)
}
