package contract

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"slices"
	"strings"
	"time"
)

// lifeOfListener creates a listener at port 80, starts, changes, stops and deletes it. Create are the parameters beyond the
// load balancer and the port; set are some to change to, and how Describe…Attribute must show them.
func (c *cloud) lifeOfListener(protocol string, balancer string, create, set []string) {
	c.t.Helper()
	upper := strings.ToUpper(protocol)
	key := []string{"LoadBalancerId", balancer, "ListenerPort", "80"}
	typed := append(slices.Clone(key), "ListenerProtocol", protocol)
	shown := func() answer { return c.must("slb", "DescribeLoadBalancer"+upper+"ListenerAttribute", key...) }
	runs := func(what string) {
		c.wait("the listener "+what, func() bool { return shown().get("Status") == what })
	}

	c.must("slb", "CreateLoadBalancer"+upper+"Listener", append(slices.Clone(key), create...)...)
	runs("stopped")
	c.refused("ListenerAlreadyExists", "slb", "CreateLoadBalancer"+upper+"Listener", append(slices.Clone(key), create...)...)
	c.must("slb", "StartLoadBalancerListener", typed...)
	runs("running")
	c.must("slb", "SetLoadBalancer"+upper+"ListenerAttribute", append(slices.Clone(key), set...)...)
	runs("running")
	c.want(shown(), append([]string{"ListenerPort", "80"}, set...)...)

	all := c.must("slb", "DescribeLoadBalancerListeners", "LoadBalancerId.1", balancer, "MaxResults", "50")
	c.want(all, "Listeners.0.ListenerProtocol", protocol, "Listeners.0.ListenerPort", "80", "Listeners.0.LoadBalancerId", balancer)
	c.must("slb", "StopLoadBalancerListener", typed...)
	runs("stopped")
	c.must("slb", "DeleteLoadBalancerListener", typed...)
	c.wait("the listener is gone", func() bool {
		return c.must("slb", "DescribeLoadBalancerListeners", "LoadBalancerId.1", balancer).len("Listeners") == 0
	})
}

func tcpListener(c *cloud) {
	c.lifeOfListener("tcp", c.newBalancer(), []string{"Bandwidth", "-1", "BackendServerPort", "8080", "healthCheckInterval", "3"},
		[]string{"Scheduler", "rr", "HealthCheckInterval", "7", "PersistenceTimeout", "60"})
}

func udpListener(c *cloud) {
	c.lifeOfListener("udp", c.newBalancer(), []string{"Bandwidth", "-1", "BackendServerPort", "8080"},
		[]string{"Scheduler", "rr", "HealthCheckInterval", "7"})
}

func httpListener(c *cloud) {
	c.lifeOfListener("http", c.newBalancer(),
		[]string{"Bandwidth", "-1", "BackendServerPort", "8080", "StickySession", "off", "HealthCheck", "off"},
		[]string{"StickySession", "on", "StickySessionType", "insert", "CookieTimeout", "100", "XForwardedFor_proto", "on"})
}

func httpsListener(c *cloud) {
	cert, key := c.newPair()
	id := c.must("slb", "UploadServerCertificate", "ServerCertificate", cert, "PrivateKey", key, "ServerCertificateName",
		c.name()).get("ServerCertificateId")
	c.cleanUp("slb", "DeleteServerCertificate", "ServerCertificateId", id)
	balancer := c.newBalancer()
	create := []string{
		"Bandwidth", "-1", "BackendServerPort", "8080", "StickySession", "off", "HealthCheck", "off", "ServerCertificateId", id,
	}
	c.lifeOfListener("https", balancer, create, []string{"EnableHttp2", "off", "Gzip", "off"})

	c.must("slb", "CreateLoadBalancerHTTPSListener", append(create, "LoadBalancerId", balancer, "ListenerPort", "443")...)
	c.refused("CertificateAndPrivateKeyIsRefered", "slb", "DeleteServerCertificate", "ServerCertificateId", id)
	c.domainExtension(balancer, id)
	c.cipherPolicy(balancer)
	c.must("slb", "DeleteLoadBalancerListener", "LoadBalancerId", balancer, "ListenerPort", "443")
}

// cipherPolicy gives the HTTPS listener at port 443 a TLS cipher policy, and takes it away again.
func (c *cloud) cipherPolicy(balancer string) {
	c.t.Helper()
	settings := []string{"Name", c.name(), "TLSVersions.1", "TLSv1.2", "Ciphers.1", "ECDHE-RSA-AES128-GCM-SHA256"}
	id := c.must("slb", "CreateTLSCipherPolicy", settings...).get("TLSCipherPolicyId")
	c.cleanUp("slb", "DeleteTLSCipherPolicy", "TLSCipherPolicyId", id)
	of := []string{"LoadBalancerId", balancer, "ListenerPort", "443"}
	use := func(policy string) {
		c.must("slb", "SetLoadBalancerHTTPSListenerAttribute", append(slices.Clone(of), "TLSCipherPolicy", policy)...)
	}
	use(id)
	c.want(c.must("slb", "DescribeLoadBalancerHTTPSListenerAttribute", of...), "TLSCipherPolicy", id)
	c.must("slb", "SetTLSCipherPolicyAttribute", append(settings, "TLSCipherPolicyId", id, "Ciphers.2", "AES128-SHA")...)
	c.want(c.must("slb", "ListTLSCipherPolicies", "TLSCipherPolicyId", id, "IncludeListener", "true"), "TotalCount", "1",
		"TLSCipherPolicies.0.Ciphers.1", "AES128-SHA", "TLSCipherPolicies.0.RelateListeners.0.LoadBalancerId", balancer)
	use("tls_cipher_policy_1_2")
}

func (c *cloud) domainExtension(balancer, certificate string) {
	c.t.Helper()
	of := []string{"LoadBalancerId", balancer, "ListenerPort", "443"}
	id := c.must("slb", "CreateDomainExtension", append(slices.Clone(of), "Domain", "www.example.com",
		"ServerCertificateId", certificate)...).get("DomainExtensionId")
	c.must("slb", "SetDomainExtensionAttribute", "DomainExtensionId", id, "ServerCertificateId", certificate)
	c.want(c.must("slb", "DescribeDomainExtensionAttribute", "DomainExtensionId", id), "Domain", "www.example.com",
		"ServerCertificateId", certificate)
	c.want(c.must("slb", "DescribeDomainExtensions", of...), "DomainExtensions.DomainExtension.0.DomainExtensionId", id)
	c.must("slb", "DeleteDomainExtension", "DomainExtensionId", id)
	if n := c.must("slb", "DescribeDomainExtensions", of...).len("DomainExtensions.DomainExtension"); n != 0 {
		c.t.Errorf("%d domain extensions left", n)
	}
}

func certificates(c *cloud) {
	cert, key := c.newPair()
	name := c.name()
	server := c.must("slb", "UploadServerCertificate", "ServerCertificate", cert, "PrivateKey", key,
		"ServerCertificateName", name).get("ServerCertificateId")
	c.cleanUp("slb", "DeleteServerCertificate", "ServerCertificateId", server)
	c.must("slb", "SetServerCertificateName", "ServerCertificateId", server, "ServerCertificateName", name+"-2")
	c.want(c.must("slb", "DescribeServerCertificates", "ServerCertificateId", server),
		"ServerCertificates.ServerCertificate.0.ServerCertificateName", name+"-2",
		"ServerCertificates.ServerCertificate.0.CommonName", "www.example.com")
	c.must("slb", "DeleteServerCertificate", "ServerCertificateId", server)
	c.refused("ServerCertificateId.NotFound", "slb", "SetServerCertificateName", "ServerCertificateId", server, "ServerCertificateName", name)

	ca := c.must("slb", "UploadCACertificate", "CACertificate", cert, "CACertificateName", name).get("CACertificateId")
	c.must("slb", "SetCACertificateName", "CACertificateId", ca, "CACertificateName", name+"-2")
	c.want(c.must("slb", "DescribeCACertificates", "CACertificateId", ca), "CACertificates.CACertificate.0.CACertificateName", name+"-2")
	c.must("slb", "DeleteCACertificate", "CACertificateId", ca)
	c.refused("CACertificateId.NotFound", "slb", "DeleteCACertificate", "CACertificateId", ca)
}

// newPair makes a certificate and its key in PEM format.
func (c *cloud) newPair() (cert, key string) {
	c.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		c.t.Fatal(err)
	}
	template := x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "www.example.com"}, DNSNames: []string{"www.example.com"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	raw, err := x509.CreateCertificate(rand.Reader, &template, &template, private.Public(), private)
	if err != nil {
		c.t.Fatal(err)
	}
	rawKey, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		c.t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: rawKey}))
}

func accessControl(c *cloud) {
	name := c.name()
	acl := c.must("slb", "CreateAccessControlList", "AclName", name).get("AclId")
	c.cleanUp("slb", "DeleteAccessControlList", "AclId", acl)
	const entries = `[{"entry":"10.0.0.0/8","comment":"ten"},{"entry":"192.0.2.1/32"}]`
	c.must("slb", "AddAccessControlListEntry", "AclId", acl, "AclEntrys", entries)
	c.must("slb", "SetAccessControlListAttribute", "AclId", acl, "AclName", name+"-2")
	c.must("slb", "RemoveAccessControlListEntry", "AclId", acl, "AclEntrys", `[{"entry":"192.0.2.1/32"}]`)
	shown := func() answer { return c.must("slb", "DescribeAccessControlListAttribute", "AclId", acl) }
	c.want(shown(), "AclName", name+"-2", "AclEntrys.AclEntry.0.AclEntryIP", "10.0.0.0/8",
		"AclEntrys.AclEntry.0.AclEntryComment", "ten", "AclEntrys.AclEntry.1.AclEntryIP", "")
	c.want(c.must("slb", "DescribeAccessControlLists", "AclName", name+"-2"), "Acls.Acl.0.AclId", acl)

	balancer := c.newBalancer()
	c.must("slb", "CreateLoadBalancerTCPListener", "LoadBalancerId", balancer, "ListenerPort", "80", "Bandwidth", "-1",
		"BackendServerPort", "80", "AclStatus", "on", "AclType", "white", "AclId", acl)
	c.want(shown(), "RelatedListeners.RelatedListener.0.LoadBalancerId", balancer, "RelatedListeners.RelatedListener.0.AclType", "white")
	c.refused("OperationFailed.AclBindedWithVip", "slb", "DeleteAccessControlList", "AclId", acl)
	c.must("slb", "SetListenerAccessControlStatus", "LoadBalancerId", balancer, "ListenerPort", "80", "AccessControlStatus", "close")
	c.want(c.must("slb", "DescribeListenerAccessControlAttribute", "LoadBalancerId", balancer, "ListenerPort", "80"),
		"AccessControlStatus", "close")
	c.must("slb", "DeleteLoadBalancerListener", "LoadBalancerId", balancer, "ListenerPort", "80")
	c.must("slb", "DeleteAccessControlList", "AclId", acl)
	c.refused("AclNotExist", "slb", "DescribeAccessControlListAttribute", "AclId", acl)
}
