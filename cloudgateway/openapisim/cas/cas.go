// Package cas is the product CAS (Certificate Management Service) 2020-04-07 of the simulator: the certificates that users upload, which
// Network Load Balancers take. Those of SLB are others.
package cas

import (
	"cmp"
	"crypto/sha1" //nolint:gosec // The fingerprints that CAS shows are SHA-1.
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/tags"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// Codes of the product. That of an unknown certificate is the one that Terraform's provider knows; no document has the others.
const (
	notFound    = "NotFound"
	nameRepeat  = "NameRepeat"
	invalidCert = "CertificateInvalid"
	invalidKey  = "PrivateKeyInvalid"
)

// Product returns the product with all its actions. The cloud has one endpoint of it for all regions; here each has its own certificates.
func Product() api.Product {
	id := api.Param{Name: "CertId", Kind: api.Int, Required: true}
	pages := []api.Param{api.Number("CurrentPage", 1, 1<<31), api.Number("ShowSize", 1, 1000)}
	return api.Product{
		Name: "cas", Code: "cas", Version: "2020-04-07",
		Actions: []api.Action{
			api.Write("UploadUserCertificate", upload, []string{invalidCert, invalidKey, nameRepeat}, api.Optional("Name"),
				api.Required("Cert"), api.Required("Key"), api.Optional("ResourceGroupId"), tagsParam()),
			api.Read("GetUserCertificateDetail", api.On(find, detail), []string{notFound}, id, api.Flag("CertFilter")),
			api.Write("DeleteUserCertificate", api.On(find, remove), []string{notFound}, id),
			api.Read("ListUserCertificateOrder", listOrders, nil, append(slices.Clone(pages), api.Optional("Keyword"), api.Optional("Status"),
				api.OneOf("OrderType", "CPACK", "BUY", "UPLOAD", "CERT"), api.Optional("ResourceGroupId"))...),
			api.Read("ListCert", listCerts, nil, append(slices.Clone(pages), api.Optional("KeyWord"), api.Optional("Status"),
				api.Optional("SourceType"))...),
		},
	}
}

func tagsParam() api.Param {
	p := tags.Param()
	p.Name = "Tags"
	return p
}

func upload(c *api.Context) (any, *api.Error) {
	chain, key := c.Get("Cert"), c.Get("Key")
	parsed := parse(chain)
	if parsed == nil {
		return nil, api.BadRequest(invalidCert, "The certificate is not in PEM format.")
	}
	if _, err := tls.X509KeyPair([]byte(chain), []byte(key)); err != nil {
		return nil, api.BadRequest(invalidKey, "The private key does not belong to the certificate.")
	}
	name := c.Get("Name")
	for _, other := range c.State.UserCertificates {
		if name != "" && other.Name == name {
			return nil, api.BadRequest(nameRepeat, "The name of the certificate is that of another one.")
		}
	}
	c.State.Sequence++
	n := c.Number("certificate")
	cert := &state.UserCertificate{
		ID: strconv.FormatInt(10_000_000+n, 10), Name: cmp.Or(name, "cert-"+strconv.FormatInt(n, 10)), PEM: chain,
		Created: c.Now, ResourceGroupID: cmp.Or(c.Get("ResourceGroupId"), state.DefaultResourceGroup),
	}
	for _, item := range c.Items("Tags") {
		cert.Tags = append(cert.Tags, state.Tag{Key: item["key"], Value: item["value"]})
	}
	if c.Traffic != nil {
		cert.PEM += "\n" + key // the listener has to prove that it has it
	}
	c.State.UserCertificates[cert.ID] = cert
	return api.Object{"CertId", number(cert), "ResourceId", identifier(c, cert)}, nil
}

// parse returns the first certificate of a PEM text, or nil.
func parse(text string) *x509.Certificate {
	block, _ := pem.Decode([]byte(text))
	if block == nil || block.Type != "CERTIFICATE" {
		return nil
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil
	}
	return cert
}

func find(c *api.Context) (*state.UserCertificate, *api.Error) {
	return api.Named(c, c.State.UserCertificates, "CertId", func() *api.Error {
		return &api.Error{Status: http.StatusNotFound, Code: notFound, Message: "The certificate does not exist."}
	})
}

// number is the id as a number; 0 if a seed gave another one.
func number(cert *state.UserCertificate) int64 {
	n, _ := strconv.ParseInt(cert.ID, 10, 64)
	return n
}

// identifier is how load balancers name a certificate.
func identifier(c *api.Context, cert *state.UserCertificate) string { return cert.ID + "-" + c.Region }

// described is what all answers have of a certificate. A seed may have given no PEM.
type described struct {
	x509.Certificate
	fingerprint, sha2 string
}

func describe(cert *state.UserCertificate) described {
	parsed := parse(cert.PEM)
	if parsed == nil {
		parsed = &x509.Certificate{NotBefore: cert.Created, NotAfter: cert.Created.AddDate(1, 0, 0)}
	}
	d := described{Certificate: *parsed}
	one, two := sha1.Sum(parsed.Raw), sha256.Sum256(parsed.Raw) //nolint:gosec // It identifies, it does not protect.
	d.fingerprint, d.sha2 = hex.EncodeToString(one[:]), hex.EncodeToString(two[:])
	return d
}

func (d described) serial() string {
	if d.SerialNumber == nil {
		return ""
	}
	return d.SerialNumber.Text(16)
}

func (d described) expired(now time.Time) bool { return now.After(d.NotAfter) }

func first(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return names[0]
}

const day = "2006-01-02"

// detail shows a certificate. The cloud gives the key back, too, which is not kept here.
func detail(c *api.Context, cert *state.UserCertificate) (any, *api.Error) {
	d := describe(cert)
	text := cert.PEM
	if block := strings.LastIndex(text, "-----END CERTIFICATE-----"); block >= 0 {
		text = text[:block] + "-----END CERTIFICATE-----\n" // without the key
	}
	if c.True("CertFilter") {
		text = ""
	}
	return api.Object{
		"Id", number(cert), "Name", cert.Name, "CertIdentifier", identifier(c, cert), "Cert", text, "Common", d.Subject.CommonName,
		"Fingerprint", d.fingerprint, "Sha2", d.sha2, "SerialNo", d.serial(), "Issuer", d.Issuer.CommonName,
		"OrgName", first(d.Subject.Organization), "City", first(d.Subject.Locality), "Province", first(d.Subject.Province),
		"Country", first(d.Subject.Country), "Sans", strings.Join(d.DNSNames, ","), "StartDate", d.NotBefore.UTC().Format(day),
		"EndDate", d.NotAfter.UTC().Format(day), "NotBefore", d.NotBefore.UnixMilli(), "NotAfter", d.NotAfter.UnixMilli(),
		"Expired", d.expired(c.Now), "BuyInAliyun", false, "Algorithm", d.PublicKeyAlgorithm.String(),
		"ResourceGroupId", cmp.Or(cert.ResourceGroupID, state.DefaultResourceGroup), "InstanceId", "", "OrderId", 0,
	}, nil
}

func remove(c *api.Context, cert *state.UserCertificate) (any, *api.Error) {
	delete(c.State.UserCertificates, cert.ID)
	return nil, nil
}

// page answers a page of the certificates that match, the newest first.
func page(c *api.Context, list string, match func(*state.UserCertificate, described) bool,
	show func(*state.UserCertificate, described) api.Object,
) api.Object {
	found := []*state.UserCertificate{}
	for _, cert := range c.State.UserCertificates {
		if match(cert, describe(cert)) {
			found = append(found, cert)
		}
	}
	slices.SortFunc(found, func(a, b *state.UserCertificate) int {
		return cmp.Or(cmp.Compare(number(b), number(a)), cmp.Compare(a.ID, b.ID))
	})
	current, size := c.Int("CurrentPage", 1), c.Int("ShowSize", 50)
	begin := min((current-1)*size, len(found))
	shown := found[begin:min(begin+size, len(found))]
	return api.Object{
		"TotalCount", len(found), "CurrentPage", current, "ShowSize", size,
		list, api.Objects(shown, func(cert *state.UserCertificate) api.Object { return show(cert, describe(cert)) }),
	}
}

func contains(word string, texts ...string) bool {
	return word == "" || slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, word) })
}

// status is the word of a certificate that was uploaded.
func status(c *api.Context, d described) string {
	if d.expired(c.Now) {
		return "EXPIRED"
	}
	return "ISSUED"
}

func fits(c *api.Context, d described) bool {
	return !c.Has("Status") || strings.EqualFold(c.Get("Status"), status(c, d))
}

// listOrders shows certificates, and no orders: nothing can be bought.
func listOrders(c *api.Context) (any, *api.Error) {
	kind := c.Get("OrderType")
	return page(c, "CertificateOrderList", func(cert *state.UserCertificate, d described) bool {
		return (kind == "" || kind == "UPLOAD" || kind == "CERT") && fits(c, d) &&
			contains(c.Get("Keyword"), cert.Name, d.Subject.CommonName, strings.Join(d.DNSNames, ",")) &&
			(!c.Has("ResourceGroupId") || c.Get("ResourceGroupId") == cmp.Or(cert.ResourceGroupID, state.DefaultResourceGroup))
	}, func(cert *state.UserCertificate, d described) api.Object {
		return api.Object{
			"CertificateId", number(cert), "Name", cert.Name, "CommonName", d.Subject.CommonName, "Issuer", d.Issuer.CommonName,
			"Fingerprint", d.fingerprint, "Sha2", d.sha2, "SerialNo", d.serial(), "Sans", strings.Join(d.DNSNames, ","),
			"StartDate", d.NotBefore.UTC().Format(day), "EndDate", d.NotAfter.UTC().Format(day), "CertStartTime", d.NotBefore.UnixMilli(),
			"CertEndTime", d.NotAfter.UnixMilli(), "Expired", d.expired(c.Now), "Upload", true, "Status", status(c, d),
			"OrgName", first(d.Subject.Organization), "City", first(d.Subject.Locality), "Province", first(d.Subject.Province),
			"Country", first(d.Subject.Country), "ResourceGroupId", cmp.Or(cert.ResourceGroupID, state.DefaultResourceGroup), "InstanceId", "",
		}
	}), nil
}

func listCerts(c *api.Context) (any, *api.Error) {
	return page(c, "CertList", func(cert *state.UserCertificate, d described) bool {
		return fits(c, d) && (!c.Has("SourceType") || strings.EqualFold(c.Get("SourceType"), "upload")) &&
			contains(c.Get("KeyWord"), cert.Name, d.Subject.CommonName, strings.Join(d.DNSNames, ","))
	}, func(cert *state.UserCertificate, d described) api.Object {
		return api.Object{
			"Identifier", identifier(c, cert), "CommonName", d.Subject.CommonName, "Issuer", d.Issuer.CommonName,
			"BeforeDate", d.NotBefore.UnixMilli(), "AfterDate", d.NotAfter.UnixMilli(), "ExistPrivateKey", true,
			"Sans", strings.Join(d.DNSNames, ","), "SerialNumber", d.serial(), "Sha2", d.sha2, "SourceType", "upload", "Status", status(c, d),
			"Algorithm", d.PublicKeyAlgorithm.String(),
		}
	}), nil
}
