package state

import "time"

// Cluster is a cluster of ACK. The simulated cloud runs none: it says of one what its seed says. Its nodes are the instances with the tag
// [ClusterTag].
type Cluster struct {
	ID                 string    `json:"id"`
	Name               string    `json:"name"`
	Type               string    `json:"type"`    // ManagedKubernetes, …
	Profile            string    `json:"profile"` // Default, Edge, …
	Spec               string    `json:"spec"`    // ack.pro.small, …
	Version            string    `json:"version"`
	State              string    `json:"state"`
	Network            string    `json:"network"` // the network plugin: terway-eniip, Flannel, …
	APIServer          string    `json:"apiServer,omitempty"`
	ServiceCidr        string    `json:"serviceCidr"`
	ContainerCidr      string    `json:"containerCidr,omitempty"`
	VpcID              string    `json:"vpcId,omitempty"`
	VSwitchIDs         []string  `json:"vswitchIds,omitempty"`
	SecurityGroupID    string    `json:"securityGroupId,omitempty"`
	WorkerRole         string    `json:"workerRole,omitempty"`
	ResourceGroupID    string    `json:"resourceGroupId"`
	DeletionProtection bool      `json:"deletionProtection,omitempty"`
	Tags               []Tag     `json:"tags,omitempty"`
	Created            time.Time `json:"created,omitzero"`
}

// NodePool is a pool of nodes of a cluster. Its nodes are the instances with the tag [NodePoolTag].
type NodePool struct {
	ID              string    `json:"id"`
	ClusterID       string    `json:"clusterId"`
	Name            string    `json:"name"`
	Type            string    `json:"type"` // ess, edge, …
	Default         bool      `json:"default,omitempty"`
	State           string    `json:"state"`
	Runtime         string    `json:"runtime"`
	RuntimeVersion  string    `json:"runtimeVersion"`
	InstanceTypes   []string  `json:"instanceTypes,omitempty"`
	VSwitchIDs      []string  `json:"vswitchIds,omitempty"`
	ImageID         string    `json:"imageId,omitempty"`
	ImageType       string    `json:"imageType"`
	DesiredSize     int       `json:"desiredSize"`
	Labels          []Tag     `json:"labels,omitempty"`
	Taints          []Taint   `json:"taints,omitempty"`
	ResourceGroupID string    `json:"resourceGroupId"`
	Created         time.Time `json:"created,omitzero"`
}

// Taint is what the nodes of a pool repel pods with.
type Taint struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Effect string `json:"effect"`
}

// The tags that ACK puts on the instances of a cluster and of a pool of it.
const (
	ClusterTag  = "ack.aliyun.com"
	NodePoolTag = "ack.alibabacloud.com/nodepool-id"
)
