package thirdparty

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/openapisimtest"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

const (
	region = "cn-hangzhou"
	nodes  = 50 // instances i-1, i-2, …
)

// newCloud is a cloud with a VPC and instances in which every change is complete at once. It takes 40 servers per call, as the
// cloud does for accounts that run the existing controllers with their defaults.
func newCloud(t *testing.T) *openapisim.Simulator {
	t.Helper()
	settings := api.FastSettings()
	settings.ServersPerCall, settings.SpecificationsNotSold = 40, false // aliyungo knows nothing but specifications
	seed := &state.Cloud{
		Vpcs:      map[string]*state.Vpc{"vpc-1": {CidrBlock: "192.168.0.0/16"}},
		VSwitches: map[string]*state.VSwitch{"vsw-1": {VpcID: "vpc-1", ZoneID: "cn-hangzhou-h", CidrBlock: "192.168.0.0/24"}},
		Instances: map[string]*state.Instance{},
	}
	for n := 1; n <= nodes; n++ {
		seed.Instances[fmt.Sprintf("i-%d", n)] = &state.Instance{VSwitchID: "vsw-1", PrivateIPs: []string{fmt.Sprintf("192.168.0.%d", 10+n)}}
	}
	return openapisimtest.New(t, openapisim.Config{Settings: &settings, Seed: seed})
}

// tableID returns the route table of vpc-1.
func tableID(sim *openapisim.Simulator) (id string) {
	sim.View(func(c *state.Cloud) {
		for _, table := range c.RouteTables {
			id = table.ID
		}
	})
	return id
}

// servers is a list of servers as the existing controllers send it: lower-case names, empty members, and members that the
// cloud doesn't know.
func servers(from, to, port int) string {
	var all []string
	for n := from; n <= to; n++ {
		all = append(all, fmt.Sprintf(`{"isUserManaged":false,"nodeName":"node-%d","serverId":"i-%d","serverIp":"","weight":100,`+
			`"port":%d,"type":"ecs","description":"k8s/80/web/default/c-1","targetRef":null,"invalid":false}`, n, n, port))
	}
	return "[" + strings.Join(all, ",") + "]"
}

// checkCalls fails the test for calls that were refused unexpectedly.
func checkCalls(t *testing.T, sim *openapisim.Simulator, expected ...string) {
	t.Helper()
	for _, call := range sim.Calls(0) {
		if call.Code != "" && !slices.Contains(expected, call.Code) {
			t.Errorf("%s %s: %s", call.Product, call.Action, call.Code)
		}
	}
}

// newCertificate is a certificate for a name and its key, both in PEM.
func newCertificate(t *testing.T, name string) (certificate, key string) {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	check(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	check(t, err)
	certificate = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return certificate, string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(private)}))
}
