package certificate

import (
	"strings"
	"testing"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/check"
	"alicloud-controllers.dev/cloudgateway/internal/check/checktest"
	"alicloud-controllers.dev/cloudgateway/writetest"
)

func newKeyPair(t *testing.T, name string) *slbv1.KeyPair {
	t.Helper()
	pair, err := writetest.NewKeyPair(name)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

const (
	foreign      = " is not a certificate in PEM form, which begins with -----BEGIN CERTIFICATE-----"
	requestID    = "request_id: must be 1 to 64 printable ASCII characters"
	emptyName    = "name: is 0 characters long, must be 1 to 80"
	nothing      = "name: at least one of name, resource_group_id, set_tags, remove_tag_keys is required"
	wrongGroup   = `resource_group_id: "rg 1" is not an id of the cloud`
	curve        = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"
	broken       = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
	encryptedKey = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n"
)

func TestKeyPairsAreChecked(t *testing.T) {
	pair, other := newKeyPair(t, "web"), newKeyPair(t, "other")
	certificate, key := pair.GetCertificatePem(), pair.GetPrivateKeyPem()
	const first, second, noKey = "key_pair.certificate_pem: block 1", "key_pair.certificate_pem: block 2",
		"key_pair.private_key_pem: has no private key in PEM form"
	// A text before the first block is no obstacle: tools write one.
	full := strings.Repeat("x", check.LongestPEM-len(certificate)-1) + "\n" + certificate
	var cases []checktest.Case
	for name, tt := range map[string]struct {
		certificate, key string
		want             []string
	}{
		"right":            {certificate, key, nil},
		"chain":            {certificate + other.GetCertificatePem(), key, nil},
		"curve before":     {certificate, curve + key, nil},
		"longest":          {full, key, nil},
		"nothing":          {"", "", []string{"key_pair.certificate_pem: is required", "key_pair.private_key_pem: is required"}},
		"no PEM":           {"x", "y", []string{first + foreign, noKey}},
		"broken":           {broken, key, []string{first + " can't be read as an X.509 certificate"}},
		"broken chain":     {certificate + broken, key, []string{second + " can't be read as an X.509 certificate"}},
		"key in the chain": {certificate + key, key, []string{second + foreign}},
		"swapped":          {key, certificate, []string{first + foreign, noKey}},
		"key of another": {certificate, other.GetPrivateKeyPem(),
			[]string{"key_pair.private_key_pem: is not the private key of certificate_pem"}},
		"encrypted key":     {certificate, encryptedKey, []string{"key_pair.private_key_pem: is encrypted; the cloud needs it as it is"}},
		"no key but curves": {certificate, curve, []string{noKey}},
		"long": {"x" + full, strings.Repeat("é", 40_000), []string{
			"key_pair.certificate_pem: is 65537 bytes long, at most 65536 are allowed",
			"key_pair.private_key_pem: is 80000 bytes long, at most 65536 are allowed",
		}},
	} {
		cases = append(cases, checktest.Case{Name: name, Want: tt.want, Request: &slbv1.UploadServerCertificateRequest{
			RequestId: "r", Name: "web", Source: &slbv1.UploadServerCertificateRequest_KeyPair{
				KeyPair: &slbv1.KeyPair{CertificatePem: tt.certificate, PrivateKeyPem: tt.key},
			},
		}})
	}
	checktest.Run(t, Checks(), cases)
}

func TestChecks(t *testing.T) {
	from := func(source *slbv1.AlicloudCertificate) *slbv1.UploadServerCertificateRequest {
		return &slbv1.UploadServerCertificateRequest{
			RequestId: "r", Name: "n", Source: &slbv1.UploadServerCertificateRequest_AlicloudCertificate{AlicloudCertificate: source},
		}
	}
	tags, keys := []*commonv1.Tag{{Key: "a"}}, []string{"a"}
	checktest.Run(t, Checks(), []checktest.Case{
		{Request: &slbv1.ListServerCertificatesRequest{}},
		{Request: &slbv1.ListServerCertificatesRequest{ServerCertificateIds: []string{"a b"}, Name: strings.Repeat("n", 81),
			ResourceGroupId: "rg 1"}, Want: []string{
			`server_certificate_ids[0]: "a b" is not an id of the cloud`, "name: is 81 characters long, must be 0 to 80", wrongGroup,
		}},
		{Request: &slbv1.ListCaCertificatesRequest{}},
		{Request: &slbv1.ListCaCertificatesRequest{CaCertificateIds: []string{"a b"}, ResourceGroupId: "rg 1"}, Want: []string{
			`ca_certificate_ids[0]: "a b" is not an id of the cloud`, wrongGroup,
		}},
		{Name: "of the service", Request: from(&slbv1.AlicloudCertificate{CertificateId: "1", Name: strings.Repeat("n", 128),
			RegionId: "cn-hangzhou"})},
		{Name: "of the service, wrong", Request: from(&slbv1.AlicloudCertificate{Name: strings.Repeat("n", 129),
			RegionId: "cn hangzhou"}), Want: []string{
			"alicloud_certificate.certificate_id: is required", "alicloud_certificate.name: is 129 characters long, must be 0 to 128",
			`alicloud_certificate.region_id: "cn hangzhou" is not an id of the cloud`,
		}},
		{Name: "of nothing", Request: &slbv1.UploadServerCertificateRequest{ResourceGroupId: "rg 1"}, Want: []string{
			requestID, emptyName, wrongGroup, "key_pair: at least one of key_pair, alicloud_certificate is required",
		}},
		{Request: &slbv1.UploadCaCertificateRequest{RequestId: "r", Name: "n", CertificatePem: newKeyPair(t, "ca").GetCertificatePem()}},
		{Request: &slbv1.UploadCaCertificateRequest{ResourceGroupId: "rg 1", CertificatePem: "x"}, Want: []string{
			requestID, emptyName, wrongGroup, "certificate_pem: block 1" + foreign,
		}},
		{Name: "of the name", Request: &slbv1.UpdateServerCertificateRequest{ServerCertificateId: "c", Name: new("n")}},
		{Name: "of the group", Request: &slbv1.UpdateServerCertificateRequest{ServerCertificateId: "c", ResourceGroupId: new("rg-1")}},
		{Name: "of a tag", Request: &slbv1.UpdateServerCertificateRequest{ServerCertificateId: "c", SetTags: tags}},
		{Name: "without a tag", Request: &slbv1.UpdateServerCertificateRequest{ServerCertificateId: "c", RemoveTagKeys: keys}},
		{Name: "of one tag for another", Request: &slbv1.UpdateServerCertificateRequest{ServerCertificateId: "c",
			SetTags: tags, RemoveTagKeys: []string{"b"}}},
		{Name: "of nothing", Request: &slbv1.UpdateServerCertificateRequest{ServerCertificateId: "c"}, Want: []string{nothing}},
		{Request: &slbv1.UpdateServerCertificateRequest{Name: new(""), ResourceGroupId: new("")}, Want: []string{
			"server_certificate_id: is required", emptyName, "resource_group_id: is required",
		}},
		{Name: "of the name", Request: &slbv1.UpdateCaCertificateRequest{CaCertificateId: "c", Name: new("n")}},
		{Request: &slbv1.UpdateCaCertificateRequest{}, Want: []string{"ca_certificate_id: is required", nothing}},
		{Request: &slbv1.DeleteServerCertificateRequest{ServerCertificateId: "c"}},
		{Request: &slbv1.DeleteServerCertificateRequest{}, Want: []string{"server_certificate_id: is required"}},
		{Request: &slbv1.DeleteCaCertificateRequest{CaCertificateId: "c"}},
		{Request: &slbv1.DeleteCaCertificateRequest{}, Want: []string{"ca_certificate_id: is required"}},
	})
}
