package cs

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func describePools(c *api.Context, k *state.Cluster) (any, *api.Error) {
	var found []*state.NodePool
	for _, p := range pools(c.State, k.ID) {
		if listing.Match(c.Get("NodepoolName"), p.Name) {
			found = append(found, p)
		}
	}
	return api.Object{"nodepools", api.Objects(found, func(p *state.NodePool) api.Object { return poolView(c, k, p) })}, nil
}

func describePool(c *api.Context, k *state.Cluster, p *state.NodePool) (any, *api.Error) {
	return poolView(c, k, p), nil
}

func poolView(c *api.Context, k *state.Cluster, p *state.NodePool) api.Object {
	all, running := nodes(c.State, state.NodePoolTag, p.ID)
	return api.Object{
		"nodepool_info", api.Object{
			"nodepool_id", p.ID, "name", p.Name, "type", p.Type, "is_default", p.Default, "region_id", c.Region,
			"resource_group_id", p.ResourceGroupID, "created", moment(p.Created), "updated", moment(p.Created),
		},
		"status", api.Object{
			"state", p.State, "total_nodes", all, "serving_nodes", running, "healthy_nodes", running, "offline_nodes", all - running,
			"failed_nodes", 0, "initial_nodes", 0, "removing_nodes", 0,
		},
		"kubernetes_config", api.Object{
			"runtime", p.Runtime, "runtime_version", p.RuntimeVersion, "labels", pairs(p.Labels), "taints",
			api.Objects(p.Taints, func(t state.Taint) api.Object {
				return api.Object{"key", t.Key, "value", t.Value, "effect", t.Effect}
			}),
			"cpu_policy", "none", "cms_enabled", false, "unschedulable", false, "user_data", "", "node_name_mode", "",
		},
		"scaling_group", api.Object{
			"vswitch_ids", texts(p.VSwitchIDs), "instance_types", texts(p.InstanceTypes), "image_id", p.ImageID, "image_type", p.ImageType,
			"security_group_id", k.SecurityGroupID, "security_group_ids", texts(someOf(k.SecurityGroupID)), "desired_size", p.DesiredSize,
			"instance_charge_type", "PostPaid",
		},
		"auto_scaling", api.Object{"enable", false}, "management", api.Object{"enable", false},
	}
}

// someOf is a list of one, or of none.
func someOf(id string) []string {
	if id == "" {
		return nil
	}
	return []string{id}
}

// attachScript is the command by which an instance joins. Its form is that of the help page's example, its token one that no cluster takes.
// Without a pool it is that of the default one.
func attachScript(c *api.Context, k *state.Cluster) (any, *api.Error) {
	var pool *state.NodePool
	for _, p := range pools(c.State, k.ID) {
		if pool == nil || p.Default && !pool.Default {
			pool = p
		}
	}
	if id := c.Get("nodepool_id"); id != "" {
		var err *api.Error
		if pool, err = poolNamed(c, k, id); err != nil {
			return nil, err
		}
	}
	token := sha256.Sum256([]byte(c.RequestID))
	hexadecimal := hex.EncodeToString(token[:])
	words := []string{
		fmt.Sprintf("curl http://aliacs-k8s-%[1]s.oss-%[1]s.aliyuncs.com/public/pkg/run/attach/%[2]s/%[3]s/attach_node.sh | bash -s --",
			c.Region, k.Version, cmp.Or(c.Get("arch"), "amd64")),
		"--token", hexadecimal[:6] + "." + hexadecimal[6:22], "--endpoint", k.APIServer, "--cluster-dns", dns(k.ServiceCidr),
		"--region", c.Region, "--cluster-id", k.ID,
	}
	if pool != nil {
		words = append(words, "--nodepool-id", pool.ID, "--runtime", pool.Runtime, "--runtime-version", pool.RuntimeVersion)
	}
	if c.True("keep_instance_name") {
		words = append(words, "--keep-instance-name")
	}
	if c.True("format_disk") {
		words = append(words, "--auto-format-disk")
	}
	return strings.Join(words, " "), nil
}

// dns is the tenth address of the services, as ACK has it.
func dns(cidr string) string {
	prefix, err := netip.ParsePrefix(cidr)
	if err != nil {
		return ""
	}
	address := prefix.Masked().Addr()
	for range 10 {
		address = address.Next()
	}
	return address.String()
}
