// Package ram is the product RAM 2015-05-01 of the simulator: the roles that STS gives sessions of.
package ram

import (
	"fmt"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/sts"
)

// noRole is from the error table of GetRole (help page, January 2026).
const noRole = "EntityNotExist.Role"

// Product returns the product with all its actions. The cloud has one endpoint of it for all regions. Parameters and members are those of
// services/ram in SDK v1, v1.63.107 (April 2025), and of the help page.
func Product(sessions sts.Sessions) api.Product {
	p := product{sessions}
	return api.Product{Name: "ram", Code: "Ram", Version: "2015-05-01", Actions: []api.Action{
		api.Read("GetRole", p.getRole, []string{noRole}, api.Required("RoleName")),
	}}
}

type product struct{ sessions sts.Sessions }

// getRole shows a role that AssumeRole gives sessions of. The policy and the longest session say what AssumeRole does here: any identity of
// the account gets one. When a role was made isn't known here.
func (p product) getRole(c *api.Context) (any, *api.Error) {
	name := c.Get("RoleName")
	if !p.sessions.Exists(strings.ToLower(name)) {
		return nil, api.NotFound(noRole, "The role not exists: %s.", name)
	}
	return api.Object{"Role", api.Object{
		"RoleId", sts.RoleID(c.Account, name), "RoleName", name, "Arn", "acs:ram::" + c.Account + ":role/" + strings.ToLower(name),
		"Description", "", "MaxSessionDuration", sts.MaxLife, "IsServiceLinkedRole", false, "AssumeRolePolicyDocument", fmt.Sprintf(
			`{"Statement":[{"Action":"sts:AssumeRole","Effect":"Allow","Principal":{"RAM":["acs:ram::%s:root"]}}],"Version":"1"}`, c.Account),
	}}, nil
}
