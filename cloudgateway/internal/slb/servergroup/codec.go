package servergroup

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"

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
		key.ip = s.GetServerIp()
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
		doc.Weight = strconv.Itoa(int(s.GetWeight()))
		doc.Description = s.GetDescription()
	})
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

// serverAnswer is a server in the answers about groups.
type serverAnswer struct {
	ServerID    string `json:"ServerId"`
	ServerIP    string `json:"ServerIp"`
	Type        string
	Port        json.RawMessage
	Weight      json.RawMessage
	Description string
}

func (a serverAnswer) decode() (*slbv1.Server, error) {
	port, err := strconv.ParseInt(slb.LooseText(a.Port), 10, 32)
	if err != nil {
		return nil, fmt.Errorf("decode server %s: port %q is not a number", a.ServerID, slb.LooseText(a.Port))
	}
	weight, err := strconv.ParseInt(slb.LooseText(a.Weight), 10, 32)
	if err != nil {
		return nil, fmt.Errorf("decode server %s: weight %q is not a number", a.ServerID, slb.LooseText(a.Weight))
	}
	return &slbv1.Server{
		Type:        slb.ServerType(a.Type),
		ServerId:    a.ServerID,
		ServerIp:    a.ServerIP,
		Port:        int32(port),
		Weight:      int32(weight),
		Description: a.Description,
	}, nil
}

// users are what sends traffic to a group, if that was asked for.
type users struct {
	Listeners struct {
		Listener []struct {
			ListenerPort     json.RawMessage
			ListenerProtocol string
		}
	}
	Rules struct {
		Rule []struct {
			RuleID string `json:"RuleId"`
		}
	}
}

func (u users) listeners(loadBalancerID string) []*slbv1.ListenerKey {
	var keys []*slbv1.ListenerKey
	for _, l := range u.Listeners.Listener {
		port, _ := strconv.ParseInt(slb.LooseText(l.ListenerPort), 10, 32) // Another text is no port, and shows as 0.
		keys = append(keys, &slbv1.ListenerKey{
			LoadBalancerId: loadBalancerID, Port: int32(port), Protocol: slbv1.Protocol(slbv1.Protocol_value["PROTOCOL_"+strings.ToUpper(l.ListenerProtocol)]),
		})
	}
	return keys
}

func (u users) rules() []string {
	var ids []string
	for _, r := range u.Rules.Rule {
		ids = append(ids, r.RuleID)
	}
	return ids
}
