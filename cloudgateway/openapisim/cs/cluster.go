package cs

import (
	"encoding/json"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func describeClusters(c *api.Context) (any, *api.Error) {
	found := listing.Find(c.State.Clusters, func(k *state.Cluster) bool {
		return listing.Match(c.Get("name"), k.Name) && listing.Match(c.Get("cluster_id"), k.ID) &&
			listing.Match(c.Get("cluster_type"), k.Type) && listing.Match(c.Get("cluster_spec"), k.Spec) &&
			listing.Match(c.Get("profile"), k.Profile) && listing.Match(c.Get("region_id"), c.Region)
	})
	page, numbers := listing.Cut(found, c.Int("page_number", 1), c.Int("page_size", 10))
	return api.Object{
		"clusters", api.Objects(page, func(k *state.Cluster) api.Object { return clusterView(c, k) }),
		"page_info", api.Object{
			"page_number", numbers.PageNumber, "page_size", numbers.PageSize, "total_count", numbers.TotalCount,
		},
	}, nil
}

func describeCluster(c *api.Context, k *state.Cluster) (any, *api.Error) {
	return clusterView(c, k), nil
}

func clusterView(c *api.Context, k *state.Cluster) api.Object {
	size, _ := nodes(c.State, state.ClusterTag, k.ID)
	zone := ""
	if v := c.State.VSwitches[first(k.VSwitchIDs)]; v != nil {
		zone = v.ZoneID
	}
	return api.Object{
		"cluster_id", k.ID, "name", k.Name, "cluster_type", k.Type, "profile", k.Profile, "cluster_spec", k.Spec, "state", k.State,
		"region_id", c.Region, "zone_id", zone, "vpc_id", k.VpcID, "vswitch_id", first(k.VSwitchIDs), "vswitch_ids", texts(k.VSwitchIDs),
		"security_group_id", k.SecurityGroupID, "resource_group_id", k.ResourceGroupID, "worker_ram_role_name", k.WorkerRole,
		"network_mode", "vpc", "service_cidr", k.ServiceCidr, "container_cidr", k.ContainerCidr, "subnet_cidr", k.ContainerCidr,
		"cluster_domain", "cluster.local", "proxy_mode", "ipvs", "ip_stack", "ipv4", "timezone", "Asia/Shanghai",
		"init_version", k.Version, "current_version", k.Version, "next_version", "", "docker_version", "",
		"deletion_protection", k.DeletionProtection, "size", size, "tags", pairs(k.Tags),
		"master_url", text(api.Object{"intranet_api_server_endpoint", endpoint(k)}), "external_loadbalancer_id", "", "private_zone", false,
		"meta_data", text(api.Object{"Capabilities", api.Object{"Network", k.Network}}),
		"created", moment(k.Created), "updated", moment(k.Created),
	}
}

// describeAddon shows the component that is the network plugin. Of no other is anything known here.
func describeAddon(c *api.Context, k *state.Cluster) (any, *api.Error) {
	name := k.Network
	if name == "Flannel" { // as the plugin is called; the component has another name
		name = "kube-flannel-ds"
	}
	if c.Get("InstanceName") != name {
		return nil, api.NotFound(noAddon, "addon (%s) not found in cluster (%s)", c.Get("InstanceName"), k.ID)
	}
	return api.Object{"name", name, "version", "v1.0.0", "state", "active", "config", "{}", "logging", api.Object{"capable", false}}, nil
}

// endpoint is the address of the API server as a URL, "" if the seed names none.
func endpoint(k *state.Cluster) string {
	if k.APIServer == "" {
		return ""
	}
	return "https://" + k.APIServer
}

// text is JSON in a member that is a text.
func text(o api.Object) string {
	encoded, _ := json.Marshal(o) // texts only
	return string(encoded)
}

func pairs(tags []state.Tag) []api.Object {
	return api.Objects(tags, func(t state.Tag) api.Object { return api.Object{"key", t.Key, "value", t.Value} })
}

// texts is a list that is written as an empty one if there is none.
func texts(list []string) []string { return append([]string{}, list...) }

// moment is a time in the zone of ACK's answers.
func moment(t time.Time) string { return t.In(time.FixedZone("", 8*60*60)).Format(time.RFC3339) }
