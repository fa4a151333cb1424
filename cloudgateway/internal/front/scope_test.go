package front

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"

	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/scope"
)

// TestChanges: what a write changes is known from its parameters, or it is refused to callers with a scope.
func TestChanges(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, action, params string
		want                 string // what is changed, or made; "refused"
	}{
		{"one", "ecs:DeleteInstance", "InstanceId=i-1&Force=true", "instance i-1"},
		{"a list", "ecs:DeleteInstances", "InstanceId.1=i-1&InstanceId.2=i-2", "instance i-1, instance i-2"},
		{"JSON", "ecs:DeleteInstances", `InstanceId=["i-1","i-2"]`, "instance i-1, instance i-2"},
		{"JSON that is none", "ecs:DeleteInstances", `InstanceId=["i-1",`, "refused"},
		{"JSON of more", "ecs:DeleteInstances", `InstanceId=[{"i":"i-1"}]`, "refused"},
		{"an empty list", "ecs:DeleteInstances", `InstanceId=[]`, "refused"},
		{"separated by commas", "ecs:DeleteInstance", "InstanceId=i-1,i-2", "refused"},
		{"by a space", "ecs:DeleteInstance", "InstanceId=i-1 i-2", "refused"},
		{"by a line", "ecs:DeleteInstance", "InstanceId=i-1\ni-2", "refused"},
		{"in capitals", "ecs:DeleteInstance", "INSTANCEID=i-1", "refused"},
		{"in another spelling", "ecs:DeleteInstance", "InstanceId=i-1&InstanceIds=i-2", "refused"},
		{"in a list of lists", "ecs:DeleteInstances", "InstanceId.1.1=i-1", "refused"},
		{"from 0", "ecs:DeleteInstances", "InstanceId.0=i-1", "refused"},
		{"with a zero", "ecs:DeleteInstance", "InstanceId=i-1\x00i-2", "refused"},
		{"with a zero before the number", "ecs:DeleteInstances", "InstanceId.1=i-1&InstanceId.02=i-2", "refused"},
		{"in a member", "ecs:DeleteInstances", "InstanceId.1=i-1&InstanceId.2.Id=i-2", "refused"},
		{"JSON with more behind it", "ecs:DeleteInstances", `InstanceId=["i-1"] ["i-2"]`, "refused"},
		{"an action in small letters", "ecs:deleteinstance", "InstanceId=i-1", "refused"},
		{"of Auto Scaling", "ess:ModifyScalingGroup", "ScalingGroupId=asg-1", "refused"},
		{"an ALB", "alb:DeleteLoadBalancer", "LoadBalancerId=alb-1", "refused"},
		{"a record", "alidns:DeleteDomainRecord", "RecordId=1", "refused"},
		{"a private record", "pvtz:AddZoneRecord", "ZoneId=z", "refused"},
		{"a file system", "nas:DeleteFileSystem", "FileSystemId=n", "refused"},
		{"a role of RAM", "ram:DeleteRole", "RoleName=r", "refused"},
		{"a key of KMS", "kms:Decrypt", "CiphertextBlob=x", "refused"},
		{"a way into a cluster", "cs:DescribeClusterAttachScripts", "ClusterId=c-1", "refused"},
		{"JSON in another parameter", "ecs:DeleteInstance", `InstanceId=i-1&Also=["i-2"]`, "refused"},
		{"nothing", "ecs:DeleteInstance", "", "refused"},
		{"a tag", "slb:TagResources", "ResourceType=instance&ResourceId.1=lb-1&Tag.1.Key=team&Tag.1.Value=web", "refused"},
		{"a tag in the former way", "slb:AddTags", `LoadBalancerId=lb-1&Tags=[{"TagKey":"team"}]`, "refused"},
		{"no tag", "ecs:UntagResources", "ResourceType=instance&ResourceId.1=i-1&TagKey.1=team", "refused"},
		{"a rule", "ecs:AuthorizeSecurityGroup", "SecurityGroupId=sg-1&Permissions.1.SourceCidrIp=0.0.0.0/0", "refused"},
		{"a prefix list", "ecs:ModifyPrefixList", "PrefixListId=pl-1&AddEntry.1.Cidr=0.0.0.0/0", "refused"},
		{"an address that moves", "vpc:AssociateHaVip", "HaVipId=havip-1&InstanceId=i-1", "refused"},
		{"servers of a group", "slb:AddVServerGroupBackendServers", "VServerGroupId=rsp-1&LoadBalancerId=lb-1", "refused"},
		{"an interface of an interface", "ecs:AttachNetworkInterface",
			"NetworkInterfaceId=eni-1&InstanceId=i-1&TrunkNetworkInstanceId=eni-2", "refused"},
		{"a disk of a snapshot", "ecs:RunInstances", "VSwitchId=vsw-1&DataDisk.1.SnapshotId=s-1", "refused"},
		{"an unknown action", "ecs:ReplaceSystemDisk", "InstanceId=i-1", "refused"},
		{"two", "ecs:AttachNetworkInterface", "NetworkInterfaceId=eni-1&InstanceId=i-1", "instance i-1, network interface eni-1"},
		{"one of two", "ecs:AttachNetworkInterface", "NetworkInterfaceId=eni-1", "refused"},
		{"a listener", "slb:CreateLoadBalancerTCPListener", "LoadBalancerId=lb-1&ListenerPort=80&VServerGroupId=rsp-1", "load balancer lb-1"},
		{"servers", "slb:AddBackendServers", `LoadBalancerId=lb-1&BackendServers=[{"ServerId":"i-1"}]`, "load balancer lb-1"},
		{"a new interface", "ecs:CreateNetworkInterface",
			"VSwitchId=vsw-1&SecurityGroupId=sg-1&Tag.1.Key=team&Tag.1.Value=web", "makes network interface in vsw-1 team=web"},
		{"without a vSwitch", "ecs:RunInstances", "ImageId=x&VpcId=vpc-1", "refused"},
		{"with another vSwitch", "ecs:RunInstances", "VSwitchId=vsw-1&NetworkInterface.1.VSwitchId=vsw-2", "refused"},
		{"with a template", "ecs:RunInstances", "VSwitchId=vsw-1&LaunchTemplateName=x", "refused"},
		{"tags of what is there", "ecs:DeleteInstance", "InstanceId=i-1&Tag.1.Key=team", "refused"},
		{"for two teams", "ecs:RunInstances",
			"VSwitchId=vsw-1&Tag.1.Key=team&Tag.1.Value=web&Tag.2.Key=team&Tag.2.Value=db", "refused"},
		{"for two teams in another case", "ecs:RunInstances", "VSwitchId=vsw-1&Tag.1.Key=team&Tag.1.Value=web&Tag.2.Key=Team&Tag.2.Value=db",
			"refused"},
		{"tags in the former spelling", "ecs:RunInstances",
			"VSwitchId=vsw-1&Tag.1.Key=team&Tag.1.Value=web&Tag.2.key=team&Tag.2.value=db", "refused"},
		{"tags beyond the list", "ecs:RunInstances",
			"VSwitchId=vsw-1&Tag.1.Key=team&Tag.1.Value=web&Tag.100.Key=team&Tag.100.Value=db", "refused"},
		{"tags by another name", "ecs:RunInstances", "VSwitchId=vsw-1&Tag.1.Key=team&Tag.1.Value=web&Tags.1.TagKey=team", "refused"},
		{"with a role", "ecs:RunInstances", "VSwitchId=vsw-1&RamRoleName=admin", "refused"},
		{"of the internet", "slb:CreateLoadBalancer", "AddressType=internet&Tag.1.Key=team&Tag.1.Value=web", "makes load balancer in  team=web"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			params := map[string]string{"RegionId": "cn-hangzhou", "ClientToken": "t"}
			for pair := range strings.SplitSeq(tt.params, "&") {
				if name, value, ok := strings.Cut(pair, "="); ok {
					params[name] = value
				}
			}
			p, err := changes()[tt.action].read(tt.action, &request{query: params, form: map[string]string{}})
			var all []string
			for _, r := range p.Of {
				all = append(all, r.String())
			}
			got := strings.Join(all, ", ")
			if p.Makes != "" {
				got = "makes " + string(p.Makes) + " in " + p.VSwitchID + p.VpcID
				for _, tag := range p.Tags {
					got += " " + tag.GetKey() + "=" + tag.GetValue()
				}
			}
			if refused, ok := errors.AsType[*refusal](err); ok && refused.code == "Forbidden.RAM" {
				got = "refused"
			}
			if got != tt.want {
				t.Errorf("got %q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

// TestChangesAreWrites: an action of the table that counted as a read would not be looked at.
func TestChangesAreWrites(t *testing.T) {
	t.Parallel()
	for name, c := range changes() {
		product, action, _ := strings.Cut(name, ":")
		if !(&Front{named: alone()}).minds(name) {
			t.Errorf("%s is not looked at", name)
		}
		if !plainWord.MatchString(action) || !slices.Contains([]string{"ecs", "slb", "vpc", "nlb", "cas"}, product) {
			t.Errorf("%s is no action", name)
		}
		if (len(c.of) == 0) == (c.makes == "") {
			t.Errorf("%s has to change or to make something", name)
		}
	}
}

// TestSensitiveReads: every action that gives keys or control is named alone, and a caller with a scope gets it of
// what is inside, or not at all.
func TestSensitiveReads(t *testing.T) {
	t.Parallel()
	f := &Front{named: alone()}
	known := 0
	for name := range alone() {
		product, action, _ := strings.Cut(name, ":")
		if got := f.names(openapi.Product(product), action); len(got) != 1 || got[0] != name || !f.minds(name) {
			t.Errorf("%s is allowed by %q, minded: %t", name, got, f.minds(name))
		}
	}
	for name, c := range changes() {
		if !f.isAlone(name) {
			continue
		}
		known++
		id := "InstanceId"
		if strings.HasPrefix(name, "cas:") {
			id = "CertId"
		}
		for params, want := range map[string]bool{id: true, "": false, "InvokeId": false, "InstanceIds": false} {
			_, err := c.read(name, &request{query: map[string]string{"RegionId": "r", params: "i-1"}, form: map[string]string{}})
			if (err == nil) != want {
				t.Errorf("%s by %q: %v", name, params, err)
			}
		}
	}
	if known != len(reads()) {
		t.Errorf("%d of %d have a scope", known, len(reads()))
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"DescribeInstances":      "ecs:DescribeInstances ecs:Describe* ecs:*",
		"RunInstances":           "ecs:RunInstances ecs:Run* ecs:*",
		"Describe":               "ecs:Describe ecs:Describe* ecs:*",
		"AuthorizeSecurityGroup": "ecs:AuthorizeSecurityGroup ecs:Authorize* ecs:*",
		"DescribeInstanceVncUrl": "ecs:DescribeInstanceVncUrl",
		"DescribeInstanceVNCURL": "ecs:DescribeInstanceVNCURL",
		"DescribeUserData":       "ecs:DescribeUserData",
		"RunCommand":             "ecs:RunCommand",
	}
	f := &Front{named: alone()}
	for action, want := range tests {
		if got := strings.Join(f.names(openapi.ECS, action), " "); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// FuzzChanges: whatever the parameters are, no id among them that could be meant is left out.
func FuzzChanges(f *testing.F) {
	f.Add("InstanceId=i-1&Force=true")
	f.Add("InstanceId.1=i-1&InstanceId.2=other")
	f.Fuzz(func(t *testing.T, text string) {
		values, err := url.ParseQuery(text)
		if err != nil {
			return
		}
		params := map[string]string{}
		for name := range values {
			params[name] = values.Get(name)
		}
		p, err := changes()["ecs:DeleteInstances"].read("ecs:DeleteInstances", &request{query: params, form: map[string]string{}})
		if err != nil {
			return
		}
		for name, value := range params {
			if strings.Contains(strings.ToLower(name), "instanceid") &&
				!slices.Contains(p.Of, scope.Resource{Kind: scope.Instance, ID: value}) && !strings.HasPrefix(value, "[") {
				t.Fatalf("%s=%q is overlooked", name, value)
			}
		}
	})
}
