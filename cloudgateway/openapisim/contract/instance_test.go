package contract

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

func instances(c *cloud) {
	ids, err := json.Marshal(append(slices.Clone(c.instances), "i-unknown"))
	if err != nil {
		c.t.Fatal(err)
	}
	const list = "Instances.Instance"
	got := c.must("ecs", "DescribeInstances", "InstanceIds", string(ids), "PageSize", "50")
	want := slices.Sorted(slices.Values(c.instances))
	if ids := got.texts(list, "InstanceId"); !slices.Equal(ids, want) {
		c.t.Errorf("instances %v, want %v: unknown ids are left out", ids, want)
	}
	c.want(got, "TotalCount", "2", list+".0.Status", "Running", list+".0.VpcAttributes.VpcId", c.vpcID, list+".0.RegionId", c.region)
	if got.get(list+".0.VpcAttributes.PrivateIpAddress.IpAddress.0") == "" {
		c.t.Error("an instance without an address")
	}
	status := c.must("ecs", "DescribeInstanceStatus", "InstanceId.1", c.instances[0])
	c.want(status, "InstanceStatuses.InstanceStatus.0.InstanceId", c.instances[0], "InstanceStatuses.InstanceStatus.0.Status", "Running")
	c.must("ecs", "DescribeInstanceHistoryEvents",
		"InstanceEventCycleStatus.1", "Scheduled", "ResourceId.1", c.instances[0], "MaxResults", "100")
}

// primary returns the primary network interface of an instance.
func (c *cloud) primary(instance string) answer {
	c.t.Helper()
	return c.must("ecs", "DescribeNetworkInterfaces", "InstanceId", instance, "Type", "Primary")
}

func interfaces(c *cloud) {
	const list = "NetworkInterfaceSets.NetworkInterfaceSet"
	got := c.primary(c.instances[0])
	c.want(got, list+".0.InstanceId", c.instances[0], list+".0.VpcId", c.vpcID, list+".0.Type", "Primary")
	id, address := got.get(list+".0.NetworkInterfaceId"), got.get(list+".0.PrivateIpAddress")
	c.want(c.must("ecs", "DescribeNetworkInterfaces", "NetworkInterfaceId.1", id), list+".0.PrivateIpAddress", address)
	c.want(c.must("ecs", "DescribeNetworkInterfaces", "VpcId", c.vpcID, "PrivateIpAddress.1", address), list+".0.NetworkInterfaceId", id)
}

func sourceCheck(c *cloud) {
	const list = "NetworkInterfaceSets.NetworkInterfaceSet"
	id := c.primary(c.instances[0]).get(list + ".0.NetworkInterfaceId")
	for _, value := range []string{"false", "true"} {
		c.must("ecs", "ModifyNetworkInterfaceAttribute", "NetworkInterfaceId", id, "SourceDestCheck", value)
		c.want(c.primary(c.instances[0]), list+".0.SourceDestCheck", value)
	}
}

func instanceTags(c *cloud) {
	of := []string{"ResourceType", "instance", "ResourceId.1", c.instances[0]}
	c.must("ecs", "TagResources", append(slices.Clone(of), "Tag.1.Key", "contract", "Tag.1.Value", "v")...)
	c.want(c.must("ecs", "ListTagResources", of...), "TagResources.TagResource.0.TagKey", "contract")
	c.must("ecs", "UntagResources", append(slices.Clone(of), "TagKey.1", "contract")...)
	if n := c.must("ecs", "ListTagResources", of...).len("TagResources.TagResource"); n != 0 {
		c.t.Errorf("%d tags left", n)
	}
}

// lifeOfInstance uses up the third instance of the simulated cloud.
func lifeOfInstance(c *cloud) {
	const id = "i-3"
	status := func() string {
		return c.must("ecs", "DescribeInstances", "InstanceIds", `["`+id+`"]`).get("Instances.Instance.0.Status")
	}
	c.refused("IncorrectInstanceStatus", "ecs", "StartInstance", "InstanceId", id)
	becomes := func(want string) {
		c.t.Helper()
		c.wait("the instance is "+want, func() bool { return status() == want })
	}
	c.must("ecs", "StopInstance", "InstanceId", id)
	becomes("Stopped")
	c.must("ecs", "StartInstance", "InstanceId", id)
	becomes("Running")
	c.refused("IncorrectInstanceStatus", "ecs", "DeleteInstance", "InstanceId", id)
	c.must("ecs", "ModifyInstanceAttribute", "InstanceId", id, "InstanceName", "contract", "DeletionProtection", "true")
	c.refused("InvalidOperation.DeletionProtection", "ecs", "DeleteInstance", "InstanceId", id, "Force", "true")
	c.must("ecs", "ModifyInstanceAttribute", "InstanceId", id, "DeletionProtection", "false")
	c.must("ecs", "DeleteInstance", "InstanceId", id, "Force", "true")
	becomes("")
}

func caller(c *cloud) {
	got := c.must("sts", "GetCallerIdentity")
	if got.get("AccountId") == "" || !strings.HasPrefix(got.get("Arn"), "acs:") {
		c.t.Errorf("caller %v", got.tree)
	}
}

func endpoints(c *cloud) {
	got := c.must("location", "DescribeEndpoints", "Id", c.region, "ServiceCode", "slb", "Type", "openAPI")
	c.want(got, "Endpoints.Endpoint.0.Id", c.region, "Endpoints.Endpoint.0.SerivceCode", "slb", "Endpoints.Endpoint.0.Type", "openAPI")
	if got.get("Endpoints.Endpoint.0.Endpoint") == "" {
		c.t.Errorf("no address in %v", got.tree)
	}
}

func role(c *cloud) {
	c.want(c.must("ram", "GetRole", "RoleName", "Contract"), "Role.RoleName", "Contract")
	account := c.must("sts", "GetCallerIdentity").get("AccountId")
	got := c.must("sts", "AssumeRole", "RoleArn", "acs:ram::"+account+":role/contract", "RoleSessionName", "contract")
	for _, path := range []string{"Credentials.AccessKeyId", "Credentials.AccessKeySecret", "Credentials.SecurityToken",
		"Credentials.Expiration"} {
		if got.get(path) == "" {
			c.t.Errorf("no %s", path)
		}
	}
}

// podRole exchanges a token without a signature.
func podRole(c *cloud) {
	account := c.must("sts", "GetCallerIdentity").get("AccountId")
	claims := fmt.Sprintf(`{"iss":"https://x","sub":"pod","aud":["sts.aliyuncs.com"],"exp":%d}`, time.Now().Add(time.Hour).Unix())
	form := url.Values{
		"Action": {"AssumeRoleWithOIDC"}, "Version": {versions()["sts"]}, "Format": {"JSON"},
		"RoleArn": {"acs:ram::" + account + ":role/contract"}, "OIDCProviderArn": {"acs:ram::" + account + ":oidc-provider/contract"},
		"RoleSessionName": {"contract"}, "OIDCToken": {"e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"},
	}
	got := c.post("sts", form)
	if got.get("Credentials.SecurityToken") == "" {
		c.t.Errorf("no credentials: %v", got.tree)
	}
}

// post sends a form as it is.
func (c *cloud) post(product string, form url.Values) answer {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), http.MethodPost,
		strings.ToLower(c.scheme)+"://"+c.endpoints[product]+"/", strings.NewReader(form.Encode()))
	if err != nil {
		c.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Close = true
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	var got answer
	if err := json.NewDecoder(response.Body).Decode(&got.tree); err != nil {
		c.t.Fatal(err)
	}
	return got
}
