package ownership

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
)

// Tags of an instance that the controller created.
const (
	// TagService holds the default name of the instance, which is made from the Service's UID.
	TagService = "kubernetes.do.not.delete"
	// TagCluster holds the cluster id.
	TagCluster = "ack.aliyun.com"
)

// LabelLoadBalancerID holds the id of the load balancer, on the Service.
const LabelLoadBalancerID = "service.k8s.alibaba/loadbalancer-id"

// LabelSecurityGroupID holds the id of the security group that guards an NLB by the source ranges of the Service, on the Service.
const LabelSecurityGroupID = "service.k8s.alibaba/security-group-id"

// TagReused marks an instance that a user made and a Service names. Such an instance is never ours.
const TagReused = "kubernetes.reused.by.user"

// tagKept begins the key of the tag of a load balancer that keeps what a Service has made on it, as the Service asked for when it went. The
// value is the namespace and the name of the Service.
const tagKept = "kubernetes.kept.by.user."

// Kept is the tag of a load balancer that keeps what was made on it for the Service.
func (o Owner) Kept() (key, value string) { return tagKept + o.hash(), o.Namespace + "/" + o.Service }

// IsKept reports whether a load balancer with these tags keeps what bears a text, for a Service of a cluster that is gone.
func IsKept(tags map[string]string, clusterID, text string) bool {
	for key, value := range tags {
		namespace, service, _ := strings.Cut(value, "/")
		owner := Owner{Service: service, Namespace: namespace, ClusterID: clusterID}
		if key == tagKept+owner.hash() && owner.Owns(text) {
			return true
		}
	}
	return false
}

// Reserved reports whether a tag is the controller's own mark or the cloud's.
func Reserved(key string) bool {
	lower := strings.ToLower(key)
	isMark := key == TagService || key == TagCluster || key == TagReused || strings.HasPrefix(key, tagKept)
	return isMark || strings.HasPrefix(lower, "acs:") || strings.HasPrefix(lower, "aliyun")
}

// maxName is the cloud's limit for the name of a server group and the description of a server; listeners allow more.
const maxName = 80

// maxDotted is the limit for the name of an NLB's server group.
const maxDotted = 128

// DefaultName is the name and the tag value of an instance: "a" and the UID without dashes, cut to 32 characters.
func DefaultName(uid string) string {
	name := "a" + strings.ReplaceAll(uid, "-", "")
	return name[:min(len(name), 32)]
}

// Owner is a Service of a cluster.
type Owner struct{ Service, Namespace, ClusterID string }

// Listener is the description of the listener of a Service port.
func (o Owner) Listener(port int32) string {
	return "k8s/" + strconv.Itoa(int(port)) + "/" + o.tail()
}

// Group is the name of the server group of a Service port, and the description of each of its servers. The port is the
// node port, or the target port (number or name) if pods are the backends. A name that the cloud would refuse is
// shortened.
func (o Owner) Group(port string) string {
	if name := "k8s/" + port + "/" + o.tail(); len(name) <= maxName {
		return name
	}
	return "k8s/" + port + "/" + o.shortTail()
}

// Dotted is the name of a server group of an NLB, the description of each of its servers, and that of a listener. The
// port is that of Group, of a listener its own, or a range with _ in between.
func (o Owner) Dotted(port, protocol string) string {
	head := "k8s." + port + "." + strings.ToUpper(protocol) + "."
	if name := head + dotted(o.tail()); len(name) <= maxDotted {
		return name
	}
	return head + dotted(o.shortTail())
}

// dotted joins the parts by dots. The dot before the hash of a shortened name becomes a dash: it would be a part more.
func dotted(tail string) string {
	return strings.ReplaceAll(strings.ReplaceAll(tail, ".", "-"), "/", ".")
}

// Owns reports whether a name or description was made for this owner, for whatever port.
func (o Owner) Owns(text string) bool {
	if rest, ok := strings.CutPrefix(text, "k8s/"); ok {
		port, tail, ok := strings.Cut(rest, "/")
		return ok && port != "" && (tail == o.tail() || tail == o.shortTail())
	}
	parts := strings.SplitN(text, ".", 4)
	return len(parts) == 4 && parts[0] == "k8s" && parts[1] != "" && parts[2] != "" && (parts[3] == dotted(o.tail()) ||
		parts[3] == dotted(o.shortTail()))
}

// MadeFor returns the Service that a name or description was made for, whatever its cluster. That of a shortened name is shortened, too.
func MadeFor(text string) (Owner, bool) {
	parts := strings.Split(text, "/")
	if named := strings.Split(text, "."); len(named) == 6 && named[2] != "" { //nolint:mnd // With the protocol.
		parts = slices.Concat(named[:2], named[3:])
	}
	if len(parts) != 5 || parts[0] != "k8s" || slices.Contains(parts[1:], "") {
		return Owner{}, false
	}
	return Owner{Service: parts[2], Namespace: parts[3], ClusterID: parts[4]}, true
}

func (o Owner) tail() string { return o.Service + "/" + o.Namespace + "/" + o.ClusterID }

// hash distinguishes owners whose names are shortened.
func (o Owner) hash() string {
	sum := sha256.Sum256([]byte(o.tail()))
	return hex.EncodeToString(sum[:])[:10]
}

// shortTail replaces the end of the Service's name by a hash of the whole, and cuts the namespace, so that the longest port
// name (15 characters) still fits.
func (o Owner) shortTail() string {
	hash := o.hash()
	cluster := o.ClusterID[:min(len(o.ClusterID), 34)]
	room := maxName - len("k8s/") - 15 - len("/") - len(".") - len(hash) - len("//") - len(cluster)
	service := o.Service[:min(len(o.Service), room/2)]
	namespace := o.Namespace[:min(len(o.Namespace), room-room/2)]
	return service + "." + hash + "/" + namespace + "/" + cluster
}
