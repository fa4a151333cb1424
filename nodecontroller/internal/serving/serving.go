package serving

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	"alicloud-controllers.dev/services/nodes"
)

// Identity of kubelets (source: Kubernetes, Node authorization).
const userPrefix, group = "system:node:", "system:nodes"

// Request is what a kubelet asks for.
type Request struct {
	// Node is the name of the Node that the API server has authenticated.
	Node     string
	DNSNames []string
	IPs      []netip.Addr
}

// Parse reads a request that is pending. Its error says in what it is none of a kubelet for a serving certificate.
func Parse(csr *certificatesv1.CertificateSigningRequest) (Request, error) {
	node, isNode := strings.CutPrefix(csr.Spec.Username, userPrefix)
	if !isNode || node == "" || !slices.Contains(csr.Spec.Groups, group) {
		return Request{}, fmt.Errorf("user %q is no node", csr.Spec.Username)
	}
	r := Request{Node: node}
	if err := usages(csr.Spec.Usages); err != nil {
		return r, err
	}
	block, rest := pem.Decode(csr.Spec.Request)
	if block == nil || block.Type != "CERTIFICATE REQUEST" || len(strings.TrimSpace(string(rest))) > 0 {
		return r, errors.New("spec.request is not one PEM block CERTIFICATE REQUEST")
	}
	asked, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return r, fmt.Errorf("spec.request: %w", err)
	}
	if err := asked.CheckSignature(); err != nil {
		return r, fmt.Errorf("spec.request: %w", err)
	}
	switch {
	case asked.Subject.CommonName != csr.Spec.Username:
		return r, fmt.Errorf("common name %q is not the user %q", asked.Subject.CommonName, csr.Spec.Username)
	case !slices.Equal(asked.Subject.Organization, []string{group}):
		return r, fmt.Errorf("organizations %q, want %s alone", asked.Subject.Organization, group)
	case len(asked.EmailAddresses)+len(asked.URIs) > 0:
		return r, errors.New("it asks for e-mail addresses or URIs")
	case len(asked.DNSNames)+len(asked.IPAddresses) == 0:
		return r, errors.New("it asks for neither a name nor an address")
	}
	r.DNSNames = asked.DNSNames
	for _, ip := range asked.IPAddresses {
		address, ok := netip.AddrFromSlice(ip)
		if !ok {
			return r, fmt.Errorf("%s is no address", ip)
		}
		r.IPs = append(r.IPs, address.Unmap())
	}
	return r, nil
}

func usages(asked []certificatesv1.KeyUsage) error {
	allowed := []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment,
		certificatesv1.UsageServerAuth}
	for _, usage := range asked {
		if !slices.Contains(allowed, usage) {
			return fmt.Errorf("usage %q is not one of a serving certificate", usage)
		}
	}
	if !slices.Contains(asked, certificatesv1.UsageServerAuth) {
		return errors.New("usage server auth is missing")
	}
	return nil
}

// Confirm is nil if the cloud confirms all that is asked for. Instance is that of the node's provider id, which the
// kubelet has set itself; so the cloud has to know the instance by the name of the node.
func (r Request) Confirm(node *corev1.Node, instance *ecsv1.Instance) error {
	if !named(node.Name, instance) {
		return fmt.Errorf(
			"the cloud does not confirm the name of the node: instance %s has host name %q, and the name is neither that nor the id or a private "+
				"address of the instance", instance.GetInstanceId(), instance.GetHostName())
	}
	for _, name := range r.DNSNames {
		if !strings.EqualFold(name, node.Name) && !strings.EqualFold(name, instance.GetHostName()) {
			return fmt.Errorf("the cloud does not confirm the name %q of instance %s", name, instance.GetInstanceId())
		}
	}
	has := addresses(instance)
	for _, ip := range r.IPs {
		if !slices.Contains(has, ip) {
			return fmt.Errorf("the cloud does not confirm the address %s of instance %s", ip, instance.GetInstanceId())
		}
	}
	return nil
}

// named reports whether the cloud knows an instance by the name of a node, in one of the ways that nodes are named: by
// its host name, its id, or a private address, alone or with the region before it.
func named(node string, instance *ecsv1.Instance) bool {
	names := []string{instance.GetHostName(), instance.GetInstanceId(), nodes.ID{Region: instance.GetRegionId(),
		InstanceID: instance.GetInstanceId()}.String()}
	for _, ip := range instance.GetPrivateIps() {
		names = append(names, ip, instance.GetRegionId()+"."+ip)
	}
	return node != "" && slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, node) })
}

func addresses(instance *ecsv1.Instance) []netip.Addr {
	var list []netip.Addr
	for _, text := range slices.Concat(instance.GetPrivateIps(), instance.GetInnerIps(), instance.GetPublicIps(), []string{instance.GetEip()},
		instance.GetIpv6Addresses()) {
		if ip, err := netip.ParseAddr(text); err == nil {
			list = append(list, ip.Unmap())
		}
	}
	return list
}
