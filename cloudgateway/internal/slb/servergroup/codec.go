package servergroup

import (
	"fmt"
	"strconv"
	"strings"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/slb"
)

// serverKey is the identity of a server in a group, whatever its weight and description.
type serverKey struct {
	kind slbv1.ServerType
	id   string
	ip   string // only where one server has several addresses to choose from
	port int32
}

// keyOf gives the identity of a server.
func keyOf(s *slbv1.Server) serverKey {
	key := serverKey{kind: s.GetType(), id: s.GetServerId(), port: s.GetPort()}
	if key.kind != slbv1.ServerType_SERVER_TYPE_ECS {
		key.ip = slb.Address(s.GetServerIp())
	}
	return key
}

// serverDoc is a server in the JSON parameter BackendServers. The cloud's documents write numbers as text.
type serverDoc struct {
	ServerID    string `json:"ServerId"`
	ServerIP    string `json:"ServerIp,omitempty"`
	Type        string `json:"Type"`
	Port        string `json:"Port,omitempty"` // only in default server groups there is none
	Weight      string `json:"Weight,omitempty"`
	Description string `json:"Description,omitempty"`
}

// serverDocs describe servers to be added or changed.
func serverDocs(servers []*slbv1.Server) []serverDoc {
	return documents(servers, func(s *slbv1.Server, doc *serverDoc) {
		doc.Weight = strconv.Itoa(int(weightOf(s)))
		doc.Description = s.GetDescription()
	})
}

// weightOf is the weight of a server that is to be added: the cloud's default if the request has none.
func weightOf(s *slbv1.Server) int32 {
	const usual = 100
	if s.Weight == nil {
		return usual
	}
	return s.GetWeight()
}

// serverKeyDocs describe servers to be removed, by nothing but their identity.
func serverKeyDocs(servers []*slbv1.Server) []serverDoc {
	return documents(servers, func(*slbv1.Server, *serverDoc) {})
}

func documents(servers []*slbv1.Server, more func(*slbv1.Server, *serverDoc)) []serverDoc {
	docs := make([]serverDoc, len(servers))
	for i, s := range servers {
		docs[i] = serverDoc{
			ServerID: s.GetServerId(),
			ServerIP: s.GetServerIp(),
			Type:     strings.ToLower(strings.TrimPrefix(s.GetType().String(), "SERVER_TYPE_")),
		}
		if s.GetPort() != 0 {
			docs[i].Port = strconv.Itoa(int(s.GetPort()))
		}
		more(s, &docs[i])
	}
	return docs
}

// decodeServer reads a server in the answers about vServer groups.
func decodeServer(item []byte) (*slbv1.Server, error) {
	s := &slbv1.Server{Type: slbv1.ServerType_SERVER_TYPE_ECS, Weight: new(int32)}
	return s, decodeInto(item, &s.ServerId, cloud.Fields{
		"ServerIp": cloud.Via(&s.ServerIp, slb.Address), "Type": cloud.Via(&s.Type, slb.ServerType),
		"Port": cloud.Required(&s.Port), "Weight": cloud.Required(s.Weight),
		"Description": &s.Description,
	})
}

// decodeDefaultServer reads a server of a default server group, which has no port.
func decodeDefaultServer(item []byte) (*slbv1.DefaultServer, error) {
	s := &slbv1.DefaultServer{Type: slbv1.ServerType_SERVER_TYPE_ECS, Weight: new(int32)}
	return s, decodeInto(item, &s.ServerId, cloud.Fields{
		"ServerIp": cloud.Via(&s.ServerIp, slb.Address), "Type": cloud.Via(&s.Type, slb.ServerType),
		"Weight": cloud.Required(s.Weight), "Description": &s.Description,
	})
}

func decodeInto(item []byte, id *string, fields cloud.Fields) error {
	fields["ServerId"] = id
	if err := cloud.Decode(item, fields); err != nil {
		return fmt.Errorf("decode server %s: %w", *id, err)
	}
	return nil
}

// groupIn decodes a group in a list of those of a load balancer.
func groupIn(loadBalancerID string) func(item []byte) (*slbv1.ServerGroup, error) {
	return func(item []byte) (*slbv1.ServerGroup, error) {
		g := &slbv1.ServerGroup{}
		err := cloud.Decode(item, cloud.Fields{
			"VServerGroupId":   &g.ServerGroupId,
			"VServerGroupName": &g.Name,
			"ServerCount":      &g.ServerCount, // Older answers lack it.
			"Tags":             cloud.TagsInto(&g.Tags),
			"AssociatedObjects": cloud.Fields{
				"Listeners": cloud.Fields{"Listener": cloud.Each(&g.Listeners, decodeUser)},
				"Rules":     cloud.Fields{"Rule": cloud.Texts(&g.ForwardingRuleIds, "RuleId")},
			},
		})
		for _, l := range g.GetListeners() {
			l.LoadBalancerId = loadBalancerID
		}
		return g, err
	}
}

// decodeUser reads a listener that sends traffic to a group.
func decodeUser(item []byte) (*slbv1.ListenerKey, error) {
	key := &slbv1.ListenerKey{}
	return key, cloud.Decode(item, cloud.Fields{"ListenerPort": &key.Port, "ListenerProtocol": cloud.Via(&key.Protocol, cloud.Named)})
}
