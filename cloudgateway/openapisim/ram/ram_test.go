package ram_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/openapisim/internal/apitest"
	"alicloud-controllers.dev/cloudgateway/openapisim/ram"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/cloudgateway/openapisim/sts"
)

func TestMain(m *testing.M) { apitest.Main(m, ram.Product(nil)) }

// oneRole has the role karpenter.
type oneRole struct{}

func (oneRole) Now() time.Time                                            { return time.Time{} }
func (oneRole) Session(string) (role, name string, ok bool)               { return "", "", false }
func (oneRole) Exists(role string) bool                                   { return role == "karpenter" }
func (oneRole) Issue(_, _ string, _ time.Duration) (none sts.Credentials) { return none }

// The members are those of the SDK's type; the identity is that of AssumeRole, whatever the case of the name.
func TestGetRole(t *testing.T) {
	t.Parallel()
	c := apitest.New(t, ram.Product(oneRole{}), state.New(apitest.Region, apitest.Account))
	role := c.Must("GetRole", "RoleName", "Karpenter")["Role"].(map[string]any)
	want := map[string]any{
		"RoleId": sts.RoleID(apitest.Account, "karpenter"), "RoleName": "Karpenter", "Description": "", "MaxSessionDuration": 43200.0,
		"Arn": "acs:ram::" + apitest.Account + ":role/karpenter", "IsServiceLinkedRole": false,
		"AssumeRolePolicyDocument": `{"Statement":[{"Action":"sts:AssumeRole","Effect":"Allow","Principal":{"RAM":["acs:ram::` +
			apitest.Account + `:root"]}}],"Version":"1"}`,
	}
	if diff := cmp.Diff(want, role); diff != "" {
		t.Errorf("the role (-want +got):\n%s", diff)
	}
	for params, want := range map[string]string{"other": "EntityNotExist.Role", "": "MissingParameter"} {
		if _, code := c.Call("GetRole", "RoleName", params); code != want {
			t.Errorf("%q: %q, want %q", params, code, want)
		}
	}
}
