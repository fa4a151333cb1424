package doctor

import (
	"strings"
	"testing"

	"alicloud-controllers.dev/cloudgateway/openapisim/fault"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// TestSecurityGroups: groups of the cluster's instances that keep health checks out are named with the missing rule; those of
// others are not looked at, and nothing is said where nobody knows.
func TestSecurityGroups(t *testing.T) {
	accept := func(cidr string) *state.SecurityGroup {
		return &state.SecurityGroup{VpcID: "vpc-1", Type: "normal", Rules: []state.SecurityRule{{
			ID: "sgr-1", Direction: "ingress", Policy: "Accept", Priority: "1", IPProtocol: "ALL", PortRange: "-1/-1",
			NicType: "intranet", SourceCidr: cidr,
		}}}
	}
	for name, tt := range map[string]struct {
		rules map[string]*state.SecurityGroup // groups, of which sg-1 is that of the cluster's instances
		also  bool                            // the instances are in sg-2, too
		none  bool                            // no instance is known to be the cluster's
		fault *fault.Rule
		want  Result
		texts []string
	}{
		"open":            {rules: map[string]*state.SecurityGroup{"sg-1": accept("0.0.0.0/0")}, want: OK, texts: []string{"sg-1 admit"}},
		"open by another": {rules: map[string]*state.SecurityGroup{"sg-1": {VpcID: "vpc-1"}, "sg-2": accept("0.0.0.0/0")}, also: true, want: OK},
		"closed to CLBs": {
			rules: map[string]*state.SecurityGroup{"sg-1": accept("192.168.0.0/16"), "sg-2": accept("0.0.0.0/0")}, want: Warning,
			texts: []string{"sg-1 of 3 instances, such as i-1, drop TCP to port 30000 from 100.64.0.0: CLBs check servers from there",
				"--SecurityGroupId sg-1 --IpProtocol TCP --PortRange 30000/32767 --SourceCidrIp 100.64.0.0/10 --Policy accept"},
		},
		"closed to NLBs": {
			rules: map[string]*state.SecurityGroup{"sg-1": accept("100.64.0.0/10")}, want: Hint,
			texts: []string{"from 192.168.0.0: NLBs check servers from their vSwitches", "--SourceCidrIp 192.168.0.0/16"},
		},
		"no instance": {
			rules: map[string]*state.SecurityGroup{"sg-1": accept("192.168.0.0/16")}, none: true, want: Skipped,
			texts: []string{"no instance with the tag ack.aliyun.com=c-1 has a security group"},
		},
		"not permitted": {
			rules: map[string]*state.SecurityGroup{"sg-1": accept("0.0.0.0/0")}, want: Skipped, texts: []string{"is not known"},
			fault: &fault.Rule{Product: "ecs", Action: "DescribeSecurityGroupAttribute", Error: &fault.Error{Status: 403, Code: "Forbidden.RAM"}},
		},
		"not answered": {
			rules: map[string]*state.SecurityGroup{"sg-1": accept("0.0.0.0/0")}, want: Warning, texts: []string{"is not known"},
			fault: &fault.Rule{Product: "ecs", Action: "DescribeSecurityGroups", Error: &fault.Error{Status: 503, Code: "ServiceUnavailable"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPatient(t)
			p.ClusterID = "c-1"
			p.sim.Update(func(c *state.Cloud) {
				for id, group := range tt.rules {
					group.ID = id
					c.SecurityGroups[id] = group
				}
				groups := []string{"sg-1"}
				if tt.also {
					groups = append(groups, "sg-2")
				}
				for _, id := range []string{"i-1", "i-2", "i-3", "i-stranger"} {
					of, tag := groups, "c-1"
					if id == "i-stranger" || tt.none {
						of, tag = []string{"sg-stranger"}, "c-2"
					}
					c.Instances[id] = &state.Instance{
						ID: id, VpcID: "vpc-1", Status: "Running", SecurityGroupIDs: of, Tags: []state.Tag{{Key: "ack.aliyun.com", Value: tag}},
					}
				}
				c.SecurityGroups["sg-stranger"] = &state.SecurityGroup{ID: "sg-stranger", VpcID: "vpc-1"}
			})
			if tt.fault != nil {
				p.inject(*tt.fault)
			}
			report := p.examine()
			found := 0
			for _, f := range report.Findings {
				if f.Check == "security groups" {
					found++
					if f.Result != tt.want {
						t.Errorf("%s: %s", f.Result, f.Detail)
					}
				}
			}
			text := written(t, report)
			for _, want := range tt.texts {
				if !strings.Contains(text, want) {
					t.Errorf("the report lacks %q:\n%s", want, text)
				}
			}
			if found != 1 || strings.Contains(text, "sg-stranger") || report.Failed() > 0 && tt.fault == nil {
				t.Errorf("%d findings about groups, %d checks failed:\n%s", found, report.Failed(), text)
			}
		})
	}
	for _, f := range newPatient(t).examine().Findings {
		if f.Check == "security groups" {
			t.Errorf("no instance is known, and the report says %s: %s", f.Result, f.Detail)
		}
	}
}
