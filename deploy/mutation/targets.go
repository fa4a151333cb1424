package main

// target is a package that decides. With files, only these of its files are changed. Skip matches tests that read pages of docs/, which
// the copy of a module lacks.
type target struct {
	module, pkg, skip string
	files             []string
}

func (t target) path() string { return t.module + "/" + t.pkg }

// targets are the packages whose mistakes lose, leak or delete a user's resources, or let in somebody who may not.
var targets = []target{
	{module: "lbcontroller", pkg: "internal/clb/desired", skip: "^TestExamplesOfTheDocs$"},
	{module: "lbcontroller", pkg: "internal/clb/plan"},
	{module: "lbcontroller", pkg: "internal/clb/ownership"},
	{module: "lbcontroller", pkg: "internal/clb/reuse"},
	{module: "routecontroller", pkg: "internal/plan"},
	{module: "routecontroller", pkg: "internal/table"},
	{module: "nodecontroller", pkg: "internal/lifecycle"},
	{module: "nodecontroller", pkg: "internal/initialize"},
	{module: "cloudgateway", pkg: "internal/authn"},
	{module: "cloudgateway", pkg: "internal/authz"},
	{module: "cloudgateway", pkg: "internal/check"},
	{module: "cloudgateway", pkg: "internal/openapi/catalogue", skip: "^(TestReferencePage|TestEveryKnownCode)$", files: []string{"catalogue.go"}},
	checks("slb/acl"), checks("slb/certificate"), checks("slb/domainextension"), checks("slb/health"), checks("slb/listener"),
	checks("slb/loadbalancer"), checks("slb/rule"), checks("slb/servergroup"), checks("ecs/instance"), checks("ecs/networkinterface"),
	checks("vpc/eip"), checks("vpc/network"), checks("vpc/route"), checks("vpc/routetable"), checks("vpc/vswitch"),
}

// checks is the file of a gateway's package that looks at requests.
func checks(resource string) target {
	return target{module: "cloudgateway", pkg: "internal/" + resource, files: []string{"check.go"}}
}
