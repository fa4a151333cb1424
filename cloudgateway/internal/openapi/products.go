package openapi

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Product is an OpenAPI product, by the name that metrics, budgets and error details use.
type Product string

// The products that the gateway calls for its own API.
const (
	SLB Product = "slb"
	NLB Product = "nlb"
	VPC Product = "vpc"
	ECS Product = "ecs"
	STS Product = "sts"
	// CAS is the Certificate Management Service.
	CAS Product = "cas"
	// Quotas is Quota Center, which only the doctor calls.
	Quotas Product = "quotas"
)

// The products that only other programs call, through the OpenAPI front.
const (
	RAM Product = "ram"
	// CS is Container Service for Kubernetes.
	CS Product = "cs"
	// ESS is Auto Scaling.
	ESS    Product = "ess"
	ALB    Product = "alb"
	Alidns Product = "alidns"
	// PVTZ is PrivateZone.
	PVTZ Product = "pvtz"
	NAS  Product = "nas"
	KMS  Product = "kms"
)

// row is what is known of a product.
type row struct {
	product Product
	code    string // the SDK's name of it
	// versions of its API, the gateway's own first. Each is of one product only.
	versions string
	// paths: its actions are told apart by method and path, which the cloud calls ROA, and not by name, which it calls RPC.
	paths bool
	// public is its host in the internet, and inside the one in a VPC, each with %s for the region. Without inside, it has none there.
	public, inside string
	// unshared: other programs can't call it. foreign: the gateway calls it for them only.
	unshared, foreign bool
}

const (
	ofRegion = ".%s.aliyuncs.com"
	inVPC    = "-vpc" + ofRegion
)

// rows are the products, in the order in which the gateway came to know them. Versions are those of the SDK's services
// (alibaba-cloud-sdk-go v1.63.107) and, of ESS 2022-02-22, of its help page. Hosts are those of the pages "Endpoints" of the products,
// read in November 2026: of CS help.aliyun.com/zh/ack (January 2026), of PVTZ alibabacloud.com/help/en/dns/pvtz-integration-overview
// (December 2025), of RAM the SDK's and, inside VPCs, that of github.com/AliyunContainerService/ack-ram-tool. publicHost knows where the
// oldest regions have others.
func rows() []row {
	return []row{
		{product: SLB, code: "Slb", versions: "2014-05-15", public: "slb" + ofRegion, inside: "slb" + inVPC},
		{product: NLB, code: "Nlb", versions: "2022-04-30", public: "nlb" + ofRegion, inside: "nlb" + inVPC},
		{product: VPC, code: "Vpc", versions: "2016-04-28", public: "vpc" + ofRegion, inside: "vpc" + inVPC},
		{product: ECS, code: "Ecs", versions: "2014-05-26", public: "ecs" + ofRegion, inside: "ecs" + inVPC},
		{product: STS, code: "Sts", versions: "2015-04-01", public: "sts" + ofRegion, inside: "sts" + inVPC},
		{product: CAS, code: "Cas", versions: "2020-04-07", public: "cas" + ofRegion, inside: "cas" + inVPC},
		{product: Quotas, code: "quotas", versions: "2020-05-10", public: "quotas.aliyuncs.com", unshared: true},
		{product: RAM, code: "Ram", versions: "2015-05-01", public: "ram.aliyuncs.com", inside: "ram.vpc-proxy.aliyuncs.com", foreign: true},
		{product: CS, code: "CS", versions: "2015-12-15", paths: true, public: "cs" + ofRegion, inside: "cs-anony" + inVPC, foreign: true},
		{product: ESS, code: "Ess", versions: "2014-08-28 2022-02-22", public: "ess" + ofRegion, inside: "ess" + inVPC, foreign: true},
		{product: ALB, code: "Alb", versions: "2020-06-16", public: "alb" + ofRegion, inside: "alb" + inVPC, foreign: true},
		{product: Alidns, code: "Alidns", versions: "2015-01-09", public: "alidns.aliyuncs.com", foreign: true},
		{product: PVTZ, code: "pvtz", versions: "2018-01-01", public: "pvtz.aliyuncs.com", inside: "pvtz.vpc-proxy.aliyuncs.com", foreign: true},
		{product: NAS, code: "NAS", versions: "2017-06-26", public: "nas" + ofRegion, inside: "nas" + inVPC, foreign: true},
		{product: KMS, code: "Kms", versions: "2016-01-20", public: "kms" + ofRegion, inside: "kms" + inVPC, foreign: true},
	}
}

// row is that of a product. One that is in no table is a defect of the program, which its first call shows.
func (p Product) row() row {
	for _, r := range rows() {
		if r.product == p {
			return r
		}
	}
	panic("openapi: no product " + strconv.Quote(string(p)))
}

// Products are all that the gateway calls, for itself or for others.
func Products() []Product {
	var all []Product
	for _, r := range rows() {
		all = append(all, r.product)
	}
	return all
}

// Shared are the products that other programs may call.
func Shared() []Product {
	return slices.DeleteFunc(Products(), func(p Product) bool { return p.row().unshared })
}

// IsShared reports whether there is a product with a name that other programs may call.
func IsShared(name string) bool { return slices.Contains(Shared(), Product(name)) }

// ProductOf finds the product that other programs may call, of which the API has a version.
func ProductOf(version string) (Product, bool) {
	for _, r := range rows() {
		if r.has(version) && !r.unshared {
			return r.product, true
		}
	}
	return "", false
}

// Versions of the API of a product.
func (p Product) Versions() []string { return strings.Fields(p.row().versions) }

func (r row) has(version string) bool { return slices.Contains(strings.Fields(r.versions), version) }

// version is that of the gateway's own calls.
func (r row) version() string {
	first, _, _ := strings.Cut(r.versions, " ")
	return first
}

// HasPaths reports whether the actions of a product are told apart by paths.
func (p Product) HasPaths() bool { return p.row().paths }

func (cfg Config) hosts() map[Product]string {
	hosts := make(map[Product]string)
	for _, r := range rows() {
		host := publicHost(r, cfg.Region)
		if cfg.Network == "vpc" && r.inside != "" && (r.product != CAS || cfg.Region == CertificateRegion(cfg.Region)) {
			host = in(r.inside, cfg.Region)
		}
		hosts[r.product] = cmp.Or(cfg.Endpoints[r.product], host)
	}
	return hosts
}

func in(host, region string) string { return strings.ReplaceAll(host, "%s", region) }

// CertificateRegion is where CAS keeps the certificates of a region: one place for China, and one for all else. Accounts of
// the other site of Alibaba Cloud have theirs in the other place, which their endpoint has to say.
func CertificateRegion(region string) string {
	if strings.HasPrefix(region, "cn-") {
		return "cn-hangzhou"
	}
	return "ap-southeast-1"
}

// publicHost is where a product is reached from the internet. The oldest regions, and those of finance and government,
// have no hosts of their own.
func publicHost(r row, region string) string {
	const closed = "cn-hangzhou-finance cn-shanghai-finance-1 cn-shenzhen-finance-1 cn-beijing-finance-pop " +
		"cn-hongkong-finance-pop cn-north-2-gov-1 cn-beijing-gov-1"
	one := func(regions string) bool { return slices.Contains(strings.Fields(regions), region) }
	switch p := r.product; {
	case p == CAS && CertificateRegion(region) == "cn-hangzhou":
		return "cas.aliyuncs.com"
	case p == CAS:
		return in(r.public, CertificateRegion(region))
	case p == SLB && one(closed+" cn-qingdao cn-beijing cn-shanghai cn-hangzhou cn-shenzhen cn-hongkong us-west-1 us-east-1 ap-southeast-1"):
		return "slb.aliyuncs.com"
	case p == VPC && one(closed+" cn-hangzhou"):
		return "vpc.aliyuncs.com"
	case p == ECS && one("cn-hangzhou cn-shanghai-finance-1 cn-shenzhen-finance-1"):
		return "ecs-cn-hangzhou.aliyuncs.com"
	case p == ECS && one(closed):
		return "ecs.aliyuncs.com"
	case p == ESS && one(closed+" cn-qingdao cn-beijing cn-shanghai cn-hangzhou cn-shenzhen cn-hongkong us-west-1 us-east-1 ap-southeast-1"):
		return "ess.aliyuncs.com"
	}
	return in(r.public, region)
}
